"""Conformal prediction: scores, quantiles, thresholds, and the threshold that makes labels cheapest.

Everything lives on the scale of *conformity*, where more is better and a set is {y : conformity ≥ t}. For LAC
conformity is the probability itself, so t = 1 − Q(α) without ever subtracting: in float32, 1 − (1 − p) would
drop items out of their own sets. Conformity is never negative, so t = 0 always is the conventional query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias

from array_api_compat import array_namespace, device

from shortlist.costs import ByName
from shortlist.plans import stage_cost
from shortlist.probabilities import as_array, count_true, ranking
from shortlist.types import Array, CostModel, ShortlistError, check_numbers

Quantile: TypeAlias = Literal["plain", "corrected", "authors"]
GRID = tuple(i / 50 for i in range(50))  # α = 0, 0.02, …, 0.98, the paper's grid
EPSILON = 1e-9  # n·(1 − α) is a whole number more often than floating point admits
TIE = 1e-11  # of a sum: costs closer than this differ by the order of their additions only


class Score(Protocol):
    def __call__(self, probs: Array) -> Array:
        """(n, L) conformity, at least 0, more is better."""


@dataclass(frozen=True)
class LAC:
    """The probability of the class: the paper's score, and the smallest sets on average.

    >>> LAC()([[0.5, 0.3, 0.2]])
    array([[0.5, 0.3, 0.2]])
    """

    def __call__(self, probs: Array) -> Array:
        return as_array(probs, "probs")


@dataclass(frozen=True)
class RAPS:
    """Regularised adaptive sets: s(y) = mass of all classes at least as probable, + penalty·(rank − free)⁺.

    Returned as the conformity 1 / (1 + s), which turns around s and keeps t = 0 for the conventional query.

    >>> RAPS(penalty=0.5, free=1)([[0.5, 0.3, 0.2]]).round(3)
    array([[0.667, 0.435, 0.333]])
    """

    penalty: float = 0.01
    free: int = 5

    def __post_init__(self) -> None:
        check_numbers("score raps", penalty=self.penalty, free=self.free)
        if self.penalty < 0 or self.free < 0:
            raise ShortlistError(f"score raps: penalty and free must be at least 0, got {self.penalty} and {self.free}")

    def __call__(self, probs: Array) -> Array:
        probs = as_array(probs, "probs")
        xp = array_namespace(probs)
        order = ranking(probs)
        mass = xp.cumulative_sum(xp.take_along_axis(probs, order, axis=1), axis=1)
        over = xp.arange(1, probs.shape[1] + 1, dtype=probs.dtype, device=device(probs)) - self.free
        ranked = 1 / (1 + mass + self.penalty * xp.clip(over, 0, None))
        return xp.take_along_axis(ranked, xp.argsort(order, axis=1), axis=1)


@dataclass(frozen=True)
class APS:
    """Adaptive sets: s(y) = mass of all classes at least as probable. RAPS without the penalty.

    >>> APS()([[0.5, 0.3, 0.2]]).round(3)
    array([[0.667, 0.556, 0.5  ]])
    """

    def __call__(self, probs: Array) -> Array:
        return RAPS(penalty=0, free=0)(probs)


SCORE = ByName[Score]("score", LAC, RAPS, APS)


def of_truth(conformity: Array, labels: Array) -> Array:
    """(n,) the conformity of each item's own label."""
    xp = array_namespace(conformity)
    labels = xp.asarray(labels, dtype=xp.int64, device=device(conformity))
    return xp.take_along_axis(conformity, labels[:, None], axis=1)[:, 0]


def threshold_at(truths: Array, alpha: float, quantile: Quantile = "plain") -> float:
    """The threshold at error rate α, from the conformity of the calibration labels (eq. 3).

    `plain` is the empirical quantile of eq. 3; `corrected` counts the item to come, j = ⌈(n + 1)(1 − α)⌉;
    `authors` is np.quantile(1 − p, 1 − α, method="higher"), as in the authors' code.

    >>> import numpy as np
    >>> p = np.array([0.9, 0.1, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.95])
    >>> threshold_at(p, 0.1), threshold_at(p, 0.1, "corrected"), threshold_at(p, 0)
    (0.2, 0.1, 0.0)
    """
    truths = as_array(truths, "truths")
    xp = array_namespace(truths)
    n = truths.shape[0]
    if not 0 <= alpha < 1:
        raise ShortlistError(f"alpha: need an error rate from 0 up to, not including, 1; got {alpha}")
    if n == 0:
        raise ShortlistError("calibration: no labelled item to calibrate on")
    place = _place(n, alpha, quantile)
    return 0.0 if place is None else max(0.0, float(xp.sort(truths, descending=True)[place]))


def _place(n: int, alpha: float, quantile: Quantile) -> int | None:
    """Where the threshold stands in the descending order, from 0; None for the conventional query."""
    if quantile == "authors":
        return math.ceil((n - 1) * (1 - alpha))
    if alpha == 0:
        return None
    if quantile == "plain":
        return max(1, math.ceil(n * (1 - alpha) - EPSILON)) - 1
    j = max(1, math.ceil((n + 1) * (1 - alpha) - EPSILON))
    return None if j > n else j - 1


def members(conformity: Array, threshold: float) -> Array:
    """(n, L) the sets (eq. 4)."""
    return conformity >= threshold


def price_table(n_classes: int, alpha: float, cost: CostModel, like: Array) -> Array:
    """(L + 1,) the expected cost of a list of k classes, k = 0 … L, when it misses with probability α (eq. 6).

    An empty list is asked conventionally and costs as much as one of all L. The table is kept, not to be written to.
    """
    return _price_table(n_classes, alpha, cost, array_namespace(like), device(like))


@lru_cache(maxsize=16)  # a stream asks for the same table with every block
def _price_table(n_classes: int, alpha: float, cost: CostModel, xp: Any, place: Any) -> Array:
    hit, miss = costs_by_size(n_classes, cost, xp.empty(0, device=place))
    return hit + alpha * miss


def costs_by_size(n_classes: int, cost: CostModel, like: Array) -> tuple[Array, Array]:
    """(L + 1,) what a list of k classes costs, and what its miss adds; 0 stands for an empty list, asked as L."""
    xp = array_namespace(like)
    k = xp.arange(n_classes + 1, dtype=xp.int64, device=device(like))
    shown = xp.where(k == 0, xp.full_like(k, n_classes), k)
    left = xp.full_like(k, n_classes)
    return stage_cost(shown, left, cost), stage_cost(left - shown, left - shown, cost)


def cost_curve(conformity: Array, labels: Array, thresholds: Array, cost: CostModel) -> Array:
    """(T,) the summed cost of the calibration set at each threshold, thresholds rising. One sort, one sweep.

    As the threshold falls, classes enter an item's list in the order of their conformity. The r-th one changes
    the item's cost by a step that depends on r alone, and on whether the truth has entered; so the whole curve
    is one histogram of steps over thresholds, summed from the top.
    """
    xp = array_namespace(conformity)
    n, n_classes = conformity.shape
    hit, miss = costs_by_size(n_classes, cost, conformity)
    truths = of_truth(conformity, labels)
    ranked = xp.sort(conformity, axis=1, descending=True)
    # a class is in the list for the first `enters` thresholds
    enters = xp.searchsorted(thresholds, xp.reshape(ranked, (-1,)), side="right")
    above = count_true(conformity > truths[:, None])  # classes that enter before the truth
    rank = xp.arange(1, n_classes + 1, device=device(conformity))
    before_truth = rank[None, :] <= above[:, None]
    step = xp.diff(hit)[None, :] + xp.where(before_truth, xp.diff(miss)[None, :], xp.zeros_like(miss[1:])[None, :])
    bins = thresholds.shape[0] + 1
    steps = xp.bincount(enters, weights=xp.reshape(step, (-1,)), minlength=bins)
    # the truth's own entry takes away what its absence had added
    steps = steps - xp.bincount(
        xp.searchsorted(thresholds, truths, side="right"), weights=xp.take(miss, above), minlength=bins
    )
    curve = n * hit[0] + xp.flip(xp.cumulative_sum(xp.flip(steps[1:])))
    return xp.where(thresholds > 0, curve, n * hit[0])  # t = 0 is the conventional query


def best_threshold(conformity: Array, labels: Array, cost: CostModel) -> float:
    """The cheapest of all thresholds on the calibration set: t = 0, and every distinct conformity of a label."""
    xp = array_namespace(conformity)
    truths = of_truth(conformity, labels)
    zero = xp.zeros(1, dtype=truths.dtype, device=device(truths))
    candidates = xp.unique_values(xp.clip(xp.concat([zero, truths]), 0.0, None))
    return _cheapest(conformity, labels, xp.sort(candidates), cost)


def best_on_grid(conformity: Array, labels: Array, cost: CostModel, quantile: Quantile = "plain") -> float:
    """The cheapest of the thresholds at α = 0, 0.02, …, 0.98: the paper's own search."""
    xp = array_namespace(conformity)
    truths = of_truth(conformity, labels)
    chosen = sorted({threshold_at(truths, alpha, quantile) for alpha in GRID})
    return _cheapest(conformity, labels, xp.asarray(chosen, dtype=conformity.dtype, device=device(conformity)), cost)


def _cheapest(conformity: Array, labels: Array, thresholds: Array, cost: CostModel) -> float:
    """Equal costs go to the larger set, that is the lower threshold."""
    xp = array_namespace(conformity)
    curve = cost_curve(conformity, labels, thresholds, cost)
    cheapest = curve <= xp.min(curve) * (1 + TIE)
    return float(thresholds[int(xp.argmax(xp.astype(cheapest, xp.int64)))])


def miss_share(truths: Array, threshold: float) -> float:
    """The share of items whose label is not in their list: α* of a calibration set."""
    xp = array_namespace(truths)
    return float(xp.count_nonzero(truths < threshold)) / int(truths.shape[0])
