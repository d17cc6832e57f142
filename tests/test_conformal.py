from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

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
    price_table,
    threshold_at,
)
from shortlist.costs import Bits, Linear
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.types import ShortlistError
from tests import reference
from tests.backends import Backend, awkward, draw, each_backend, host, softmax


def raps_by_hand(row: list[float], penalty: float, free: int) -> list[float]:
    """s(y) = Σ of all probabilities ahead of y and its own, + penalty · (rank − free)⁺, as 1 / (1 + s)."""
    score = {}
    for rank, y in enumerate(reference.order(row), start=1):
        mass = math.fsum(row[c] for c in reference.order(row)[:rank])
        score[y] = mass + penalty * max(0, rank - free)
    return [1 / (1 + score[y]) for y in range(len(row))]


@each_backend
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_scores_by_their_formula(backend: Backend, n_classes: int) -> None:
    probs = awkward(n_classes, backend.dtype)
    for score, penalty, free in ((APS(), 0.0, 0), (RAPS(), 0.01, 5), (RAPS(0.3, 1), 0.3, 1)):
        told = score(backend(probs))
        assert backend.owns(told)
        by_hand = [raps_by_hand(row, penalty, free) for row in probs.tolist()]
        np.testing.assert_allclose(host(told), by_hand, rtol=1e-6)
    assert LAC()(probs) is probs


@pytest.mark.parametrize("score", [APS(), RAPS(0.05, 2)])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_adaptive_sets_by_their_definition(score: Score, alpha: float) -> None:
    """{y : s(y) ≤ q}, q the ⌈(n+1)(1−α)⌉-th smallest score of the calibration labels."""
    penalty, free = (score.penalty, score.free) if isinstance(score, RAPS) else (0.0, 0)
    cal, probs = softmax(200, 12, seed=1), softmax(50, 12, seed=2)
    labels = draw(cal)

    def scores(rows: Any) -> Any:
        return 1 / np.array([raps_by_hand(row, penalty, free) for row in rows.tolist()]) - 1

    own = np.sort(scores(cal)[np.arange(200), labels])
    q = own[math.ceil(201 * (1 - alpha) - 1e-9) - 1]
    threshold = threshold_at(of_truth(score(cal), labels), alpha, "corrected")
    ours, by_hand = members(score(probs), threshold), scores(probs) <= q
    clear = np.abs(scores(probs) - q) > 1e-12
    assert np.array_equal(ours[clear], by_hand[clear])
    assert clear.mean() > 0.99


def test_bad_penalties_are_refused() -> None:
    for penalty, free in ((-1.0, 0), (0.0, -1)):
        with pytest.raises(ShortlistError, match=r"^score raps: penalty and free must be at least 0"):
            RAPS(penalty, free)


@each_backend
def test_the_conformity_of_the_truth(backend: Backend) -> None:
    probs, labels = softmax(9, 4), draw(softmax(9, 4))
    for given in (backend(labels), labels, backend(labels.astype(np.int32))):
        told = of_truth(backend(probs), given)
        assert backend.owns(told)
        np.testing.assert_allclose(host(told), probs[np.arange(9), labels], rtol=1e-6)


@each_backend
def test_every_kind_of_array_gives_the_same_thresholds(backend: Backend) -> None:
    cal = softmax(150, 8, seed=3).astype(np.float32).astype(np.float64)
    labels = draw(cal)
    usual, here = of_truth(cal, labels), of_truth(backend(cal), backend(labels))
    for alpha in GRID:
        for quantile in ("plain", "corrected", "authors"):
            assert threshold_at(here, alpha, quantile) == threshold_at(usual, alpha, quantile)
    for cost in (Bits(), Linear(0.5, 1)):
        given = backend(cal), backend(labels), cost
        assert best_threshold(*given) == best_threshold(cal, labels, cost)
        assert best_on_grid(*given) == best_on_grid(cal, labels, cost)
    t = best_threshold(cal, labels, Bits())
    assert miss_share(here, t) == miss_share(usual, t) == (usual < t).mean()
    listed = CalibratedSet(CandidateSet(), 0.1, t)
    assert host(listed.plan(backend(cal)).sizes).tolist() == listed.plan(cal).sizes.tolist()
    assert host(members(backend(cal), t)).tolist() == members(cal, t).tolist()


@each_backend
def test_the_cost_curve_on_every_kind_of_array(backend: Backend) -> None:
    probs = awkward(6, backend.dtype)
    labels = np.arange(len(probs)) % 6
    thresholds = np.unique(np.append(probs, 0)).astype(backend.dtype)
    curve = cost_curve(backend(probs), backend(labels), backend(thresholds), Bits())
    assert backend.owns(curve)
    assert host(curve).dtype == np.float64
    slow = [reference.total(probs.tolist(), labels.tolist(), t, reference.bits) for t in thresholds.tolist()]
    np.testing.assert_allclose(host(curve), slow, rtol=1e-12)


@each_backend
def test_the_price_of_every_size(backend: Backend) -> None:
    table = price_table(5, 0.25, Bits(), backend(softmax(1, 5)))
    assert backend.owns(table)
    by_hand = [math.log2(5), *(math.log2(k + 1) + 0.25 * math.log2(5 - k) for k in range(1, 5)), math.log2(5)]
    np.testing.assert_allclose(host(table), by_hand)


def test_the_exact_search_by_hand() -> None:
    """Asking one of two (1 bit) beats one of four (2 bits); the odd one out is not worth a longer list."""
    probs = np.array([[0.7, 0.1, 0.1, 0.1]] * 5 + [[0.4, 0.3, 0.2, 0.1]])
    labels = np.array([0, 0, 0, 0, 0, 3])
    t = best_threshold(probs, labels, Bits())
    assert t == 0.7
    assert miss_share(of_truth(probs, labels), t) == pytest.approx(1 / 6)


def test_a_model_that_knows_nothing_is_asked_conventionally() -> None:
    probs = np.full((10, 4), 0.25)
    assert best_threshold(probs, np.arange(10) % 4, Bits()) == 0.0
    assert best_on_grid(probs, np.arange(10) % 4, Bits()) == 0.0


def test_the_authors_grid_has_no_conventional_query() -> None:
    """Their alpha = 0 is the largest score, so that every choice of theirs is a truth's own probability."""
    probs = np.full((10, 4), 0.25)
    assert best_on_grid(probs, np.arange(10) % 4, Bits(), "authors") == 0.25


def test_probabilities_a_hair_below_zero_are_zero() -> None:
    probs = np.array([[1 + 1e-8, -1e-8], [0.5, 0.5]])
    labels = np.array([1, 0])
    assert threshold_at(of_truth(probs, labels), 0.1) == 0.0
    assert cost_curve(probs, labels, np.array([0.0]), Bits()).tolist() == [2.0]
    assert best_threshold(probs, labels, Bits()) >= 0


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 1.5, float("nan")])
def test_an_alpha_that_is_no_error_rate_is_refused(alpha: float) -> None:
    with pytest.raises(ShortlistError, match=r"^alpha: need an error rate from 0 up to, not including, 1"):
        threshold_at(np.array([0.5]), alpha)


def test_nothing_to_calibrate_on_is_refused() -> None:
    with pytest.raises(ShortlistError, match=r"^calibration: no labelled item"):
        threshold_at(np.empty(0), 0.1)


def test_the_grid_is_the_papers() -> None:
    assert len(GRID) == 50
    np.testing.assert_allclose(GRID, np.linspace(0, 0.98, 50), atol=1e-15)


def test_the_least_and_the_most_an_error_rate_can_be() -> None:
    truths = np.array([0.9, 0.5, 0.7, 0.3])
    assert [threshold_at(truths, alpha) for alpha in (0, 0.25, 0.5, 0.999)] == [0.0, 0.5, 0.7, 0.9]
    assert threshold_at(truths, 1e-12) == 0.3  # above 0 it is a quantile
    assert [threshold_at(truths, alpha, "corrected") for alpha in (0.1, 0.2, 0.4, 0.999)] == [0.0, 0.3, 0.5, 0.9]
    assert [threshold_at(truths, alpha, "authors") for alpha in (0, 0.3, 0.5, 0.999)] == [0.3, 0.3, 0.5, 0.7]
    assert miss_share(truths, 0.5) == 0.25  # what just conforms is in the list


def test_of_costs_that_differ_by_rounding_the_larger_set_is_taken() -> None:
    """With an option costing as much as any, every threshold costs the same but for misses."""
    conformity, labels = np.array([[0.6, 0.4], [0.7, 0.3]]), np.array([0, 0])
    flat = Linear(0.0, start=1.0)
    assert best_threshold(conformity, labels, flat) == 0.0
    wide = np.array([[0.5, 0.2, 0.2, 0.1]] * 3)
    assert best_threshold(wide, np.array([0, 0, 0]), Bits()) == 0.5
