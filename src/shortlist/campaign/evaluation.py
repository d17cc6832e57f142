"""How good a model is: accuracy with its interval, and macro-F1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.types import Ints


@dataclass(frozen=True)
class Score:
    accuracy: float  # %
    interval: tuple[float, float]  # %, Wilson, 95%
    macro_f1: float  # %


def score(predicted: Ints, truth: Ints) -> Score:
    """Compare predicted classes with the truth.

    >>> score(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1])).accuracy
    75.0
    """
    correct, n = int((predicted == truth).sum()), len(truth)
    low, high = wilson(correct, n)
    return Score(100 * correct / n, (100 * low, 100 * high), 100 * macro_f1(predicted, truth))


def wilson(correct: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of a share.

    >>> tuple(round(x, 3) for x in wilson(9, 10))
    (0.596, 0.982)
    """
    p, spread = correct / n, z * z / n
    centre = (p + spread / 2) / (1 + spread)
    half = z * math.sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def macro_f1(predicted: Ints, truth: Ints) -> float:
    """F1 averaged over the classes that occur in either."""
    n = int(max(predicted.max(), truth.max())) + 1
    said, is_, both = (np.bincount(a, minlength=n) for a in (predicted, truth, truth[predicted == truth]))
    occurs = said + is_ > 0
    return float((2 * both[occurs] / (said + is_)[occurs]).mean())
