"""One pass: blocks of a NumPy batch side by side, in order, the same bits however many cores there are."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition import scan as module
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.scan import scan
from shortlist.logits import Logits
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.types import Pool, Predictions, ShortlistError
from tests.backends import Backend, each_backend, host, softmax


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows of six classes to a block, eight threads."""
    monkeypatch.setattr(module, "BLOCK", 60)
    monkeypatch.setattr(module, "TENSOR_BLOCK", 60)
    monkeypatch.setattr(module, "_cores", lambda: 8)


def threads_of(pool: Pool) -> list[str]:
    names: list[str] = []

    def take(batch: Predictions) -> Any:
        names.append(threading.current_thread().name)
        return batch.probs[:, 0]

    scan(pool, take)
    return names


@pytest.mark.usefixtures("small_blocks")
@each_backend
@pytest.mark.parametrize("kind", [Predictions, Logits])
def test_the_same_bits_however_many_cores(kind: Any, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    few_ulp = (
        0 if backend.device == "cpu" else 1e-6
    )  # a GPU adds up in an order that depends on how many rows there are
    price = CalibratedSet(CandidateSet(), 0.1, 0.2).price
    probs = softmax(333, 6)
    batch = kind(backend(probs if kind is Predictions else np.log(probs)))
    many = scan(Pool([batch, batch]), Entropy().gains, None, price)
    monkeypatch.setattr(module, "_cores", lambda: 1)
    one = scan(Pool([batch, batch]), Entropy().gains, None, price)
    monkeypatch.setattr(module, "BLOCK", 1 << 20)
    monkeypatch.setattr(module, "TENSOR_BLOCK", 1 << 24)
    whole = scan(Pool([batch, batch]), Entropy().gains, None, price)
    for found in (many, one):
        assert found[1] is None
        np.testing.assert_allclose(host(found[0]), host(whole[0]), rtol=few_ulp)
        assert host(found[2]).tolist() == host(whole[2]).tolist()


@pytest.mark.usefixtures("small_blocks")
def test_a_slow_block_keeps_its_place() -> None:
    def take(batch: Predictions) -> Any:
        time.sleep(0.02 if batch.probs[0, 0] == first else 0)
        return batch.probs[:, 0]

    probs = softmax(95, 6)
    first = probs[0, 0]
    (found,) = scan(Pool(probs), take)
    assert host(found).tolist() == probs[:, 0].tolist()


@pytest.mark.usefixtures("small_blocks")
@each_backend
@pytest.mark.parametrize("kind", [Predictions, Logits])
def test_the_first_wrong_row_is_the_one_that_is_named(kind: Any, backend: Backend) -> None:
    rows = softmax(95, 6)
    rows[[37, 61, 90], 2] = np.nan
    stream = [kind(backend(rows[:20])), kind(backend(rows[20:]))]
    for _ in range(5):
        with pytest.raises(ShortlistError, match=r"^(probs|logits): row 37 holds NaN"):
            scan(Pool(stream), lambda batch: batch.probs[:, 0])


@pytest.mark.usefixtures("small_blocks")
def test_threads_only_for_several_blocks_of_numpy() -> None:
    here = threading.current_thread().name
    assert here not in threads_of(Pool(softmax(95, 6)))
    assert threads_of(Pool(softmax(10, 6))) == [here]


@pytest.mark.usefixtures("small_blocks")
@each_backend
def test_tensors_are_looked_at_where_the_caller_is(backend: Backend) -> None:
    if backend.name == "torch":
        assert set(threads_of(Pool(backend(softmax(95, 6))))) == {threading.current_thread().name}


@pytest.mark.usefixtures("small_blocks")
def test_floating_point_settings_hold_in_every_thread() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        scan(Pool(softmax(95, 6)), lambda batch: batch.probs[:, 0] / 0)


@pytest.mark.usefixtures("small_blocks")
def test_embeddings_are_cut_with_their_rows_and_those_of_the_record_come_first() -> None:
    z, own, given = np.zeros((25, 6)), np.arange(25.0)[:, None], np.arange(25.0)[:, None] + 100

    def take(batch: Predictions) -> Any:
        assert batch.embeddings is not None
        return batch.embeddings[:, 0]

    for kind in (Predictions, Logits):
        batch = kind(z + 1 / 6, own)
        assert host(scan(Pool(batch), take)[0]).tolist() == own[:, 0].tolist()
        assert host(scan(Pool(batch, given), take)[0]).tolist() == given[:, 0].tolist()


def test_as_many_threads_as_cores_up_to_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= module._cores() <= module.THREADS
    monkeypatch.setattr(module, "THREADS", 1)
    assert module._cores() == 1


@pytest.mark.parametrize(
    ("rows", "n_classes", "sizes"),
    [
        (7, 3, [3, 3, 1]),
        (6, 3, [3, 3]),
        (9, 3, [3, 3, 3]),
        (2, 20, [1, 1]),
        (3, 1, [3]),
        (10, 1, [5, 5]),
        (4, 3, [2, 2]),
    ],
)
def test_blocks_are_of_one_size_and_fit(
    rows: int, n_classes: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of nine numbers at most, or of one row; the last one has what is left."""
    monkeypatch.setattr("shortlist.acquisition.scan.BLOCK", 9)
    seen = []

    def take(batch: Predictions) -> Any:
        seen.append(batch.probs.shape[0])
        return batch.probs[:, 0]

    (found,) = scan(Pool(np.full((rows, n_classes), 1 / n_classes)), take)
    assert found is not None
    assert len(found) == rows
    assert sorted(seen, reverse=True) == sizes
