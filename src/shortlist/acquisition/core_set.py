from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device

from shortlist.acquisition.method import Sequential, Value, to_numpy
from shortlist.acquisition.points import Dense, Points, as_index, largest
from shortlist.types import Array, Floats, Ints, Pool, Rng

TRACKED = 512  # items a block looks at
RISE = 1.05  # how far gains may rise while a block lasts, because the largest distance falls


@dataclass(frozen=True)
class CoreSet(Sequential):
    """K-centre greedy: again and again the item furthest from everything labelled or chosen.

    Its gain is the distance to the nearest centre over the largest such distance.

    Distances only fall, so what an item was worth some picks ago bounds what it is worth now. A block of picks is made
    among the items worth most, as long as the best of them is above that bound for all others; then all items are
    measured against the new centres together. The picks are those of the plain loop.

    >>> z = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [4.0, 0.0]])
    >>> CoreSet().select(None, embeddings=z, labelled_embeddings=z[:1], n=2, rng=np.random.default_rng(0))
    array([2, 3])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"embeddings", "labelled_embeddings"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        assert pool.embeddings is not None
        xp = array_namespace(pool.embeddings)
        centre = xp.mean(pool.embeddings, axis=0)  # squared norms far from 0 would drown small distances
        points = Points.of(Dense(pool.embeddings - centre))
        nearest = xp.full_like(points.norms, xp.inf)
        if pool.labelled_embeddings is not None:
            nearest = points.to_others(nearest, Points.of(Dense(pool.labelled_embeddings - centre)))
        search = _Search(points, value, nearest)
        while len(search.chosen) < n:
            if not search.furthest() > 0:  # everything left sits on a centre
                search.chosen += value.filler(search.open, rng).tolist()
            else:
                search.block(n)
        return np.asarray(search.chosen[:n], np.int64)


@dataclass
class _Search:
    points: Points
    value: Value
    nearest: Array  # (n,) squared distance to the nearest centre; infinite while there is none
    chosen: list[int] = field(default_factory=list)
    open: Array = field(init=False)  # (n,)

    def __post_init__(self) -> None:
        xp = array_namespace(self.nearest)
        self.open = xp.ones(self.points.size, dtype=xp.bool, device=device(self.nearest))

    def furthest(self) -> float:
        xp = array_namespace(self.nearest)
        return float(xp.max(xp.where(self.open, self.nearest, xp.zeros_like(self.nearest))))

    def block(self, n: int) -> None:
        """Some more centres: n in all at most."""
        xp = array_namespace(self.nearest)
        furthest = self.furthest()
        if not np.isfinite(furthest):  # no centre at all yet: every gain is the same
            self._take([int(xp.argmax(self._masked(self.value(xp.ones_like(self.nearest)))))])
            return
        priced = self.value.price is not None
        gains = xp.sqrt(self.nearest / furthest if priced else self.nearest)  # without a price, scale changes no rank
        first = int(xp.argmax(self._masked(self.value(gains))))
        near, bound = largest(self._masked(self.value(gains * RISE if priced else gains)), TRACKED)
        far, beyond = largest(self._masked(self.nearest), TRACKED if priced else 0)
        tracked = np.unique([first, *to_numpy(near).tolist(), *to_numpy(far).tolist()])
        index = as_index(tracked, self.nearest)
        block = _Block(
            self.value.of(index),
            tracked,
            left=to_numpy(self.nearest[index]).astype(np.float64),
            open=to_numpy(self.open[index]),
            squared=to_numpy(self.points.between(index, index)),
            bound=bound,
            least=max(beyond, furthest / RISE**2) if priced else 0.0,
        )
        self._take(block.take(first, n - len(self.chosen)))

    def _masked(self, worth: Array) -> Array:
        xp = array_namespace(worth)
        return xp.where(self.open, worth, xp.full_like(worth, -xp.inf))

    def _take(self, positions: list[int]) -> None:
        where = as_index(np.asarray(positions, np.int64), self.nearest)
        self.nearest = self.points.to_centres(self.nearest, where)
        self.open[where] = False
        self.chosen += positions


@dataclass
class _Block:
    """The items worth most, on the host."""

    value: Value
    positions: Ints  # (k,) ascending
    left: Floats  # (k,) squared distance of each to the nearest centre, as centres are taken
    open: npt.NDArray[np.bool_]  # (k,)
    squared: Any  # (k, k) squared distances
    bound: float  # nobody else is worth more
    least: float  # if the largest distance falls below it, what is known of the others no longer holds

    def take(self, first: int, n: int) -> list[int]:
        taken: list[int] = []
        best: int | None = int(np.searchsorted(self.positions, first))
        while best is not None:
            taken.append(int(self.positions[best]))
            self.open[best] = False
            np.minimum(self.left, self.squared[:, best], out=self.left)
            best = self._best() if len(taken) < n else None
        return taken

    def _best(self) -> int | None:
        """The next one, if it is certain."""
        furthest = float(self.left.max(where=self.open, initial=0.0))
        if not furthest > 0 or furthest < self.least:
            return None
        gains = np.sqrt(self.left / furthest if self.value.price is not None else self.left)
        worth = np.where(self.open, self.value(gains), -np.inf)
        best = int(worth.argmax())
        return best if worth[best] > self.bound else None
