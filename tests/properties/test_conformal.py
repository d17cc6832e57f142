"""Laws of thresholds, sets and the cheapest alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from shortlist.conformal import (
    APS,
    GRID,
    LAC,
    RAPS,
    Score,
    best_on_grid,
    best_threshold,
    cost_curve,
    members,
    miss_share,
    of_truth,
    threshold_at,
)
from shortlist.costs import Bits, Linear
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.types import CostModel
from tests import reference
from tests.properties.strategies import COSTS, Case, cases, rows

ALPHAS = st.one_of(st.floats(0, 0.999), st.sampled_from(GRID))
SCORES: st.SearchStrategy[Score] = st.sampled_from([LAC(), APS(), RAPS(0.1, 1)])


def scalar(cost: CostModel) -> reference.Cost:
    return lambda options: float(cost(np.asarray(float(options))))


@given(cases(), ALPHAS, ALPHAS, SCORES, st.sampled_from(["plain", "corrected", "authors"]))
def test_sets_grow_as_alpha_falls(case: Case, one: float, two: float, score: Score, quantile: Any) -> None:
    probs, labels = case
    conformity = score(probs)
    truths = of_truth(conformity, labels)
    low, high = sorted((one, two))
    small = members(conformity, threshold_at(truths, high, quantile))
    large = members(conformity, threshold_at(truths, low, quantile))
    assert not (small & ~large).any()


@given(cases(), ALPHAS, SCORES)
def test_the_plain_quantile_covers_its_own_calibration_set(case: Case, alpha: float, score: Score) -> None:
    probs, labels = case
    conformity = score(probs)
    inside = of_truth(members(conformity, threshold_at(of_truth(conformity, labels), alpha)), labels)
    assert inside.mean() >= 1 - alpha - 1e-9


@given(cases(), ALPHAS, SCORES)
def test_the_corrected_quantile_is_never_above_the_plain_one(case: Case, alpha: float, score: Score) -> None:
    truths = of_truth(score(case[0]), case[1])
    assert threshold_at(truths, alpha, "corrected") <= threshold_at(truths, alpha, "plain")


@given(cases(), st.floats(0.001, 0.999))
def test_a_threshold_is_a_truth_or_the_conventional_query(case: Case, alpha: float) -> None:
    truths = case[0][np.arange(len(case[1])), case[1]]
    for quantile in ("plain", "corrected", "authors"):
        assert threshold_at(truths, alpha, quantile) in {0.0, *truths.tolist()}


@given(cases(), COSTS)
def test_the_cost_curve_is_the_summed_charge_at_every_threshold(case: Case, cost: CostModel) -> None:
    probs, labels = case
    thresholds = np.unique(np.concatenate([[0], probs.ravel(), np.linspace(0, 1, 7)]).astype(probs.dtype))
    curve = cost_curve(probs, labels, thresholds, cost)
    slow = [reference.total(probs.tolist(), labels.tolist(), t, scalar(cost)) for t in thresholds.tolist()]
    np.testing.assert_allclose(curve, slow, rtol=1e-10, atol=1e-10)
    planned = [
        CalibratedSet(CandidateSet(cost=cost), 0.5, t).plan(probs).charge(labels, cost).sum()
        for t in thresholds.tolist()
    ]
    np.testing.assert_allclose(curve, planned, rtol=1e-10, atol=1e-10)


@given(cases(), COSTS, SCORES)
def test_the_cost_curve_of_other_scores(case: Case, cost: CostModel, score: Score) -> None:
    probs, labels = case
    conformity = score(probs)
    thresholds = np.unique(np.concatenate([[0], conformity.ravel()]).astype(probs.dtype))
    query = CandidateSet(cost=cost, score=score)
    planned = [CalibratedSet(query, 0.5, t).plan(probs).charge(labels, cost).sum() for t in thresholds.tolist()]
    np.testing.assert_allclose(cost_curve(conformity, labels, thresholds, cost), planned, rtol=1e-10, atol=1e-10)


@given(cases(), COSTS)
def test_exact_is_at_most_grid_is_at_most_conventional(case: Case, cost: CostModel) -> None:
    probs, labels = case

    def charged(query: CandidateSet) -> float:
        return float(query.calibrate(probs, labels).plan(probs).charge(labels, cost).sum())

    exact, grid = charged(CandidateSet(cost=cost)), charged(CandidateSet(cost=cost, search="grid"))
    conventional = len(labels) * reference.conventional(probs.shape[1], scalar(cost))
    assert exact <= grid * (1 + 1e-9)
    assert grid <= conventional * (1 + 1e-9)


@given(cases(), st.integers(1, 3))
@example((np.array([[0.5, 0.5, 0.0, 0.0]]), np.array([1])), 1)
@example((np.full((3, 4), 0.25), np.array([0, 1, 2])), 1)
def test_equal_costs_go_to_the_larger_set(case: Case, slope: int) -> None:
    """Whole-number costs add up without rounding, so equal is equal."""
    probs, labels = case
    cost = Linear(float(slope))
    candidates = sorted({0.0, *probs[np.arange(len(labels)), labels].tolist()})
    charged = [reference.total(probs.tolist(), labels.tolist(), t, scalar(cost)) for t in candidates]
    cheapest = [t for t, c in zip(candidates, charged, strict=True) if c == min(charged)]
    assert best_threshold(probs, labels, cost) == cheapest[0]
    query = CandidateSet(cost=cost).calibrate(probs, labels)
    assert query.threshold == cheapest[0]
    assert query.alpha == np.mean(probs[np.arange(len(labels)), labels] < cheapest[0])


@given(cases(), COSTS)
def test_the_grid_search_is_the_best_of_the_fixed_alphas(case: Case, cost: CostModel) -> None:
    probs, labels = case
    truths = of_truth(probs, labels)
    for quantile in ("plain", "corrected", "authors"):
        charged = {
            t: reference.total(probs.tolist(), labels.tolist(), t, scalar(cost))
            for t in (threshold_at(truths, alpha, quantile) for alpha in GRID)
        }
        best = best_on_grid(probs, labels, cost, quantile)
        assert charged[best] <= min(charged.values()) * (1 + 1e-9) + 1e-12


@given(rows(), st.floats(0, 1))
def test_sizes_count_the_members_and_empty_sets_count_all(probs: Any, threshold: float) -> None:
    threshold = float(probs.dtype.type(threshold))
    sizes = CalibratedSet(CandidateSet(), 0.1, threshold).plan(probs).sizes
    for row, size in zip(probs.tolist(), sizes.tolist(), strict=True):
        assert size == (sum(p >= threshold for p in row) or len(row))


@given(cases())
def test_the_share_of_misses_is_what_the_sets_miss(case: Case) -> None:
    probs, labels = case
    query = CandidateSet().calibrate(probs, labels)
    assert query.threshold is not None
    truths = of_truth(probs, labels)
    assert miss_share(truths, query.threshold) == query.alpha == (truths < query.threshold).mean()
    assert 0 <= query.alpha < 1


@given(rows(), st.sampled_from([Bits(), Linear()]), st.sampled_from([APS(), RAPS(0.2, 2), RAPS(0, 0)]))
def test_adaptive_scores_keep_the_order_of_the_probabilities(probs: Any, cost: CostModel, score: Score) -> None:
    """A set of an adaptive score is a beginning of the order, so plans need no second order."""
    conformity = score(probs)
    assert (conformity > 0).all()
    order = np.argsort(-probs, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(conformity, order, axis=1), axis=1) <= 0).all()
