"""What one pass takes from the rows of a batch: entropy, the two largest, how many classes reach a threshold.

Each is written once for arrays. Logits on a CUDA device go to kernels that give the same without making
probabilities, and so does a price that says it takes batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.logits import Logits, check_logits
from shortlist.probabilities import check_matrix, check_probs, count_true
from shortlist.types import Array, Predictions

Function = TypeVar("Function", bound=Callable[..., Any])


def check_batch(batch: Predictions) -> tuple[int, int]:
    """(n, L), once the batch looks right from far away."""
    n, n_classes = check_matrix(batch.matrix, "logits" if isinstance(batch, Logits) else "probs").shape
    return n, n_classes


def check_rows(batch: Predictions, *, first: int = 0) -> None:
    """Nothing, or a sentence saying which row is wrong and how. Rows count from `first`."""
    if isinstance(batch, Logits):
        check_logits(batch, first=first)
    else:
        check_probs(batch.probs, first=first)


def entropy(batch: Predictions) -> Array:
    """(n,) H(p) in nats.

    >>> entropy(Predictions(np.array([[1.0, 0.0], [0.5, 0.5]]))).round(3)
    array([0.   , 0.693])
    """
    if isinstance(batch, Logits) and batch.fused is not None:
        return batch.summary.entropy
    p = batch.probs
    xp = array_namespace(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        h = -xp.vecdot(p, xp.log(p))
    if bool(xp.any(xp.isnan(h))):  # 0·log 0 = 0: any positive number inside the logarithm gives just that
        h = -xp.vecdot(p, xp.log(xp.clip(p, xp.finfo(p.dtype).smallest_normal, None)))
    return xp.where(h <= 0, xp.zeros_like(h), h)  # a certain row may come out at −1e-8


def largest(batch: Predictions) -> Array:
    """(n,) the largest probability.

    >>> largest(Predictions(np.array([[0.7, 0.2, 0.1]])))
    array([0.7])
    """
    if isinstance(batch, Logits) and batch.fused is not None:
        return batch.summary.largest
    return array_namespace(batch.probs).max(batch.probs, axis=1)


def second_largest(batch: Predictions) -> Array:
    """(n,) the second largest probability, the largest once more where two classes share it; 0 of one class.

    >>> second_largest(Predictions(np.array([[0.7, 0.2, 0.1], [0.4, 0.2, 0.4]])))
    array([0.2, 0.4])
    """
    if isinstance(batch, Logits) and batch.fused is not None:
        return batch.summary.second_largest
    xp = array_namespace(batch.probs)
    others = xp.asarray(batch.probs, copy=True)
    others[xp.arange(others.shape[0], device=device(others)), xp.argmax(others, axis=1)] = 0.0
    return xp.max(others, axis=1)


def count_at_least(batch: Predictions, threshold: float) -> Array:
    """(n,) how many classes have a probability of at least the threshold.

    >>> count_at_least(Predictions(np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]])), 0.2)
    array([2, 3])
    """
    if isinstance(batch, Logits) and batch.fused is not None:
        return batch.fused.count_at_least(batch.logits, threshold)
    return count_true(batch.probs >= threshold)


# --- prices that take batches ----------------------------------------------------------------------------------


def of_batches(price: Function) -> Function:
    """Marks a price that takes Predictions as well as an array, so that Logits need not become probabilities.

    Whoever prices a stream asks `takes_batches` and hands any other function the array.
    """
    vars(price)["of_batches"] = True
    return price


def takes_batches(price: Callable[..., Any]) -> bool:
    return getattr(price, "of_batches", False)


def as_batch(probs: Array | Predictions) -> Predictions:
    """An array as a batch, checked; a batch as it is: whoever reads a stream has looked at its rows."""
    return probs if isinstance(probs, Predictions) else Predictions(check_probs(probs))
