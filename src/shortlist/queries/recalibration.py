"""Probabilities that mean what they say: a temperature and a share for what they leave out, by labelled items."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.conformal import of_truth
from shortlist.probabilities import tempered
from shortlist.system.arrays import to_numpy
from shortlist.types import Array

ROWS = 20_000  # at most so many items are looked at, spread evenly: two numbers need no more
HALF = 0.5  # of an item that nothing in the probabilities explains is thought to have been seen before all others
COLDEST, HOTTEST, STEPS = 1 / 8, 8.0, 18  # temperatures, and how often their range is narrowed
NARROWED = (math.sqrt(5) - 1) / 2  # golden section


@dataclass(frozen=True)
class Recalibration:
    """q = (1 − share)·p^(1/temperature)/Z + share·prior.

    Parameters
    ----------
    temperature : above 1 makes probabilities more even, below 1 less
    share : of the prior
    prior : (L,) how often each class comes where the probabilities know nothing; None: all as often, so that the order
        of the classes stays
    """

    temperature: float = 1.0
    share: float = 0.0
    prior: tuple[float, ...] | None = None

    def __call__(self, probs: Array) -> Array:
        """(n, L) q, rows sum to 1. Classes that were added after the prior come as often as all others do on average.

        >>> import numpy as np
        >>> Recalibration(temperature=0.5, share=0.1)(np.array([[0.75, 0.25]]))
        array([[0.86, 0.14]])
        """
        xp, n_classes = array_namespace(probs), probs.shape[1]
        believed = (1 - self.share) * tempered(probs, self.temperature)
        if self.prior is None:
            return believed + self.share / n_classes
        known = np.asarray(self.prior) * (len(self.prior) / n_classes)
        prior = np.concatenate([known, np.full(n_classes - len(known), 1 / n_classes)])
        return believed + xp.asarray(self.share * prior, dtype=probs.dtype, device=device(probs))[None, :]

    def left(self, left: Array, ends: Array, n_classes: int) -> Array:
        """Without a prior the same of what is left after the first classes: (G, n) of tempered ones at G ends."""
        return (1 - self.share) * left + self.share * (1 - ends / n_classes)[:, None]


def recalibrated(probs: Array, labels: Array, *, by_class: bool = False) -> Recalibration:
    """The temperature and share under which the labels are most likely.

    A temperature is kept at 1 unless another explains the labels better than chance would: its likelihood has to be
    more than √n times as large (Schwarz). The share is never 0: nobody has seen enough to be certain.

    Parameters
    ----------
    by_class : the share goes to classes as often as they came, each seen once beforehand. For items drawn at random
        from those that are to be asked: others say too little about which classes come.

    >>> import numpy as np
    >>> probs = np.array([[0.99, 0.01]] * 100)  # right only in 80 of 100
    >>> found = recalibrated(probs, np.arange(100) % 5 == 0)
    >>> found(probs[:1]).round(2)
    array([[0.8, 0.2]])
    """
    xp = array_namespace(probs)
    n_classes = probs.shape[1]
    step = -(-probs.shape[0] // ROWS)
    probs, labels = probs[::step, :], xp.astype(labels, xp.int64)[::step]
    n = probs.shape[0]
    counts = np.bincount(to_numpy(labels), minlength=n_classes) if by_class else np.zeros(n_classes, np.int64)
    # how often an item's class came among the others
    known = xp.asarray(np.where(counts, counts / (n - 1 + n_classes), 1 / n_classes), device=device(probs))
    others = xp.take(known, labels)

    def share_at(temperature: float) -> tuple[float, float]:
        truths = xp.astype(of_truth(tempered(probs, temperature), labels), xp.float64)
        return _best_share(truths, others)

    temperature = math.exp(_least(lambda t: share_at(math.exp(t))[1], math.log(COLDEST), math.log(HOTTEST)))
    plain, heated = share_at(1.0), share_at(temperature)
    prior = tuple(((counts + 1) / (n + n_classes)).tolist()) if by_class else None
    if plain[1] - heated[1] <= math.log(n) / 2:
        return Recalibration(1.0, plain[0], prior)
    return Recalibration(temperature, heated[0], prior)


def _best_share(truths: Array, others: Array) -> tuple[float, float]:
    """The share s that explains the labels best, and minus the log likelihood it comes to.

    With p of the labels under the probabilities and b under the prior, it is concave, and its slope is zero where

        Σ (b − p) / ((1 − s)·p + s·b) + HALF/s = 0
    """
    xp = array_namespace(truths)
    low, high = 0.0, 1.0
    for _ in range(40):
        share = (low + high) / 2
        slope = float(xp.sum((others - truths) / ((1 - share) * truths + share * others))) + HALF / share
        low, high = (share, high) if slope > 0 else (low, share)
    share = (low + high) / 2
    mixed = (1 - share) * truths + share * others
    return share, -float(xp.sum(xp.log(mixed))) - HALF * math.log(share)


def _least(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is least, by golden section."""
    a, b = high - NARROWED * (high - low), low + NARROWED * (high - low)
    at_a, at_b = loss(a), loss(b)
    for _ in range(STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - NARROWED * (high - low)
            at_a = loss(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + NARROWED * (high - low)
            at_b = loss(b)
    return a if at_a <= at_b else b
