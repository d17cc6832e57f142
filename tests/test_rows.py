"""Row statistics against a row at a time, from probabilities and from the logits they came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shortlist.logits import Logits
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.one_bit import OneBit
from shortlist.rows import (
    as_batch,
    check_batch,
    check_rows,
    count_at_least,
    entropy,
    largest,
    of_batches,
    second_largest,
    takes_batches,
)
from shortlist.types import Predictions, ShortlistError
from tests.backends import Backend, awkward, each_backend, host

BY_HAND: dict[Callable[[Predictions], Any], Callable[[list[float]], float]] = {
    entropy: lambda row: -math.fsum(p * math.log(p) for p in row if p > 0),
    largest: max,
    second_largest: lambda row: sorted([*row, 0.0])[-2],
}


@each_backend
@pytest.mark.parametrize("n_classes", [1, 2, 9, 300])
def test_statistics_are_the_formulas_ties_and_zeros_included(backend: Backend, n_classes: int) -> None:
    probs = awkward(n_classes, backend.dtype)
    with np.errstate(divide="ignore"):
        batches = Predictions(backend(probs)), Logits(backend(np.log(probs)))
    for batch in batches:
        for statistic, by_hand in BY_HAND.items():
            found = statistic(batch)
            assert backend.owns(found)
            np.testing.assert_allclose(host(found), [by_hand(row) for row in probs.tolist()], rtol=1e-5, atol=1e-6)
        counts = count_at_least(batch, 0.31)
        assert backend.owns(counts)
        assert host(counts).dtype == np.int64
        assert host(counts).tolist() == [sum(p >= 0.31 for p in row) for row in host(batch.probs).tolist()]


@each_backend
def test_batches_are_checked_by_what_they_are(backend: Backend) -> None:
    assert check_batch(Logits(backend(np.zeros((3, 2))))) == (3, 2)
    check_rows(Logits(backend(np.full((3, 2), 7.0))))
    with pytest.raises(ShortlistError, match=r"^probs: row 4 sums to 14"):
        check_rows(Predictions(backend(np.full((3, 2), 7.0))), first=4)
    for wrong, message in [
        (Logits(backend(np.zeros(3))), r"^logits: need a matrix \(items, classes\), got \(3,\)"),
        (Logits(backend(np.zeros((3, 2), np.int64))), r"^logits: need floating point numbers, got .*int64"),
        (Logits("1 2"), r"^logits: need a matrix \(items, classes\), got str"),
        (Predictions(backend(np.zeros(3))), r"^probs: need a matrix"),
    ]:
        with pytest.raises(ShortlistError, match=message):
            check_batch(wrong)


@each_backend
@pytest.mark.parametrize("query", [CandidateSet(), CalibratedSet(CandidateSet(), 0.1, 0.31), Conventional(), OneBit()])
def test_prices_of_a_batch_are_those_of_its_probabilities(query: Any, backend: Backend) -> None:
    with np.errstate(divide="ignore"):
        batch = Logits(backend(np.log(awkward(9, backend.dtype))))
    assert takes_batches(query.price)
    price = query.price(batch)
    assert backend.owns(price)
    assert ("probs" in vars(batch)) == bool(query.state and batch.fused is None)  # nobody asked without need
    assert host(price).tolist() == host(query.price(batch.probs)).tolist()


def test_only_what_is_marked_takes_batches() -> None:
    assert not takes_batches(lambda probs: probs[:, 0])
    assert takes_batches(of_batches(lambda batch: batch.probs[:, 0]))


def test_an_array_becomes_a_batch_and_a_batch_stays_one() -> None:
    probs = np.ones((2, 1))
    assert as_batch(probs).probs is probs
    batch = Logits(probs)
    assert as_batch(batch) is batch
