"""Every query design, found by walking the package, meets the same list of checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, is_dataclass
from typing import Any

import numpy as np
import pytest

import shortlist.queries
from shortlist.checks import Check, yield_checks
from shortlist.conformal import APS, RAPS
from shortlist.costs import Bits, Linear, Seconds
from shortlist.plans import Plan
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.nested import Nested
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
    Nested: {
        "three": lambda cost: Nested(cost=cost),
        "one": lambda cost: Nested(1, cost=cost),
        "unguarded": lambda cost: Nested(2, n_cal=20, guard=False, cost=cost),
    },
    OneBit: {"plain": lambda cost: OneBit(cost=cost)},
    Oracle: {
        "eq1": lambda cost: Oracle(cost=cost),
        "authors": lambda cost: Oracle(cost=cost, none_option=False),
    },
}
# what designs inherit from, what calibration makes of one, and what it is made with
NOT_DESIGNS = {"Uncalibrated", "UntilCalibrated", "CalibratedSet", "CalibratedNested", "Recalibration"}

CASES = [pytest.param(build, id=f"{cls.__name__}-{name}") for cls, by in BUILDERS.items() for name, build in by.items()]
each_design = pytest.mark.parametrize("build", CASES)
LEARNING = [pytest.param(build, id=f"CandidateSet-{name}") for name, build in BUILDERS[CandidateSet].items()]
PAPERS = [case for case in CASES if not str(case.id).startswith("Nested")]  # whose lists tests/queries enumerates
each_design_of_the_paper = pytest.mark.parametrize("build", PAPERS)
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
    assert learn == {CandidateSet, Nested}


def test_every_design_has_a_builder() -> None:
    found = {cls for cls in classes_of(shortlist.queries) if cls.__name__ not in NOT_DESIGNS}
    assert found == set(BUILDERS), "give every query design a builder in this file"


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{cls.__name__}-{case}-{name}")
        for cls, by in BUILDERS.items()
        for case, build in by.items()
        for name, check in yield_checks(build(Bits()))
    ],
)
def test_meets_the_checks_that_are_shipped(name: str, check: Check) -> None:
    check()


@each_design
def test_is_frozen_and_equal_to_its_twin(build: Callable[[CostModel], Any]) -> None:
    query = build(Bits())
    assert is_dataclass(type(query))
    assert query == build(Bits())
    assert hash(query) == hash(build(Bits()))
    with pytest.raises(FrozenInstanceError):
        query.cost = Linear()


@each_learning_design
@each_backend
def test_what_is_found_are_plain_numbers_and_what_is_asked_for_stays(
    build: Callable[[CostModel], Any], backend: Backend
) -> None:
    """An alpha that was searched for is searched for again; one that was given stays."""
    one, two = softmax(80, 6, seed=1), softmax(80, 6, seed=2, sharp=0.5)
    query = build(Bits())
    first = query.calibrate(backend(one), backend(draw(one)))
    again = first.calibrate(two, draw(two))
    assert again == query.calibrate(two, draw(two))
    assert isinstance(first.threshold, float)
    assert isinstance(first.alpha, float)
    if query.alpha is not None:
        assert first.alpha == again.alpha == query.alpha


@each_design_of_the_paper
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
@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (np.array([[0.5, 0.5], [np.nan, 1.0]]), "row 1 holds NaN"),
        (np.array([[0.5, 0.5], [2.0, 1.0]]), "row 1 sums to 3, not 1"),
        (np.array([[1.5, -0.5]]), "row 0 holds a negative number"),
        (np.array([0.5, 0.5]), r"need a matrix \(items, classes\), got \(2,\)"),
        (np.array([[1, 0]]), "need floating point"),
        ("1", r"need a matrix \(items, classes\), got str"),
    ],
)
def test_bad_probabilities_are_refused_by_name(build: Callable[[CostModel], Any], probs: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^probs: {message}"):
        planned(build(Bits()), probs, np.zeros(len(probs), np.int64))


@each_design
def test_bad_truths_are_refused_by_name(build: Callable[[CostModel], Any]) -> None:
    probs = softmax(3, 4)
    plan = planned(build(Bits()).restored(None), probs, np.zeros(3, np.int64))
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
