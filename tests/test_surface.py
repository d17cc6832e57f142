"""What users pass and read: lists and frames, plans cut and shown, parts by name, documented arguments and methods."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist import (
    APS,
    Arrays,
    Badge,
    CandidateSet,
    CostAware,
    Entropy,
    Linear,
    Plan,
    ShortlistError,
    Simulated,
    TopK,
    measures,
)
from shortlist.campaign.config import describe
from shortlist.plans import QueryDesign
from shortlist.queries.candidate_set import CalibratedSet
from tests.backends import Backend, each_backend, host, softmax

PROBS, LABELS = softmax(30, 4, seed=1), np.arange(30) % 4


def frames(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """A matrix and a column as lists, or as a frame and a series."""
    if name == "lists":
        return np.ndarray.tolist, np.ndarray.tolist
    library = pytest.importorskip(name)
    return library.DataFrame, library.Series


@pytest.mark.parametrize("name", ["lists", "pandas", "polars"])
def test_lists_and_frames_are_taken_wherever_an_array_is(name: str) -> None:
    frame, column = frames(name)
    usual, query = (CandidateSet().calibrate(*pair) for pair in ((PROBS, LABELS), (frame(PROBS), column(LABELS))))
    assert query == usual
    assert query.price(frame(PROBS)).tolist() == usual.price(PROBS).tolist()
    assert query.plan(frame(PROBS)).charge(column(LABELS)).tolist() == usual.plan(PROBS).charge(LABELS).tolist()
    assert TopK(2).price(frame(PROBS)).tolist() == TopK(2).price(PROBS).tolist()
    assert APS()(frame(PROBS)).tolist() == APS()(PROBS).tolist()
    assert Linear(2.0)(column(LABELS)).tolist() == Linear(2.0)(LABELS).tolist()
    for method in (Badge(), CostAware(Entropy())):
        arrays: list[dict[str, Any]] = [
            {"pool": PROBS, "embeddings": PROBS, "price": usual.price(PROBS)},
            {"pool": frame(PROBS), "embeddings": frame(PROBS), "price": column(usual.price(PROBS))},
        ]
        picks = [method.select(n=5, rng=np.random.default_rng(0), **given).tolist() for given in arrays]
        assert picks[0] == picks[1]
    data = Arrays(frame(PROBS), column(LABELS), features=frame(PROBS))
    assert (data.inputs == PROBS).all()
    assert data.labels.tolist() == LABELS.tolist() == Simulated(column(LABELS)).labels[0].tolist()


def test_rows_that_make_no_array_are_refused() -> None:
    with pytest.raises(ShortlistError, match=r"^probs: the rows do not make an array"):
        CandidateSet().plan([[0.5, 0.5], [1.0]])


@each_backend
def test_a_plan_is_cut_read_and_shown(backend: Backend) -> None:
    query = CandidateSet(alpha=0.2).calibrate(PROBS, LABELS)
    plan, truth = query.plan(backend(PROBS)), backend(LABELS)
    assert repr(plan[:0]) == "Plan(0 items, 4 classes)"
    sizes = host(plan.sizes)
    assert repr(plan) == f"Plan(30 items, 4 classes, sizes {sizes.min()} to {sizes.max()})"
    kinds = [str(array.dtype) for array in (sizes, host(plan.charge(truth)), host(plan.expected()))]
    assert kinds == ["int64", "float64", "float64"]
    assert [len(classes) for classes in plan.sets] == sizes.tolist()
    assert {host(classes).dtype for classes in plan.sets} == {np.dtype(np.int64)}
    mask = np.arange(30) % 3 == 0
    groups: list[Any] = [slice(3, 9), mask, mask.tolist(), np.array([4, 2]), [4, 2]]
    for items in groups:
        part = plan[items]
        at = np.arange(30)[items]
        assert isinstance(part, Plan)
        assert host(part.charge(truth[at])).tolist() == host(plan.charge(truth))[at].tolist()
        assert host(part.expected()).tolist() == host(plan.expected())[at].tolist()
    positions: list[Any] = [2, -1, np.int64(2)]
    for position in positions:
        assert len(plan[position]) == 1
        assert host(plan[position].order).tolist() == host(plan.order)[[position]].tolist()
    with pytest.raises(IndexError):
        plan[30]
    assert [len(classes) for classes in CandidateSet().restored(None).plan(backend(PROBS)).sets] == [4] * 30


def test_a_name_stands_for_a_score_and_for_a_cost() -> None:
    named, given = CandidateSet(score="aps", cost="linear"), CandidateSet(score=APS(), cost=Linear())
    assert named == given
    assert describe(named) == describe(given)
    assert TopK(cost="linear") == TopK(cost=Linear())
    with pytest.raises(ShortlistError, match=r"^score: 'softmax' is none of aps, lac, raps$"):
        CandidateSet(score="softmax")


# --- what is documented ----------------------------------------------------------------------------------------

CLASSES = {name: getattr(shortlist, name) for name in shortlist.__all__ if name[0].isupper()}
# Records say what their fields are where they stand.
UNNAMED = {"Answer", "Labelled", "Pool", "Predictions", "Question", "Round", "ShortlistError"}
HOMES = tuple(f"shortlist.{home}" for home in ("acquisition", "queries", "plans", "costs", "conformal", "annotators"))


@pytest.mark.parametrize("name", sorted(CLASSES.keys() - UNNAMED))
def test_every_argument_of_a_class_with_more_than_four_is_named(name: str) -> None:
    arguments = list(inspect.signature(CLASSES[name]).parameters)
    text = inspect.getdoc(CLASSES[name]) or ""
    if len(arguments) > 4:
        section = text.partition("Parameters\n")[2]
        assert [a for a in arguments if not re.search(rf"\b{a}\b.* : ", section)] == []


def methods() -> Iterator[Any]:
    for name, cls in CLASSES.items():
        if cls.__module__.startswith(HOMES):
            for key, value in inspect.getmembers(cls, inspect.isfunction):
                if not key.startswith("_"):
                    yield pytest.param(value, id=f"{name}.{key}")


@pytest.mark.parametrize("method", list(methods()))
def test_every_public_method_shows_a_run(method: Any) -> None:
    assert doctest.DocTestParser().get_examples(inspect.getdoc(method) or "")


@pytest.mark.parametrize("method", [CalibratedSet.price, CandidateSet.price, QueryDesign.price])
def test_a_price_says_its_unit(method: Any) -> None:
    assert "unit of `cost`" in (inspect.getdoc(method) or "")


def test_what_calibrate_is_given_and_what_measures_come_in_is_said() -> None:
    for calibrate in (CandidateSet.calibrate, QueryDesign.calibrate):
        page = inspect.getdoc(calibrate) or ""
        assert re.search(r"probs : \(n, L\)[^\n]*\n *labels : \(n,\)", page)
    assert "shares, from 0 to 1" in (measures.__doc__ or "")
    assert re.search(r"reach : \(n, S\) the probability, from 0 to 1", inspect.getdoc(Plan) or "")
