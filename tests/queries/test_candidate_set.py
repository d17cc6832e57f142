from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shortlist.conformal import APS, LAC, RAPS
from shortlist.costs import Linear
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.one_bit import OneBit
from shortlist.queries.oracle import Oracle
from shortlist.queries.top_k import TopK
from shortlist.types import Array, ShortlistError
from tests.backends import Backend, draw, each_backend, host, softmax

CAL = softmax(200, 10, seed=1)
LABELS = draw(CAL)


@each_backend
def test_every_kind_of_array_gives_the_same_query_and_plan(backend: Backend) -> None:
    cal = CAL.astype(np.float32).astype(np.float64)
    probs = softmax(40, 10, seed=2).astype(np.float32).astype(np.float64)
    for query in (CandidateSet(), CandidateSet(search="grid"), CandidateSet(alpha=0.1)):
        usual, here = query.calibrate(cal, LABELS), query.calibrate(backend(cal), backend(LABELS))
        assert here == usual
        assert host(here.plan(backend(probs)).sizes).tolist() == usual.plan(probs).sizes.tolist()
        np.testing.assert_allclose(host(here.price(backend(probs))), usual.price(probs), rtol=1e-12)


@each_backend
def test_labels_may_come_as_plain_arrays(backend: Backend) -> None:
    assert CandidateSet().calibrate(backend(CAL), LABELS) == CandidateSet().calibrate(backend(CAL), backend(LABELS))


def test_left_alone_it_finds_the_cheapest_alpha() -> None:
    query = CandidateSet().calibrate(CAL, LABELS)
    assert query.alpha is not None
    cost = query.plan(CAL).charge(LABELS).sum()
    for alpha in np.linspace(0, 0.99, 100).tolist():
        fixed = CandidateSet(alpha=alpha).calibrate(CAL, LABELS)
        assert fixed.alpha == alpha
        assert cost <= fixed.plan(CAL).charge(LABELS).sum() * (1 + 1e-9)


def test_alpha_is_the_share_of_the_calibration_set_that_is_missed() -> None:
    query = CandidateSet().calibrate(CAL, LABELS)
    assert query.threshold is not None
    assert query.alpha == (CAL[np.arange(200), LABELS] < query.threshold).mean()


def test_another_cost_finds_another_alpha() -> None:
    costly_start = Linear(1, start=5)  # every stage is dear, so a miss weighs more
    bits, linear = CandidateSet().calibrate(CAL, LABELS), CandidateSet(cost=costly_start).calibrate(CAL, LABELS)
    assert linear.alpha is not None
    assert bits.alpha is not None
    assert linear.alpha < bits.alpha
    by_bits, by_linear = (q.plan(CAL).charge(LABELS, costly_start).sum() for q in (bits, linear))
    assert by_linear < by_bits


def test_alpha_zero_is_the_conventional_query() -> None:
    query = CandidateSet(alpha=0.0).calibrate(CAL, LABELS)
    assert query.threshold == 0.0
    assert query.plan(CAL).sizes.tolist() == [10] * 200
    np.testing.assert_allclose(query.price(CAL), math.log2(10))


def test_the_fixed_alpha_survives_being_taken_back_to_nothing() -> None:
    query = CandidateSet(alpha=0.2).calibrate(CAL, LABELS).restored(None)
    assert query.threshold is None
    assert query.calibrate(CAL, LABELS) == CandidateSet(alpha=0.2).calibrate(CAL, LABELS)


def test_a_score_of_ones_own() -> None:
    """Any function with more = better will do, even one that forgets the most probable class."""

    class Second:
        def __call__(self, probs: Array) -> Array:
            top = probs.argmax(axis=1)
            return np.where(np.arange(probs.shape[1]) == top[:, None], 0.0, probs)

    query = CalibratedSet(CandidateSet(score=Second()), 0.5, 0.25)
    plan = query.plan(np.array([[0.5, 0.3, 0.2]]))
    assert plan.classes.tolist() == [1]
    assert plan.order.tolist() == [[1, 0, 2]]
    assert plan.charge(np.array([1])).tolist() == [1]
    assert plan.charge(np.array([0])).tolist() == [2]


@pytest.mark.parametrize("score", [APS(), RAPS(0.05, 1)])
def test_adaptive_scores_cover_as_asked(score: Any) -> None:
    query = CandidateSet(alpha=0.1, score=score).calibrate(CAL, LABELS)
    assert query.plan(CAL).holds(LABELS).mean() >= 0.9
    assert query.score == score != LAC()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_cal": -1}, "n_cal must be at least 0, got -1"),
        ({"alpha": 1.0}, "alpha must be from 0 to 1, 1 itself left out, got 1.0; 0.05 stands for"),
        ({"alpha": -0.1}, "alpha must be from 0 to 1"),
        ({"alpha": float("nan")}, "alpha must be from 0 to 1"),
        ({"search": "binary"}, "search must be exact or grid, got 'binary'"),
        ({"quantile": "median"}, "quantile must be plain, corrected or authors, got 'median'"),
    ],
)
def test_bad_settings_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^candidate_set: {message}"):
        CandidateSet(**settings)


def test_a_query_that_was_never_calibrated_says_so_when_it_plans() -> None:
    query = CandidateSet(alpha=0.1)
    query.calibrate(CAL, LABELS)  # gives a new query, which nobody keeps
    with pytest.warns(UserWarning, match=r"is not calibrated and asks about all classes; .* query = query\.calibrate"):
        plan = query.plan(CAL)
    assert plan.sizes.tolist() == [10] * 200


def test_a_campaign_and_a_calibration_that_lists_nobody_say_nothing() -> None:
    waiting = CandidateSet().restored(None)
    assert waiting.plan(CAL).sizes.tolist() == [10] * 200
    assert waiting == CandidateSet()
    assert CalibratedSet(CandidateSet(), 0.0, 0.0).plan(CAL).sizes.tolist() == [10] * 200


@pytest.mark.parametrize(
    "query", [CandidateSet(), CalibratedSet(CandidateSet(), 0.1, 0.3), TopK(2), OneBit(), Conventional(), Oracle()]
)
def test_a_price_is_of_probabilities_alone(query: Any) -> None:
    """Decision values and rows that sum to 3 have a price too, if nobody looks."""
    for wrong, message in ((CAL - 0.5, "holds a negative number"), (3 * CAL, "row 0 sums to 3, not 1; divide rounded")):
        with pytest.raises(ShortlistError, match=message):
            query.price(wrong)


def test_alpha_is_a_fraction_and_a_score_or_a_cost_a_part() -> None:
    with pytest.raises(ShortlistError, match=r"alpha must be from 0 to 1, .* got 95; 0\.05 stands for lists that hold"):
        CandidateSet(alpha=95)
    assert CandidateSet(score="APS") == CandidateSet(score=APS())
    for part, message in ((APS, "APS is a class"), (3, "3 is neither")):
        with pytest.raises(ShortlistError, match=rf"^score: {message}; give a name \(aps, lac, raps\) or a part"):
            CandidateSet(score=part)  # type: ignore[arg-type]
    with pytest.raises(ShortlistError, match=r"^top_k: k must be a whole number of at least 1, got 2\.5"):
        TopK(2.5)  # type: ignore[arg-type]


def test_only_lists_that_are_shown_can_miss() -> None:
    """Empty lists and full ones are asked conventionally."""
    probs = [[0.7, 0.2, 0.1], [0.4, 0.3, 0.3], [0.45, 0.35, 0.2]]
    query = CandidateSet(alpha=2 / 3).calibrate(probs, [0, 0, 2])
    assert query.threshold == 0.7
    assert (query.missed, query.reach) == (0.0, 0.0)
    shown = CandidateSet(alpha=0.5).calibrate([[0.7, 0.2, 0.1], [0.8, 0.1, 0.1]], [0, 1])
    assert (shown.threshold, shown.missed) == (0.7, 0.5)
    full = CandidateSet(alpha=0.5).calibrate([[0.4, 0.3, 0.3], [0.5, 0.25, 0.25]], [1, 1])
    assert (full.threshold, full.missed) == (0.3, 1.0)
