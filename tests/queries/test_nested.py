"""Nested lists beside every way there is to cut; what calibration believes; what the grid of cuts loses."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from shortlist.costs import Bits, Linear, Seconds
from shortlist.plans import nested
from shortlist.queries import cuts
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.cuts import grid, least_cost, left_at
from shortlist.queries.guard import pays
from shortlist.queries.nested import CalibratedNested, Nested
from shortlist.queries.recalibration import Recalibration, recalibrated
from shortlist.types import CostModel, ShortlistError
from tests.backends import Backend, draw, each_backend, host, softmax
from tests.cases import in_turn

CAL = softmax(400, 12, seed=1)
LABELS = draw(CAL)


def cheapest_by_hand(row: Any, stages: int, cost: CostModel) -> float:
    """The least expected charge over every set of at most so many cuts."""
    places = range(1, len(row))
    ranked = np.sort(row)[::-1]
    best = float(cost(np.asarray(float(len(row)))))
    for n in range(1, stages + 1):
        for ends in combinations(places, n):
            reach = [[ranked[end:].sum() for end in ends]]
            best = min(best, float(nested([row], [list(ends)], reach).expected(cost)[0]))
    return best


@in_turn("cost", [Bits(), Linear(0.4, start=0.5), Seconds(0.7, 1.3)])
@in_turn("stages", [1, 2, 3])
def test_no_other_cuts_are_cheaper(cost: CostModel, stages: int) -> None:
    probs = np.concatenate([softmax(12, 9, seed=3, sharp=s) for s in (0.3, 1.0, 3.0)] + [np.eye(9)[:1]])
    query = CalibratedNested(Nested(stages, cost=cost))
    plan = query.plan(probs)
    by_hand = [cheapest_by_hand(row, stages, cost) for row in probs]
    np.testing.assert_allclose(plan.expected(cost), by_hand, rtol=1e-9)
    np.testing.assert_allclose(query.price(probs), by_hand, rtol=1e-9)


def test_reach_is_what_is_believed_to_be_left() -> None:
    believed = Recalibration(temperature=2.0, share=0.1)
    probs = softmax(30, 12, seed=4, sharp=2.0)
    plan = CalibratedNested(Nested(), believed).plan(probs)
    ranked = np.sort(believed(probs), axis=1)[:, ::-1]
    for row, ends, reach in zip(ranked, plan.cuts, plan.reach, strict=True):
        np.testing.assert_allclose(reach, [row[end:].sum() for end in ends], atol=1e-12)


def test_more_lists_never_cost_more() -> None:
    probs = softmax(200, 40, seed=5, sharp=2.0)
    one, two, three, conventional = (CalibratedNested(Nested(s)).price(probs) for s in (1, 2, 3, 1))
    assert (two <= one + 1e-12).all()
    assert (three <= two + 1e-12).all()
    assert (conventional <= np.log2(40) + 1e-12).all()
    assert three.mean() < 0.97 * one.mean()


@pytest.mark.parametrize("n_classes", [100, 300])
def test_the_grid_loses_less_than_a_thousandth(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    probs = np.concatenate([softmax(100, n_classes, seed=s, sharp=s) for s in (1, 2, 3, 4)])
    on_grid = least_cost(left_at(np.sort(probs)), n_classes, 3, Bits())
    monkeypatch.setattr(cuts, "grid", lambda width: tuple(range(width)))
    cuts._price_matrix.cache_clear()
    everywhere = least_cost(left_at(np.sort(probs)), n_classes, 3, Bits())
    cuts._price_matrix.cache_clear()
    assert (everywhere <= on_grid + 1e-9).all()
    assert on_grid.sum() < 1.001 * everywhere.sum()
    assert len(grid(n_classes)) < 32


@each_backend
def test_every_kind_of_array_gives_the_same_query_and_plan(backend: Backend) -> None:
    cal = CAL.astype(np.float32).astype(np.float64)
    probs = softmax(40, 12, seed=2).astype(np.float32).astype(np.float64)
    usual, here = Nested().calibrate(cal, LABELS), Nested().calibrate(backend(cal), backend(LABELS))
    assert here.pays == usual.pays
    assert here.believed.share == pytest.approx(usual.believed.share, rel=1e-4)
    assert here.believed.temperature == pytest.approx(usual.believed.temperature, rel=1e-4)
    np.testing.assert_allclose(host(usual.price(backend(probs))), usual.price(probs), rtol=1e-5)
    assert backend.owns(usual.plan(backend(probs)).cuts)


def test_a_price_is_the_same_for_a_large_pool_and_for_its_items() -> None:
    probs = softmax(2 * cuts.ROWS + 7, 12, seed=9)
    query = Nested().calibrate(CAL, LABELS)
    prices, plan = query.price(probs), query.plan(probs)
    for item in (0, cuts.ROWS - 1, cuts.ROWS, len(probs) - 1):
        assert query.price(probs[item : item + 1])[0] == prices[item]
        assert query.plan(probs[item : item + 1]).cuts.tolist() == plan[item].cuts.tolist()


# --- what calibration believes ---------------------------------------------------------------------------------


@in_turn("sharpness", [0.25, 4.0])
def test_a_temperature_is_found_again(sharpness: float) -> None:
    said = CAL**sharpness / (CAL**sharpness).sum(axis=1, keepdims=True)
    many = np.tile(np.arange(400), 10)
    labels = draw(CAL[many], seed=7)
    found = recalibrated(said[many], labels)
    assert found.temperature == pytest.approx(sharpness, rel=0.1)
    assert found.share < 0.05


def test_a_temperature_that_chance_explains_stays_at_one() -> None:
    stays = [recalibrated(CAL, draw(CAL, seed=seed)).temperature == 1 for seed in range(20)]
    assert sum(stays) >= 15


def test_scaled_logits_cost_what_calibrated_ones_do() -> None:
    many = np.tile(np.arange(400), 5)
    labels, truth = draw(CAL[many], seed=8), draw(CAL, seed=9)
    raw = CAL**4 / (CAL**4).sum(axis=1, keepdims=True)
    usual, scaled = (Nested().calibrate(p[many], labels).plan(p).charge(truth).mean() for p in (CAL, raw))
    assert scaled == pytest.approx(usual, rel=0.01)


def test_nobody_is_certain_after_a_few_answers() -> None:
    sure = np.eye(8)[np.arange(24) % 8]
    found = recalibrated(sure, np.arange(24) % 8)
    assert 0.001 < found.share < 0.1
    assert np.isfinite(np.log(found(sure))).all()


def test_a_label_that_was_impossible_is_believed_possible_from_then_on() -> None:
    never = np.zeros((50, 4))
    never[:, 0] = 1.0
    found = recalibrated(never, (np.arange(50) % 10 == 0) * 3)
    assert 0.02 < found(never)[0, 3] < 0.05  # a tenth, and the two classes that never came share it evenly


def test_what_is_left_out_goes_to_the_classes_that_come() -> None:
    """By the items drawn at random from what is asked; an item's own label says nothing about itself."""
    common = np.where(np.arange(300) % 3, 0, np.arange(300) % 12)
    flat = np.full((300, 12), 1 / 12)
    query = Nested(n_cal=300).calibrate(flat, common)
    plan = query.plan(flat)
    assert plan.sets[0][0] == 0
    assert plan.charge(common).mean() < 0.8 * np.log2(12)
    assert query.restored(query.state) == query
    assert recalibrated(np.eye(12), np.arange(12), by_class=True).share < 0.1  # each came once: nothing to learn
    wider = query.plan(np.full((2, 14), 1 / 14))  # two classes were added since
    assert wider.order.shape == (2, 14)
    np.testing.assert_allclose(query.believed(np.full((2, 14), 1 / 14)).sum(axis=1), 1)


# --- the guard -------------------------------------------------------------------------------------------------


def test_a_model_that_knows_nothing_asks_conventionally() -> None:
    asked = [
        Nested().calibrate(CAL, np.random.default_rng(seed).permutation(12)[np.arange(400) % 12]).pays
        for seed in range(20)
    ]
    assert sum(asked) <= 2


def test_without_the_guard_lists_are_made_by_what_is_expected_alone() -> None:
    few, labels = CAL[:5], LABELS[:5]
    assert not Nested().calibrate(few, labels).pays  # so few are no evidence
    assert Nested(guard=False).calibrate(few, labels).pays


def test_evidence_is_needed_by_its_lower_limit() -> None:
    whole = np.full(100, 6.0)
    rng = np.random.default_rng(0)
    draws = [pays(whole - rng.choice([-5.0, 5.0], 100), whole) for _ in range(1000)]
    assert 0.03 < np.mean(draws) < 0.07  # lists that save nothing pass one time in twenty


def test_after_the_guard_says_no_prices_are_conventional() -> None:
    query = CalibratedNested(Nested(), Recalibration(share=0.1), pays=False)
    assert query.price(CAL).tolist() == [np.log2(12)] * 400
    assert (query.plan(CAL).sizes == 12).all()
    assert query.restored(query.state) == query


def test_lists_are_cheaper_than_one_candidate_set() -> None:
    probs, truth = softmax(2000, 60, seed=3, sharp=2.5), draw(softmax(2000, 60, seed=3, sharp=2.5), seed=4)
    ours, paper = (
        query.calibrate(probs, truth).plan(probs).charge(truth).mean() for query in (Nested(), CandidateSet())
    )
    assert ours < 0.97 * paper


@pytest.mark.parametrize(
    ("wrong", "sentence"), [({"stages": 0}, "stages"), ({"n_cal": -1}, "n_cal"), ({"stages": 1.5}, "stages")]
)
def test_wrong_settings_are_refused_by_name(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=f"^nested: {sentence} must be a whole number"):
        Nested(**wrong)
    with pytest.warns(UserWarning, match="Nested is not calibrated"):
        Nested().plan(CAL)
