from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from shortlist.acquisition.geometry.k_means import k_means
from shortlist.acquisition.geometry.neighbours import (
    Directions,
    Lists,
    Neighbours,
    Recomputed,
    add_at,
    cosines,
    neighbours,
    threshold,
)
from shortlist.acquisition.geometry.points import bands
from shortlist.acquisition.method import Sequential, Value
from shortlist.devices import kernels
from shortlist.probabilities import as_array, as_rng
from shortlist.system.arrays import as_index, to_numpy
from shortlist.types import Array, Floats, Ints, Pool, Rng, ShortlistError


@dataclass(frozen=True)
class ProbCover(Sequential):
    """Again and again the item with most items within δ that nothing labelled or chosen is near.

    Distances are between features of length 1. The gain is the number of items newly covered over the largest such
    number. When everything is covered the rest is filled at random, or cheapest first; so are features of zeros,
    which point nowhere.

    Without `delta` it is made from the features as the method's authors do (`purity_radius`, with k-means for the
    pool's number of classes); give it to have it made once instead of every round. Lists of neighbours take `memory`
    bytes at most, beside the tiles they are found in. Where they would take more, they are worked out again when
    needed, and the picks are the same.

    >>> x = np.array([[1.0, 0.0], [1.0, 0.2], [1.0, 0.4], [0.0, 1.0], [0.1, 1.0]])
    >>> ProbCover(delta=0.25).select(None, features=x, n=2, rng=np.random.default_rng(0))
    array([1, 3])
    """

    delta: float | None = None
    purity: float = 0.95
    memory: int = 1 << 30

    about = "Items are picked with most neighbours that nothing labelled is near."
    needs = frozenset({"features", "labelled_features"})

    def __post_init__(self) -> None:
        if self.delta is not None and not self.delta > 0:
            raise ShortlistError(f"prob_cover: delta must be above 0, got {self.delta}")
        _check_purity("prob_cover", self.purity)
        if self.memory < 0:
            raise ShortlistError(f"prob_cover: memory must be at least 0 bytes, got {self.memory}")

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        above = threshold(self._delta(pool, rng))
        points = Directions.of(pool.features).coarse()
        uncovered = _uncovered(points, pool.labelled_features, above)
        degrees, found = neighbours(points, above, uncovered, self.memory)
        return _greedy(degrees, uncovered, found, n, rng, value)

    def _delta(self, pool: Pool, rng: Rng) -> float:
        if self.delta is not None:
            return self.delta
        n_classes = pool.n_classes
        if n_classes is None and is_array_api_obj(pool.probs):
            n_classes = int(pool.probs.shape[1])
        if n_classes is None:
            raise ShortlistError(
                f"{self.name} needs delta=…, or the number of classes to make one: give probs, or n_classes in a Pool"
            )
        known = [f for f in (pool.features, pool.labelled_features) if f is not None]
        return purity_radius(array_namespace(known[0]).concat(known), n_classes, rng, self.purity)


def _uncovered(points: Directions, labelled: Array | None, above: float) -> Array:
    """(n,) whether nothing labelled is near."""
    uncovered = points.scale > 0
    if labelled is None:
        return uncovered
    known = Directions.of(array_namespace(labelled).astype(labelled, points.rows.dtype, copy=False)).coarse()
    for rows in bands(known.rows, 1024):
        for items in Recomputed(points, above).near(known[rows]):
            uncovered[items] = False
    return uncovered


def _greedy(degrees: Array, uncovered: Array, found: Neighbours, n: int, rng: Rng, value: Value) -> Ints:
    """n positions; `degrees` (n,) and `uncovered` (n,) are kept up to date as items are chosen."""
    xp = array_namespace(degrees)
    open_ = xp.ones_like(uncovered)
    numbers = xp.arange(int(xp.max(degrees)) + 1, dtype=xp.float64, device=device(degrees))  # a degree is one of them

    def worth() -> Array:
        return xp.where(open_, value(numbers / xp.max(degrees), degrees), -xp.inf)

    there = kernels("cover", degrees)
    if there is not None and isinstance(found, Lists):
        chosen = there.picks(worth, open_, degrees, uncovered, found.items, found.offsets, found.longest, n)
    else:
        chosen = _picks(worth, open_, degrees, uncovered, found, n)
    if len(chosen) < n:
        chosen += value.filler(open_, rng)[: n - len(chosen)].tolist()
    return np.asarray(chosen, np.int64)


def _picks(
    worth: Callable[[], Array], open_: Array, degrees: Array, uncovered: Array, found: Neighbours, n: int
) -> list[int]:
    """At most n items, each worth most when its turn came, until nothing is left to cover."""
    xp = array_namespace(degrees)
    left = int(xp.sum(xp.astype(uncovered, xp.int64)))
    chosen: list[int] = []
    while len(chosen) < n and left:
        best = int(xp.argmax(worth()))
        chosen.append(best)
        open_[best] = False
        near = found.of(best)
        covered = near[uncovered[near]]
        uncovered[covered] = False
        left -= int(covered.shape[0])
        if left and len(chosen) < n:  # else nobody will ask for degrees again
            for those in found.of_all(covered):
                add_at(degrees, those, xp.full_like(those, -1, dtype=degrees.dtype))
    return chosen


# --- a radius from the features ----------------------------------------------------------------------------------

BALLS = 10_000  # looked at, in a large pool


def purity_radius(features: Array, n_classes: int, rng: Rng | int, purity: float = 0.95) -> float:
    """The largest δ at which so large a share of balls is pure: all items closer than δ are of one cluster.

    Clusters are by k-means with one for every class, over features (n, D) brought to length 1. Every candidate is
    looked at, not a grid: an item's ball is pure up to its distance from the nearest item of another cluster. In more
    than 10,000 items as many balls are drawn; a purity of 0.95 then has a standard error of 0.002.

    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    >>> round(purity_radius(x, 2, np.random.default_rng(0)), 3)
    1.266
    """
    features, rng = as_array(features, "purity_radius: features"), as_rng(rng)
    if not is_array_api_obj(features) or features.ndim != 2 or features.shape[0] == 0:
        raise ShortlistError("purity_radius: features must be an array (items, numbers) of at least one item")
    if not bool(array_namespace(features).all(array_namespace(features).isfinite(features))):
        raise ShortlistError("purity_radius: features must be finite numbers")
    if n_classes < 1:
        raise ShortlistError(f"purity_radius: n_classes must be at least 1, got {n_classes}")
    _check_purity("purity_radius", purity)
    points = Directions.of(features)
    labels, _ = k_means(points.unit, n_classes, rng)
    balls = np.arange(points.size) if points.size <= BALLS else rng.choice(points.size, BALLS, replace=False)
    nearest = np.sort(_nearest_other(points, labels, as_index(balls, labels)))  # cosines, so the furthest first
    pure = max(1, ceil(purity * len(balls) - 1e-9))  # 0.07 * 100 is above 7
    cosine = np.clip(nearest[pure - 1], -1.0, 1.0)  # −1, as far as it gets on a sphere, where all are of one cluster
    return float(np.sqrt(2 - 2 * cosine))


def _nearest_other(points: Directions, labels: Array, balls: Array) -> Floats:
    """(m,) cosines between these items and the nearest of another cluster; −inf if there is no other cluster."""
    xp = array_namespace(labels)
    best = xp.full(balls.shape[0], -xp.inf, dtype=points.unit.dtype, device=device(labels))
    other = xp.zeros_like(balls)
    for columns in bands(points.rows, 1024):
        for rows in bands(balls, columns.stop - columns.start):
            products = points.unit[balls[rows], :] @ points.unit[columns, :].T
            same = labels[balls[rows]][:, None] == labels[columns][None, :]
            products = xp.where(same, -xp.inf, products)
            at = xp.argmax(products, axis=1)
            found = xp.max(products, axis=1)
            other[rows] = xp.where(found > best[rows], at + columns.start, other[rows])
            best[rows] = xp.maximum(best[rows], found)
    exact = cosines(points, balls, points, other)
    return np.asarray(to_numpy(xp.where(best > -xp.inf, exact, -xp.inf)), np.float64)


def _check_purity(name: str, purity: float) -> None:
    if not 0 < purity <= 1:
        raise ShortlistError(f"{name}: purity must be above 0 and at most 1, got {purity}")
