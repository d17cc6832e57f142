"""Probabilities that mean what they say: a temperature and a uniform share, by what labelled items have shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import array_namespace

from shortlist.conformal import of_truth
from shortlist.types import Array

ROWS = 20_000  # at most so many items are looked at, spread evenly: two numbers need no more
HALF = 0.5  # of an item that nothing in the probabilities explains is thought to have been seen before all others
COLDEST, HOTTEST, STEPS = 1 / 8, 8.0, 18  # temperatures, and how often their range is narrowed
NARROWED = (math.sqrt(5) - 1) / 2  # golden section


@dataclass(frozen=True)
class Recalibration:
    """q = (1 − share)·p^(1/temperature)/Z + share/L. The order of the classes stays."""

    temperature: float = 1.0
    share: float = 0.0

    def __call__(self, probs: Array) -> Array:
        """(n, L) q, rows sum to 1.

        >>> import numpy as np
        >>> Recalibration(temperature=0.5, share=0.1)(np.array([[0.75, 0.25]]))
        array([[0.86, 0.14]])
        """
        return (1 - self.share) * tempered(probs, self.temperature) + self.share / probs.shape[1]

    def left(self, left: Array, ends: Array, n_classes: int) -> Array:
        """The same of what is left after the first classes: (G, n) of the tempered probabilities at G ends."""
        return (1 - self.share) * left + self.share * (1 - ends / n_classes)[:, None]


def tempered(probs: Array, temperature: float) -> Array:
    """p^(1/T)/Z, in the kind of number that it came in."""
    if temperature == 1:
        return probs
    xp = array_namespace(probs)
    raised = xp.clip(probs / xp.max(probs, axis=1, keepdims=True), 0.0, None) ** (1 / temperature)
    return raised / xp.sum(raised, axis=1, keepdims=True)


def recalibrated(probs: Array, labels: Array) -> Recalibration:
    """The temperature and share under which the labels are most likely.

    A temperature is kept at 1 unless another explains the labels better than chance would: its likelihood has to be
    more than √n times as large (Schwarz). The share is never 0: nobody has seen enough to be certain.

    >>> import numpy as np
    >>> probs = np.array([[0.99, 0.01]] * 100)  # right only in 80 of 100
    >>> found = recalibrated(probs, np.arange(100) % 5 == 0)
    >>> found(probs[:1]).round(2)
    array([[0.8, 0.2]])
    """
    xp = array_namespace(probs)
    n = probs.shape[0]
    step = -(-n // ROWS)
    probs, labels = probs[::step, :], xp.astype(labels, xp.int64)[::step]
    truths = {1.0: _of_truth(probs, labels, 1.0)}

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        truths[temperature] = _of_truth(probs, labels, temperature)
        return _best_share(truths[temperature], probs.shape[1])[1]

    temperature = math.exp(_least(loss, math.log(COLDEST), math.log(HOTTEST)))
    shares = {t: _best_share(truths.get(t, _of_truth(probs, labels, t)), probs.shape[1]) for t in (1.0, temperature)}
    if shares[1.0][1] - shares[temperature][1] <= math.log(probs.shape[0]) / 2:
        temperature = 1.0
    return Recalibration(temperature, shares[temperature][0])


def _of_truth(probs: Array, labels: Array, temperature: float) -> Array:
    xp = array_namespace(probs)
    return xp.astype(of_truth(tempered(probs, temperature), labels), xp.float64)


def _best_share(truths: Array, n_classes: int) -> tuple[float, float]:
    """The uniform share that explains the labels best, and minus the log likelihood it comes to.

    The likelihood is concave in it, and where its slope is zero

        Σ (1/L − p) / ((1 − s)·p + s/L) + HALF/s = 0
    """
    xp = array_namespace(truths)
    low, high = 0.0, 1.0
    for _ in range(40):
        share = (low + high) / 2
        slope = float(xp.sum((1 / n_classes - truths) / ((1 - share) * truths + share / n_classes))) + HALF / share
        low, high = (share, high) if slope > 0 else (low, share)
    share = (low + high) / 2
    mixed = (1 - share) * truths + share / n_classes
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
