from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from shortlist import rows
from shortlist.logits import Logits, check_logits
from shortlist.types import Predictions, ShortlistError
from tests.backends import HAS_TORCH, Backend, each_backend, host, softmax


def logits(n: int = 6, n_classes: int = 5) -> Any:
    return np.log(softmax(n, n_classes)) + np.arange(n)[:, None]  # a row's level means nothing


@each_backend
def test_probabilities_are_worked_out_once_where_the_logits_are(backend: Backend) -> None:
    batch = Logits(backend(logits()))
    assert isinstance(batch, Predictions)
    assert "probs" not in vars(batch)
    assert backend.owns(batch.probs)
    assert batch.probs is batch.probs
    assert batch.probs.dtype == batch.logits.dtype
    assert batch.matrix is batch.logits
    np.testing.assert_allclose(host(batch.probs), softmax(6, 5), rtol=1e-5)


@each_backend
def test_far_apart_logits_and_classes_that_are_ruled_out(backend: Backend) -> None:
    z = np.array([[1e4, -1e4, 0.0], [-np.inf, 2.0, 2.0], [-np.inf, -1e4, -np.inf]])
    batch = Logits(backend(z))
    assert host(batch.probs).tolist() == [[1, 0, 0], [0, 0.5, 0.5], [0, 1, 0]]
    np.testing.assert_allclose(host(rows.entropy(batch)), [0, np.log(2), 0], rtol=1e-6)
    check_logits(batch)


def test_half_precision_becomes_single() -> None:
    probs = Logits(logits(3, 1000).astype(np.float16)).probs
    assert probs.dtype == np.float32
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_tensors_become_single(dtype: str) -> None:
    import torch

    z = torch.from_numpy(logits()).to(getattr(torch, dtype))
    probs = Logits(z).probs
    assert probs.dtype == torch.float32
    np.testing.assert_array_equal(host(probs), host(Logits(z.float()).probs))


@each_backend
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([np.nan, 1.0, np.inf], "z: row 7 holds NaN; every logit must be a number, or −inf to rule a class out"),
        ([0.0, np.inf, 1.0], "z: row 7 holds [+]inf; every logit must be a number, or −inf to rule a class out"),
        ([-np.inf] * 3, "z: row 7 is −inf throughout; at least one class must be possible"),
    ],
)
def test_the_first_wrong_row_is_named(backend: Backend, row: list[float], message: str) -> None:
    z = np.concatenate([logits(2, 3), [row], logits(1, 3), [row]])
    with pytest.raises(ShortlistError, match=f"^{message}"):
        check_logits(Logits(backend(z)), "z", first=5)


def test_showing_it_works_nothing_out_and_it_travels() -> None:
    batch = Logits(np.zeros((1, 2)), np.ones((1, 1)))
    assert repr(batch) == "Logits(array([[0., 0.]]), embeddings=array([[1.]]))"
    assert "probs" not in vars(batch)
    there = pickle.loads(pickle.dumps(batch))
    assert (there.probs.tolist(), there.embeddings.tolist()) == ([[0.5, 0.5]], [[1.0]])
