"""Where lists end so that an answer is cheapest on average: a dynamic programme over classes, most probable first.

Before stage s, g classes have been ruled out; the answer is among the others with probability left(g). Showing the
next ones up to h costs c(h − g + 1) if that stage is asked at all, so with V₀(g) = left(g)·c(L − g) for the stage that
shows all the rest

    Vₛ(g) = min( V₀(g), min over h > g of left(g)·c(h − g + 1) + Vₛ₋₁(h) )

is the expected cost from there on, not divided by left(g), and V_S(0) that of the whole question with at most S lists.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.plans import stage_cost
from shortlist.types import Array, CostModel

EVERY = 12  # a list may end after any of so many classes; from there on after one in RATIO more
RATIO = 1.2
ROWS = 1 << 12  # of NumPy's, looked at together: what the programme holds of them stays in the cache
EVEN = 1e-12  # of a cost: a list has to save more than the rounding of the sums


@lru_cache(maxsize=16)
def grid(n_classes: int) -> tuple[int, ...]:
    """After how many classes a list may end, 0 first.

    All but the first few on a geometric grid: an expected cost is flat around its least, and what that loses is under
    0.1% (measured in tests/queries/test_nested.py).

    >>> grid(6), len(grid(100)), len(grid(1000))
    ((0, 1, 2, 3, 4, 5), 24, 37)
    """
    ends = list(range(min(EVERY, n_classes - 1) + 1))
    while (following := max(ends[-1] + 1, round(ends[-1] * RATIO))) < n_classes:
        ends.append(following)
    return tuple(ends)


def left_at(rising: Array) -> Array:
    """(G, n) float64: the probability left after the most probable classes up to each end of the grid, 1 after none.

    Parameters
    ----------
    rising : (n, L) each row sorted, largest last; rows are divided by their sum.
    """
    xp = array_namespace(rising)
    n_classes = rising.shape[1]
    steps = pairwise((*grid(n_classes), n_classes))
    parts = [_sums(rising[:, n_classes - after : n_classes - before]) for before, after in steps]
    masses = xp.clip(xp.astype(xp.stack(parts), xp.float64), 0.0, None)
    left = xp.flip(xp.cumulative_sum(xp.flip(masses, axis=0), axis=0), axis=0)  # the small ones first
    return left / left[:1, :]


def _sums(part: Array) -> Array:
    if part.shape[1] == 1:
        return part[:, 0]
    # NumPy's sum along short rows takes four times as long as its einsum
    return np.einsum("ij->i", part) if is_numpy_array(part) else array_namespace(part).sum(part, axis=1)


def least_cost(left: Array, n_classes: int, stages: int, cost: CostModel) -> Array:
    """(n,) what each item's answer costs on average with at most so many lists before all the rest are shown."""
    return _values(left, n_classes, stages, cost)[-1][0, :]


def best_ends(left: Array, n_classes: int, stages: int, cost: CostModel) -> tuple[Array, Array]:
    """(n, S) int64 where the lists end that cost least, L for "no cut"; and (n, S) what is left after each."""
    xp = array_namespace(left)
    place = device(left)
    values, prices = _values(left, n_classes, stages, cost), _prices(n_classes, cost, left)
    ends = xp.asarray([*grid(n_classes), n_classes], dtype=xp.int64, device=place)
    left = xp.concat([left, xp.zeros((1, left.shape[1]), dtype=left.dtype, device=place)])
    n_ends, n = values[0].shape
    item, later = xp.arange(n, device=place), xp.arange(n_ends, device=place)[:, None]
    at = xp.zeros(n, dtype=xp.int64, device=place)  # places in the grid; the last one stands for L
    cuts, rest = [], []
    for stage in range(stages, 0, -1):
        here = xp.where(at < n_ends, at, xp.zeros_like(at))
        to = left[here, item][None, :] * xp.take(prices, here, axis=0).T + values[stage - 1]
        to = xp.where(later > here[None, :], to, xp.full_like(to, xp.inf))
        best = xp.argmin(to, axis=0)
        ends_here = (at == n_ends) | (to[best, item] >= values[0][here, item] * (1 - EVEN))
        at = xp.where(ends_here, xp.full_like(at, n_ends), best)
        cuts.append(xp.take(ends, at))
        rest.append(left[at, item])
    return xp.stack(cuts, axis=1), xp.stack(rest, axis=1)


def _values(left: Array, n_classes: int, stages: int, cost: CostModel) -> list[Array]:
    """V₀ to V_S, (G, n) each; of the last only its first row."""
    xp = array_namespace(left)
    prices = _prices(n_classes, cost, left)
    rest = xp.asarray([n_classes - end for end in grid(n_classes)], dtype=xp.int64, device=device(left))
    whole = left * stage_cost(rest, rest, cost)[:, None]
    values = [whole]
    for stage in range(1, stages + 1):
        rows = [whole[-1, :]]
        for g in range(0 if stage == stages else len(whole) - 2, -1, -1) if len(whole) > 1 else ():
            to = left[g, :] * prices[g, g + 1 :, None] + values[-1][g + 1 :, :]
            rows.append(xp.minimum(xp.min(to, axis=0), whole[g, :]))
        values.append(xp.flip(xp.stack(rows), axis=0) if stage < stages else rows[-1][None, :])
    return values


def _prices(n_classes: int, cost: CostModel, like: Array) -> Array:
    """(G, G) what a stage costs that begins after one end of the grid and ends at another."""
    xp = array_namespace(like)
    return _price_matrix(n_classes, cost, xp, device(like))


@lru_cache(maxsize=16)
def _price_matrix(n_classes: int, cost: CostModel, xp: object, place: object) -> Array:
    ends = xp.asarray(grid(n_classes), dtype=xp.int64, device=place)  # type: ignore[attr-defined]
    return stage_cost(ends[None, :] - ends[:, None], n_classes - ends[:, None] + 0 * ends[None, :], cost)
