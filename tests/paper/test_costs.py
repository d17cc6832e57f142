"""The paper's arithmetic: thresholds of top-1 accuracy, the cost of full label sets, boundary cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.conformal import price_table
from shortlist.costs import Bits, Linear, Seconds
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.oracle import Oracle
from shortlist.queries.top_k import TopK
from shortlist.types import CostModel
from tests.backends import Matrix


def row(*weights: float) -> Matrix:
    return np.array([weights]) / sum(weights)


@pytest.mark.parametrize(("n_classes", "accuracy"), [(10, 30.1), (100, 15.1), (1000, 10.0)])
def test_top_1_accuracy_above_which_the_shortlist_always_wins(n_classes: int, accuracy: float) -> None:
    """Remark 3.2: p1 ≥ log_L 2."""
    bound = float(Bits()(2) / Bits()(n_classes))
    assert round(100 * bound, 1) == accuracy
    table = price_table(n_classes, 1 - bound, Bits(), np.empty(0))
    assert table[1] < table[n_classes]


@pytest.mark.parametrize(
    ("n_items", "n_classes", "printed"),
    [(50_000, 10, "166.1K"), (50_000, 100, "332.2K"), (1_281_167, 1000, "12.8M")],
)
def test_cost_of_the_full_label_set(n_items: int, n_classes: int, printed: str) -> None:
    one = float(Conventional().price(np.full((1, n_classes), 1 / n_classes))[0])
    total = n_items * one
    assert (f"{total / 1e3:.1f}K" if total < 1e6 else f"{total / 1e6:.1f}M") == printed


def test_the_paper_cuts_its_imagenet_cost_short() -> None:
    """1,281,167 · log2(1000) = 12.768M bits; the paper prints 12.7M, which is that number without its last digits."""
    total = 1_281_167 * float(Bits()(1000))
    assert math.floor(total / 1e5) / 10 == 12.7


COSTS = [Bits(), Linear(2, start=1), Seconds(0.5, 1.2)]
each_cost = pytest.mark.parametrize("cost", COSTS, ids=lambda c: type(c).__name__)


@each_cost
def test_an_empty_set_is_asked_conventionally(cost: CostModel) -> None:
    probs = row(4, 3, 2, 1)
    plan = CalibratedSet(CandidateSet(cost=cost), 0.1, 0.9).plan(probs)
    assert plan.sizes.tolist() == [4]
    for truth in range(4):
        assert plan.charge(np.array([truth]), cost)[0] == cost(np.asarray(4.0))
        assert plan.holds(np.array([truth]))[0]
    assert CalibratedSet(CandidateSet(cost=cost), 0.1, 0.9).price(probs)[0] == cost(np.asarray(4.0))


@each_cost
def test_a_set_of_all_classes_has_no_none_option(cost: CostModel) -> None:
    probs = row(4, 3, 2, 1)
    plan = CalibratedSet(CandidateSet(cost=cost), 0.1, 0.1).plan(probs)
    assert plan.sizes.tolist() == [4]
    for truth in range(4):
        assert plan.charge(np.array([truth]), cost)[0] == cost(np.asarray(4.0))


@each_cost
def test_with_one_class_left_nothing_more_is_asked(cost: CostModel) -> None:
    """k = L − 1: L options with "None", and after "None" the answer is known."""
    probs = row(4, 3, 2, 1)
    plan = CalibratedSet(CandidateSet(cost=cost), 0.3, 0.15).plan(probs)
    assert plan.sizes.tolist() == [3]
    for truth in range(4):
        assert plan.charge(np.array([truth]), cost)[0] == cost(np.asarray(4.0))
    assert plan.expected(cost)[0] == cost(np.asarray(4.0))


@each_cost
def test_one_class_costs_nothing(cost: CostModel) -> None:
    probs = np.ones((2, 1))
    for query in (
        Conventional(cost=cost),
        CalibratedSet(CandidateSet(cost=cost), 0.1, 0.5),
        TopK(1, cost=cost),
    ):
        assert query.price(probs).tolist() == [0.0, 0.0]
        assert query.plan(probs).charge(np.array([0, 0]), cost).tolist() == [0.0, 0.0]


def test_a_hit_and_a_miss_by_hand() -> None:
    probs = row(40, 30, 20, 5, 5)
    plan = CalibratedSet(CandidateSet(), 0.1, 0.25).plan(probs)
    assert plan.sizes.tolist() == [2]
    assert plan.charge(np.array([1]))[0] == pytest.approx(math.log2(3))
    assert plan.charge(np.array([4]))[0] == pytest.approx(math.log2(3) + math.log2(3))
    assert plan.expected()[0] == pytest.approx(math.log2(3) + 0.1 * math.log2(3))


def test_an_oracle_by_hand_and_as_the_authors_charge_it() -> None:
    probs = row(40, 30, 20, 5, 5)
    for truth, rank in ((0, 1), (1, 2), (3, 4)):
        y = np.array([truth])
        assert Oracle().plan(probs, y).charge(y)[0] == pytest.approx(math.log2(rank + 1))
        assert Oracle(none_option=False).plan(probs, y).charge(y)[0] == pytest.approx(math.log2(rank))
    last = np.array([4])
    assert Oracle().plan(probs, last).charge(last)[0] == pytest.approx(math.log2(5))


def test_prices_are_as_in_step_2() -> None:
    """price = log2(k+1) + α'·log2(L−k) for 1 ≤ k < L, and log2 L for k = L or an empty set."""
    table = price_table(10, 0.2, Bits(), np.empty(0))
    assert table[0] == table[10] == pytest.approx(math.log2(10))
    for k in range(1, 10):
        assert table[k] == pytest.approx(math.log2(k + 1) + 0.2 * math.log2(10 - k))


def test_the_first_active_round_prices_everything_alike() -> None:
    assert CandidateSet().price(np.full((3, 16), 1 / 16)).tolist() == [4.0] * 3
