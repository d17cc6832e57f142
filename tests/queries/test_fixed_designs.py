"""The designs that learn nothing: conventional, top-k, one-bit, oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.queries.conventional import Conventional
from shortlist.queries.one_bit import OneBit
from shortlist.queries.oracle import Oracle
from shortlist.queries.top_k import TopK
from shortlist.types import ShortlistError
from tests.backends import Backend, draw, each_backend, host, softmax

PROBS = np.array([[0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5]])


@each_backend
def test_conventional_shows_everything(backend: Backend) -> None:
    plan = Conventional().plan(backend(PROBS))
    assert host(plan.sizes).tolist() == [4, 4]
    assert host(plan.charge(backend(np.array([3, 3])))).tolist() == [2, 2]


@each_backend
def test_top_k_reaches_the_rest_as_often_as_the_model_says(backend: Backend) -> None:
    plan = TopK(2).plan(backend(PROBS))
    assert host(plan.sizes).tolist() == [2, 2]
    assert host(plan.classes).tolist() == [0, 1, 3, 2]
    assert host(plan.reach).tolist() == [[0.25], [0.25]]
    np.testing.assert_allclose(host(TopK(2).price(backend(PROBS))), math.log2(3) + 0.25)


def test_top_k_of_more_classes_than_there_are_is_conventional() -> None:
    plan = TopK(9).plan(PROBS)
    assert plan.sizes.tolist() == [4, 4]
    assert plan.charge(np.array([0, 0])).tolist() == [2, 2]


def test_top_k_needs_one_class_at_least() -> None:
    with pytest.raises(ShortlistError, match=r"^top_k: k must be a whole number of at least 1, got 0"):
        TopK(0)


@each_backend
def test_one_bit_asks_once_whatever_the_answer(backend: Backend) -> None:
    plan = OneBit().plan(backend(PROBS))
    assert not plan.exhaustive
    assert host(plan.classes).tolist() == [0, 3]
    for truth in range(4):
        assert host(plan.charge(backend(np.array([truth, truth])))).tolist() == [1, 1]
    assert host(plan.holds(backend(np.array([0, 0])))).tolist() == [True, False]


@each_backend
def test_the_oracle_stops_at_the_truth(backend: Backend) -> None:
    truth = backend(np.array([2, 1]))
    plan = Oracle().plan(backend(PROBS), truth)
    assert host(plan.sizes).tolist() == [3, 4]  # ties by class index: 2 before 3, 0 before 1
    assert host(plan.holds(truth)).all()
    assert host(plan.charge(truth)).tolist() == [2, 2]


def test_nothing_is_cheaper_than_the_oracle() -> None:
    probs = softmax(300, 12)
    truth = draw(probs)
    best = Oracle().plan(probs, truth).charge(truth)
    for k in range(1, 13):
        charge = TopK(k).plan(probs).charge(truth)
        hit = TopK(k).plan(probs).holds(truth)
        assert (best[hit] <= charge[hit]).all()
    assert best.mean() < Conventional().plan(probs).charge(truth).mean()


def test_the_oracle_needs_truths_that_are_classes() -> None:
    with pytest.raises(ShortlistError, match=r"^truth: row 1 names class 4"):
        Oracle().plan(PROBS, np.array([0, 4]))


def test_what_an_oracle_expects_is_what_it_is_charged() -> None:
    """Its list holds the truth: nothing is asked after it."""
    truth = np.array([2, 0])
    for oracle in (Oracle(), Oracle(none_option=False)):
        plan = oracle.plan(PROBS, truth)
        assert plan.expected().tolist() == plan.charge(truth).tolist()
