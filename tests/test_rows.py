"""Row statistics against a row at a time, from probabilities and from the logits they came from."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.scan import scan
from shortlist.logits import Logits, softmax
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
from shortlist.types import Pool, Predictions, ShortlistError
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


# --- where there are kernels -----------------------------------------------------------------------------------


class Kernels:
    """What stands in for the kernels of a GPU, which tests/cuda holds equal to the plain version."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def reads(self, logits: Any) -> bool:
        return bool(logits.dtype != np.float16)

    def softmax(self, logits: Any) -> Any:
        self.asked.append("softmax")
        return softmax(logits)

    def summary(self, logits: Any) -> Any:
        self.asked.append("summary")
        batch = Predictions(softmax(logits))
        wrong = np.isnan(batch.probs[:, 0])
        h = np.where(wrong, np.nan, entropy(batch))
        return SimpleNamespace(entropy=h, largest=largest(batch), second_largest=second_largest(batch))

    def count_at_least(self, logits: Any, threshold: float) -> Any:
        self.asked.append("count")
        return count_at_least(Predictions(softmax(logits)), threshold)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    made = Kernels()
    monkeypatch.setattr("shortlist.logits.kernels", lambda name, array: made if name == "rows" else None)
    return made


def test_kernels_are_asked_where_there_are_some_and_read_once(there: Kernels) -> None:
    probs = awkward(9, "float64")
    with np.errstate(divide="ignore"):
        batch = Logits(np.log(probs))
    for statistic in (entropy, largest, second_largest):
        np.testing.assert_allclose(statistic(batch), statistic(Predictions(batch.probs)))
    assert there.asked.count("summary") == 1  # one reading for all three
    assert there.asked.count("softmax") == 1
    np.testing.assert_array_equal(count_at_least(batch, 0.31), count_at_least(Predictions(batch.probs), 0.31))
    assert there.asked.count("count") == 1
    check_rows(batch)


def test_what_kernels_do_not_read_goes_the_plain_way(there: Kernels) -> None:
    batch = Logits(np.zeros((3, 4), np.float16))
    assert batch.fused is None
    assert entropy(batch).shape == (3,)
    assert there.asked == ["softmax"]


def test_kernels_find_the_row_that_is_wrong(there: Kernels) -> None:
    wrong = np.zeros((4, 3))
    wrong[2, 1] = np.nan
    with pytest.raises(ShortlistError, match=r"^logits: row 12 holds NaN"):
        check_rows(Logits(wrong), first=10)
    assert there.asked == ["summary"]  # without probabilities


def test_a_scan_leaves_a_batch_that_kernels_read_whole(there: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.acquisition.scan.BLOCK", 6)
    seen: list[int] = []

    def take(batch: Predictions) -> Any:
        seen.append(batch.matrix.shape[0])
        return largest(batch)

    for batch, blocks in ((Logits(np.zeros((5, 3))), [5]), (Logits(np.zeros((5, 3), np.float16)), [2, 2, 1])):
        seen.clear()
        (found,) = scan(Pool(batch), take)
        assert (sorted(seen, reverse=True), len(found)) == (blocks, 5)  # type: ignore[arg-type]
