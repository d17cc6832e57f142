from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shortlist.costs import Bits, Linear
from shortlist.plans import conventional, nested, shortlisted, stage_cost
from shortlist.probabilities import ranking
from shortlist.types import ShortlistError
from tests.backends import Backend, each_backend, host

PROBS = np.array([[0.4, 0.3, 0.1, 0.2], [0.1, 0.1, 0.1, 0.7]])


@each_backend
def test_a_conventional_plan_has_no_cut(backend: Backend) -> None:
    plan = conventional(backend(PROBS))
    assert len(plan) == 2
    assert plan.n_classes == 4
    assert host(plan.cuts).tolist() == [[4], [4]]
    assert host(plan.sizes).tolist() == [4, 4]
    assert plan.classes.shape == (0,)
    assert host(plan.offsets).tolist() == [0, 0, 0]
    assert host(plan.charge(backend(np.array([0, 3])))).tolist() == [2, 2]
    assert host(plan.expected()).tolist() == [2, 2]
    assert host(plan.holds(backend(np.array([2, 0])))).all()


@each_backend
def test_a_shortlist_has_one_cut(backend: Backend) -> None:
    probs = backend(PROBS)
    plan = shortlisted(probs, probs >= 0.2, 0.1)
    assert host(plan.cuts).tolist() == [[3], [1]]
    assert host(plan.classes).tolist() == [0, 1, 3, 3]
    assert host(plan.offsets).tolist() == [0, 3, 4]
    assert host(plan.order).tolist() == [[0, 1, 3, 2], [3, 0, 1, 2]]
    assert host(plan.reach).tolist() == [[0.1], [0.1]]
    truth = backend(np.array([2, 1]))
    assert host(plan.rank(truth)).tolist() == [4, 4]  # beyond the cut
    assert host(plan.rank(backend(np.array([3, 3])))).tolist() == [2, 0]
    assert host(plan.holds(truth)).tolist() == [False, False]
    np.testing.assert_allclose(host(plan.charge(truth)), [2, 1 + math.log2(3)])
    np.testing.assert_allclose(host(plan.expected()), [2, 1 + 0.1 * math.log2(3)])


@each_backend
def test_nested_shortlists_by_hand(backend: Backend) -> None:
    """Cuts at 1 and 3 of 4: two options, then three, then the last one is known."""
    plan = nested(backend(PROBS), [[1, 3]], reach=backend(np.array([[0.5, 0.25]])))
    assert host(plan.classes).tolist() == [0, 1, 3, 3, 0, 1]
    charge = [host(plan.charge(backend(np.array([y, y])))).tolist() for y in range(4)]
    one, two = 1.0, 1 + math.log2(3)
    np.testing.assert_allclose(np.transpose(charge), [[one, two, two, two], [two, two, two, one]])
    np.testing.assert_allclose(host(plan.expected()), [1 + 0.5 * math.log2(3)] * 2)


@each_backend
def test_a_plan_that_stops_after_its_cut(backend: Backend) -> None:
    plan = nested(backend(PROBS), [[1]], reach=0.3, exhaustive=False)
    assert host(plan.charge(backend(np.array([2, 2])))).tolist() == [1, 1]
    assert host(plan.expected()).tolist() == [1, 1]


@each_backend
def test_the_number_of_classes_stands_for_no_cut(backend: Backend) -> None:
    plan = nested(backend(PROBS), [[4, 4], [2, 4]], reach=0.5)
    assert host(plan.sizes).tolist() == [4, 2]
    assert host(plan.offsets).tolist() == [0, 0, 2]
    np.testing.assert_allclose(host(plan.charge(backend(np.array([2, 2])))), [2, math.log2(3) + 1])


@pytest.mark.parametrize(
    "cuts",
    [[[0]], [[5]], [[2, 1]], [[2, 2]], [[4, 2]], [1], [[1], [1], [1]], [[1], [0]]],
)
def test_cuts_that_make_no_stages_are_refused(cuts: Any) -> None:
    with pytest.raises(ShortlistError, match=r"^cuts: "):
        nested(PROBS, cuts, reach=0.1)


@each_backend
def test_truths_may_come_as_plain_arrays(backend: Backend) -> None:
    plan = conventional(backend(PROBS))
    assert backend.owns(plan.charge(np.array([0, 3])))
    assert backend.owns(shortlisted(backend(PROBS), backend(PROBS > 0.2), 0.1).charge(np.array([0, 3])))


def test_what_a_stage_costs() -> None:
    def one(shown: int, left: int, none_option: bool = True) -> float:
        return float(stage_cost(np.array([shown]), np.array([left]), Bits(), none_option=none_option)[0])

    assert one(3, 8) == 2  # three and "None"
    assert one(8, 8) == 3  # all there are: no "None"
    assert one(7, 8) == 3
    assert one(1, 1) == one(0, 0) == one(0, 1) == 0  # one class left, or none, is not asked
    assert one(4, 8, none_option=False) == 2
    assert stage_cost(np.array([1]), np.array([1]), Linear(1, 5)).tolist() == [0]


def test_a_plan_is_itself_only() -> None:
    """Arrays have no single truth value, so plans compare by identity rather than raise."""
    plan = conventional(PROBS)
    assert plan == plan
    assert plan != conventional(PROBS)


def test_nothing_is_sorted_where_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand classes asked conventionally: sorting them all would take seconds and gigabytes."""
    seen: list[int] = []

    def noted(probs: Any) -> Any:
        seen.append(len(probs))
        return ranking(probs)

    monkeypatch.setattr("shortlist.plans.ranking", noted)
    probs = np.random.default_rng(0).dirichlet(np.ones(6), size=5)
    assert conventional(probs).classes.tolist() == []
    assert nested(probs, [[6], [2], [6], [1], [6]], reach=0.0).classes.shape == (3,)
    conventional(probs).charge(np.zeros(5, np.int64))
    nested(probs, [[2]], reach=0.0).charge(np.zeros(5, np.int64))
    assert seen == [0, 2]
