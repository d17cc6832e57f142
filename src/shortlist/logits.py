"""Logits: what a network gives before its softmax, taken wherever predictions are."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from shortlist.devices import kernels
from shortlist.probabilities import as_array, first_true
from shortlist.types import Array, Predictions, ShortlistError


def _probs(batch: Logits) -> Array:
    there = kernels("rows", batch.logits)
    return softmax(batch.logits) if there is None else there.softmax(batch.logits)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Logits(Predictions):
    """A batch of what a network says before the softmax; −inf rules a class out.

    Probabilities are worked out when somebody asks for them, in float32 if the logits have 16 bits. On a CUDA device
    a pass over a pool does not ask: its kernels read the logits, and nothing else of that size is made.

    >>> Logits(np.log([[1.0, 3.0]])).probs
    array([[0.25, 0.75]])
    """

    logits: Array = field(kw_only=True)  # (n, L)
    probs: Array = field(init=False, default=cached_property(_probs))

    def __init__(self, logits: Array, embeddings: Array | None = None, samples: Array | None = None) -> None:
        self.__dict__.update(logits=as_array(logits, "logits"), embeddings=embeddings, samples=samples)

    def __repr__(self) -> str:
        return f"Logits({self.logits!r}, embeddings={self.embeddings!r})"

    @property
    def matrix(self) -> Array:
        return self.logits

    @cached_property
    def fused(self) -> Any:
        """The kernels that read these logits without making probabilities; None where there are none."""
        there = kernels("rows", self.logits)
        return there if there is not None and there.reads(self.logits) else None

    @cached_property
    def summary(self) -> Any:
        """Entropy, largest and second largest probability (n,) each, by one reading: for fused logits."""
        return self.fused.summary(self.logits)


def as_probs(batch: Predictions) -> Predictions:
    """The same record with probabilities where it holds logits.

    >>> as_probs(Logits(np.log([[1.0, 3.0]]), samples=np.ones((1, 2, 2)) / 2)).samples.shape
    (1, 2, 2)
    """
    if not isinstance(batch, Logits):
        return batch
    return Predictions(**{field.name: getattr(batch, field.name) for field in fields(Predictions)})


def softmax(logits: Array) -> Array:
    """(n, L) probabilities; a row that holds NaN or +inf, or rules every class out, is NaN throughout."""
    xp = array_namespace(logits)
    z = xp.astype(logits, xp.float32) if logits.dtype.itemsize < 4 else logits
    with np.errstate(invalid="ignore"):
        e = xp.exp(z - xp.max(z, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)


def check_logits(batch: Logits, name: str = "logits", *, first: int = 0) -> None:
    """Nothing, or a sentence saying which row is wrong and how. Rows count from `first`.

    >>> check_logits(Logits(np.array([[0.5, 0.5], [0.5, np.nan]])))
    Traceback (most recent call last):
        ...
    shortlist.types.ShortlistError: logits: row 1 holds NaN; every logit must be a number, or −inf to rule a class out
    """
    xp = array_namespace(batch.logits)
    # a wrong row comes out as NaN on both paths, so one number per row tells
    wrong = xp.isnan(batch.probs[:, 0] if batch.fused is None else batch.summary.entropy)
    if not bool(xp.any(wrong)):
        return
    row = first_true(wrong)
    raise ShortlistError(f"{name}: row {first + row} {_fault(batch.logits[row, :])}")


def _fault(row: Array) -> str:
    xp = array_namespace(row)
    allowed = "every logit must be a number, or −inf to rule a class out"
    if bool(xp.any(xp.isnan(row))):
        return f"holds NaN; {allowed}"
    if bool(xp.any(row == xp.inf)):
        return f"holds +inf; {allowed}"
    return "is −inf throughout; at least one class must be possible"
