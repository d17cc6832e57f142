from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from shortlist.acquisition.directions import Directions, close, threshold
from shortlist.acquisition.method import Sequential, Value
from shortlist.acquisition.neighbours import Lists, Neighbours, add_at, neighbours
from shortlist.acquisition.purity import purity_radius
from shortlist.acquisition.tiles import bands
from shortlist.devices import kernels
from shortlist.types import Array, Ints, Pool, Rng, ShortlistError


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

    needs: ClassVar[frozenset[str]] = frozenset({"features", "labelled_features"})

    def __post_init__(self) -> None:
        if self.delta is not None and not self.delta > 0:
            raise ShortlistError(f"prob_cover: delta must be above 0, got {self.delta}")
        if not 0 < self.purity <= 1:
            raise ShortlistError(f"prob_cover: purity must be above 0 and at most 1, got {self.purity}")
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
        known = [f for f in (pool.features, pool.labelled_features) if f is not None]
        return purity_radius(array_namespace(known[0]).concat(known), self._n_classes(pool), rng, self.purity)

    def _n_classes(self, pool: Pool) -> int:
        if pool.n_classes is not None:
            return pool.n_classes
        if is_array_api_obj(pool.probs):
            return int(pool.probs.shape[1])
        raise ShortlistError(f"{self.name} needs delta=…, or the number of classes to make one: pass n_classes=…")


def _uncovered(points: Directions, labelled: Array | None, above: float) -> Array:
    """(n,) whether nothing labelled is near."""
    uncovered = points.scale > 0
    if labelled is None:
        return uncovered
    known = Directions.of(array_namespace(labelled).astype(labelled, points.rows.dtype, copy=False)).coarse()
    for rows in bands(known.rows, 1024):
        for columns in bands(points.rows, rows.stop - rows.start):
            uncovered[close(known[rows], points[columns], above)[1] + columns.start] = False
    return uncovered


def _greedy(degrees: Array, uncovered: Array, found: Neighbours, n: int, rng: Rng, value: Value) -> Ints:
    """n positions; `degrees` (n,) and `uncovered` (n,) are kept up to date as items are chosen."""
    xp = array_namespace(degrees)
    open_ = xp.ones_like(uncovered)
    numbers = xp.arange(int(xp.max(degrees)) + 1, dtype=xp.float64, device=device(degrees))  # a degree is one of them

    def worth() -> Array:
        return xp.where(open_, value.graded(numbers / xp.max(degrees), degrees), -xp.inf)

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
