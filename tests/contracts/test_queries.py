"""Every query design, found by walking the package, meets the same list of checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, is_dataclass
from typing import Any

import numpy as np
import pytest

import shortlist.queries
from shortlist.conformal import APS, RAPS
from shortlist.costs import Bits, Linear, Seconds
from shortlist.plans import Plan, QueryDesign
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.one_bit import OneBit
from shortlist.queries.oracle import Oracle
from shortlist.queries.top_k import TopK
from shortlist.types import CostModel, ShortlistError
from tests import reference
from tests.backends import Backend, Matrix, awkward, draw, each_backend, host, softmax
from tests.contracts.classes import classes_of

COSTS: list[CostModel] = [Bits(), Linear(0.5, start=1), Seconds(0.7, 1.3)]

# A design without a builder here fails `test_every_design_has_a_builder`.
BUILDERS: dict[type, dict[str, Callable[[CostModel], Any]]] = {
    Conventional: {"plain": lambda cost: Conventional(cost=cost)},
    CandidateSet: {
        "best": lambda cost: CandidateSet(cost=cost),
        "grid": lambda cost: CandidateSet(cost=cost, search="grid"),
        "authors": lambda cost: CandidateSet(cost=cost, search="grid", quantile="authors"),
        "fixed": lambda cost: CandidateSet(cost=cost, alpha=0.2),
        "corrected": lambda cost: CandidateSet(cost=cost, alpha=0.1, quantile="corrected"),
        "aps": lambda cost: CandidateSet(cost=cost, alpha=0.1, score=APS()),
        "raps": lambda cost: CandidateSet(cost=cost, score=RAPS(0.05, 1)),
    },
    TopK: {
        "one": lambda cost: TopK(1, cost=cost),
        "three": lambda cost: TopK(3, cost=cost),
        "all": lambda cost: TopK(10_000, cost=cost),
    },
    OneBit: {"plain": lambda cost: OneBit(cost=cost)},
    Oracle: {
        "eq1": lambda cost: Oracle(cost=cost),
        "authors": lambda cost: Oracle(cost=cost, none_option=False),
    },
}
NOT_DESIGNS = {"Uncalibrated"}  # what designs inherit from

CASES = [pytest.param(build, id=f"{cls.__name__}-{name}") for cls, by in BUILDERS.items() for name, build in by.items()]
each_design = pytest.mark.parametrize("build", CASES)
LEARNING = [pytest.param(build, id=f"CandidateSet-{name}") for name, build in BUILDERS[CandidateSet].items()]
each_learning_design = pytest.mark.parametrize("build", LEARNING)
each_cost = pytest.mark.parametrize("cost", COSTS, ids=lambda c: type(c).__name__)
each_width = pytest.mark.parametrize("n_classes", [1, 2, 3, 7])


def planned(query: Any, probs: Any, truth: Any) -> Plan:
    plan = query.plan(probs, truth) if isinstance(query, Oracle) else query.plan(probs)
    assert isinstance(plan, Plan)
    return plan


def calibrated(build: Callable[[CostModel], Any], cost: CostModel, backend: Backend, n_classes: int) -> Any:
    cal = softmax(60, n_classes, seed=5)
    return build(cost).calibrate(backend(cal), backend(draw(cal, seed=6)))


def by_hand(query: Any, row: list[float], truth: int, scores: Matrix) -> float:
    """The charge as PAPER.md's text has it; `scores` are the row's conformities."""

    def cost(options: float) -> float:
        return float(query.cost(np.asarray(float(options))))

    if isinstance(query, Conventional):
        return reference.conventional(len(row), cost)
    if isinstance(query, TopK):
        return reference.top_k(row, truth, query.k, cost)
    if isinstance(query, OneBit):
        return reference.one_bit(row, cost)
    if isinstance(query, Oracle):
        return reference.oracle(row, truth, cost, query.none_option)
    threshold = query.threshold or 0.0
    return reference.shortlist([y for y, s in enumerate(scores.tolist()) if s >= threshold], truth, len(row), cost)


def test_every_design_that_learns_is_among_the_learning_ones() -> None:
    learn = {cls for cls, by in BUILDERS.items() if any(build(Bits()).n_cal for build in by.values())}
    assert learn == {CandidateSet}


def test_every_design_has_a_builder() -> None:
    found = {cls for cls in classes_of(shortlist.queries) if cls.__name__ not in NOT_DESIGNS}
    assert found == set(BUILDERS), "give every query design a builder in this file"


@each_design
def test_is_frozen_and_equal_to_its_twin(build: Callable[[CostModel], Any]) -> None:
    query = build(Bits())
    assert is_dataclass(type(query))
    assert query == build(Bits())
    assert hash(query) == hash(build(Bits()))
    with pytest.raises(FrozenInstanceError):
        query.cost = Linear()


@each_design
def test_meets_the_protocol(build: Callable[[CostModel], Any]) -> None:
    query: QueryDesign = build(Bits())
    assert query.n_cal >= 0
    assert query.threshold is None
    assert isinstance(query.cost, Bits)


@each_design
@each_backend
def test_calibrate_returns_a_new_query_and_leaves_the_old(build: Callable[[CostModel], Any], backend: Backend) -> None:
    query = build(Bits())
    before = repr(query)
    cal = softmax(60, 5, seed=5)
    learnt = query.calibrate(backend(cal), backend(draw(cal)))
    assert learnt is not query
    assert type(learnt) is type(query)
    assert repr(query) == before
    assert query == build(Bits())
    if query.n_cal:
        assert isinstance(learnt.threshold, float)
        assert isinstance(learnt.alpha, float)


@each_design
def test_calibrating_again_is_as_calibrating_afresh(build: Callable[[CostModel], Any]) -> None:
    """An alpha that was searched for is searched for again; one that was given stays."""
    one, two = softmax(80, 6, seed=1), softmax(80, 6, seed=2, sharp=0.5)
    query = build(Bits())
    first = query.calibrate(one, draw(one))
    again = first.calibrate(two, draw(two))
    assert again == query.calibrate(two, draw(two))
    if query.alpha is not None:
        assert first.alpha == again.alpha == query.alpha


@each_design
def test_at_brings_a_calibration_back(build: Callable[[CostModel], Any]) -> None:
    cal, other = softmax(80, 6, seed=1), softmax(80, 6, seed=2)
    learnt = build(Bits()).calibrate(cal, draw(cal))
    back = build(Bits()).at(learnt.alpha, learnt.threshold)
    assert back == learnt
    assert back.calibrate(other, draw(other)) == learnt.calibrate(other, draw(other))


@each_learning_design
def test_before_calibration_a_learning_design_asks_conventionally(build: Callable[[CostModel], Any]) -> None:
    query, probs = build(Bits()), softmax(9, 8)
    assert query.plan(probs).sizes.tolist() == [8] * 9
    assert query.price(probs).tolist() == [3.0] * 9


@each_design
@each_cost
@each_width
@each_backend
def test_charge_is_what_the_paper_says_for_every_truth(
    build: Callable[[CostModel], Any], cost: CostModel, n_classes: int, backend: Backend
) -> None:
    query = calibrated(build, cost, backend, n_classes)
    probs = awkward(n_classes, backend.dtype)
    scores = host(getattr(query, "score", lambda p: p)(backend(probs)))
    for truth in range(n_classes):
        truths = np.full(len(probs), truth)
        charge = planned(query, backend(probs), backend(truths)).charge(backend(truths), cost)
        assert backend.owns(charge)
        expected = [by_hand(query, row, truth, s) for row, s in zip(probs.tolist(), scores, strict=True)]
        np.testing.assert_allclose(host(charge), expected, rtol=1e-12)


@each_design
@each_cost
@each_width
@each_backend
def test_price_is_the_expected_charge_of_the_plan(
    build: Callable[[CostModel], Any], cost: CostModel, n_classes: int, backend: Backend
) -> None:
    query = calibrated(build, cost, backend, n_classes)
    probs = backend(awkward(n_classes, backend.dtype))
    price = query.price(probs)
    assert backend.owns(price)
    assert price.shape == (probs.shape[0],)
    if isinstance(query, Oracle):  # its plan needs the truth: the price is the mean over truths
        charges = []
        for y in range(n_classes):
            truths = backend(np.full(probs.shape[0], y))
            charges.append(host(query.plan(probs, truths).charge(truths, cost)))
        expected = (host(probs).astype(float) * np.stack(charges, axis=1)).sum(axis=1)
        np.testing.assert_allclose(host(price), expected, rtol=1e-6)
    else:
        np.testing.assert_allclose(host(price), host(query.plan(probs).expected(cost)), rtol=1e-12)


@each_design
@each_backend
def test_plan_is_a_permutation_with_its_list_in_front(build: Callable[[CostModel], Any], backend: Backend) -> None:
    query = calibrated(build, Bits(), backend, 7)
    probs = backend(awkward(7, backend.dtype))
    truths = backend(np.arange(probs.shape[0]) % 7)
    plan = planned(query, probs, truths)
    order, sizes, offsets, classes = (host(a) for a in (plan.order, plan.sizes, plan.offsets, plan.classes))
    assert all(backend.owns(a) for a in (plan.order, plan.sizes, plan.offsets, plan.classes, plan.cuts, plan.reach))
    assert np.array_equal(np.sort(order, axis=1), np.tile(np.arange(7), (len(order), 1)))
    for i, row in enumerate(order):
        stored = classes[offsets[i] : offsets[i + 1]]
        assert np.array_equal(stored, row[: len(stored)])
        assert len(stored) == (sizes[i] if sizes[i] < 7 else 0)


@each_design
def test_results_do_not_depend_on_the_other_rows(build: Callable[[CostModel], Any]) -> None:
    cal = softmax(60, 7, seed=5)
    query, probs = build(Bits()).calibrate(cal, draw(cal)), awkward(7)
    truths = np.arange(len(probs)) % 7
    whole = planned(query, probs, truths).charge(truths)
    for i in range(len(probs)):
        one = slice(i, i + 1)
        assert query.price(probs[one]).tolist() == query.price(probs)[one].tolist()
        assert planned(query, probs[one], truths[one]).charge(truths[one]).tolist() == whole[one].tolist()


@each_design
@each_backend
def test_no_items_at_all(build: Callable[[CostModel], Any], backend: Backend) -> None:
    query = calibrated(build, Bits(), backend, 5)
    none, no_truths = backend(np.empty((0, 5))), backend(np.empty(0, np.int64))
    plan = planned(query, none, no_truths)
    assert len(plan) == 0
    assert query.price(none).shape == plan.charge(no_truths).shape == plan.expected().shape == (0,)
    assert plan.classes.shape == (0,)


@each_design
@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (np.array([[0.5, 0.5], [np.nan, 1.0]]), "row 1 holds NaN"),
        (np.array([[0.5, 0.5], [2.0, 1.0]]), "row 1 sums to 3, not 1"),
        (np.array([[1.5, -0.5]]), "row 0 holds a negative number"),
        (np.array([0.5, 0.5]), r"need a matrix \(items, classes\), got \(2,\)"),
        (np.array([[1, 0]]), "need floating point"),
        ([[0.5, 0.5]], r"need a matrix \(items, classes\), got list"),
    ],
)
def test_bad_probabilities_are_refused_by_name(build: Callable[[CostModel], Any], probs: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^probs: {message}"):
        planned(build(Bits()), probs, np.zeros(len(probs), np.int64))


@each_design
def test_bad_truths_are_refused_by_name(build: Callable[[CostModel], Any]) -> None:
    probs = softmax(3, 4)
    plan = planned(build(Bits()), probs, np.zeros(3, np.int64))
    with pytest.raises(ShortlistError, match=r"^truth: row 2 names class 4; there are 4"):
        plan.charge(np.array([0, 3, 4]))
    with pytest.raises(ShortlistError, match=r"^truth: row 0 names class -1"):
        plan.charge(np.array([-1, 3, 3]))
    with pytest.raises(ShortlistError, match=r"^truth: need 3 labels"):
        plan.charge(np.array([0, 3]))


@each_learning_design
def test_bad_calibration_labels_are_refused_by_name(build: Callable[[CostModel], Any]) -> None:
    query, probs = build(Bits()), softmax(3, 4)
    for labels, message in [
        (np.array([0, 1]), "labels: need 3 labels"),
        (np.array([0, 1, 4]), "labels: row 2 names class 4"),
        (np.array([0.0, 1.0, 2.0]), "labels: need whole numbers"),
    ]:
        with pytest.raises(ShortlistError, match=f"^{message}"):
            query.calibrate(probs, labels)
    with pytest.raises(ShortlistError, match="no labelled item to calibrate on"):
        query.calibrate(probs[:0], np.empty(0, np.int64))
