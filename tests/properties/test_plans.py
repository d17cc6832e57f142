"""Laws of orders, cuts and charges."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shortlist.plans import nested, shortlisted
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.top_k import TopK
from shortlist.types import CostModel
from tests import reference
from tests.properties.strategies import COSTS, Case, cases, rows
from tests.properties.test_conformal import scalar


@given(cases(), COSTS, st.data())
def test_a_hit_in_a_larger_set_never_costs_less(case: Case, cost: CostModel, data: st.DataObject) -> None:
    probs, truth = case
    n_classes = probs.shape[1]
    small, large = sorted(data.draw(st.tuples(*[st.integers(1, n_classes)] * 2)))
    one, two = TopK(small).plan(probs), TopK(large).plan(probs)
    hit = one.holds(truth)
    assert (two.holds(truth) >= hit).all()
    assert (one.charge(truth, cost)[hit] <= two.charge(truth, cost)[hit] + 1e-12).all()


@given(rows(), st.floats(0, 1))
def test_every_order_is_a_permutation_most_probable_first(probs: Any, threshold: float) -> None:
    order = CalibratedSet(CandidateSet(), 0.1, threshold).plan(probs).order
    assert order.tolist() == [reference.order(row) for row in probs.tolist()]


@given(cases(), COSTS, st.data())
def test_any_number_of_cuts_is_charged_stage_by_stage(case: Case, cost: CostModel, data: st.DataObject) -> None:
    probs, truth = case
    n, n_classes = probs.shape
    rising = st.lists(st.integers(1, n_classes), min_size=3, max_size=3).map(lambda cuts: rise(cuts, n_classes))
    cuts = data.draw(st.lists(rising, min_size=n, max_size=n))
    charge = nested(probs, cuts, reach=0.1).charge(truth, cost)
    slow = [
        reference.nested(row, y, [c for c in own if c < n_classes], scalar(cost))
        for row, y, own in zip(probs.tolist(), truth.tolist(), cuts, strict=True)
    ]
    np.testing.assert_allclose(charge, slow, rtol=1e-12, atol=1e-12)


def rise(cuts: list[int], n_classes: int) -> list[int]:
    """The distinct cuts in order, and L for as many stages as there are none for."""
    distinct = sorted(set(cuts))
    return distinct + [n_classes] * (len(cuts) - len(distinct))


@given(rows(min_classes=2), st.data())
def test_a_list_that_is_not_the_most_probable_is_shown_as_it_is(probs: Any, data: st.DataObject) -> None:
    """Scores of one's own may leave a probable class out: the order puts the list first all the same."""
    n, n_classes = probs.shape
    flat = data.draw(st.lists(st.booleans(), min_size=n * n_classes, max_size=n * n_classes))
    member = np.array(flat).reshape(n, n_classes)
    plan = shortlisted(probs, member, 0.1)
    for i, row in enumerate(probs.tolist()):
        inside = [y for y in reference.order(row) if member[i, y]]
        outside = [y for y in reference.order(row) if not member[i, y]]
        assert plan.order[i].tolist() == [*inside, *outside]
        stored = plan.classes[plan.offsets[i] : plan.offsets[i + 1]].tolist()
        assert stored == (inside if 0 < len(inside) < n_classes else [])
        for truth in range(n_classes):
            charge = plan.charge(np.full(n, truth))[i]
            assert abs(charge - reference.shortlist(inside, truth, n_classes, reference.bits)) < 1e-12


@given(cases(), COSTS)
def test_the_mean_charge_over_truths_is_the_expected_charge(case: Case, cost: CostModel) -> None:
    """With the probability of a miss as reach, a plan's expectation is the mean over the model's own truths."""
    probs = case[0] / case[0].sum(axis=1, dtype=np.float64, keepdims=True)
    plan = TopK(2).plan(probs)
    mean = np.zeros(len(probs))
    for y in range(probs.shape[1]):
        mean += probs[:, y] * plan.charge(np.full(len(probs), y), cost)
    np.testing.assert_allclose(plan.expected(cost), mean, rtol=1e-9, atol=1e-9)
