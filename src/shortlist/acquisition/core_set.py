from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device

from shortlist.acquisition.method import Sequential, Value, to_numpy
from shortlist.acquisition.points import Dense, Points, as_index, largest, settled
from shortlist.types import Array, Floats, Ints, Pool, Rng

SOME, FEW = 4096, 256  # items a search among all looks at, and one among some
RISE = 1.05  # how far gains may rise while such a search lasts, because the largest distance falls


@dataclass(frozen=True)
class CoreSet(Sequential):
    """K-centre greedy: again and again the item furthest from everything labelled or chosen.

    Its gain is the distance to the nearest centre over the largest such distance.

    Distances only fall, so what an item was worth some picks ago bounds what it is worth now. Picks are made among
    some items worth most, and there among a few, as long as the best of them is above that bound for all others; then
    the others are measured against the new centres together. The picks are those of the plain loop.

    >>> z = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [4.0, 0.0]])
    >>> CoreSet().select(None, embeddings=z, labelled_embeddings=z[:1], n=2, rng=np.random.default_rng(0))
    array([2, 3])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"embeddings", "labelled_embeddings"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        points, labelled = _centred(pool.embeddings, pool.labelled_embeddings)
        nearest = array_namespace(points.norms).full_like(points.norms, np.inf)
        if labelled is not None:
            nearest = points.to_others(nearest, labelled)
        search = _Search(points, value, nearest, known=0 if labelled is None else labelled.size)
        if search.go_on(n):
            return np.asarray(search.chosen, np.int64)
        rest = value.filler(search.open, rng)  # everything left sits on a centre
        return np.concatenate([np.asarray(search.chosen, np.int64), rest])[:n]


def _centred(z: Array, labelled: Array | None) -> tuple[Points, Points | None]:
    """Embeddings as points, moved to their middle if that is far: large norms would drown small distances."""
    xp = array_namespace(z)
    points = Points.of(Dense(z))
    if labelled is not None:
        labelled = xp.astype(labelled, z.dtype, copy=False) if labelled.shape[0] else None
    centre = xp.mean(z[:: max(1, z.shape[0] // 1024), :], axis=0)  # where it is exactly does not matter
    if bool(xp.vecdot(centre, centre) > xp.mean(points.norms) / 2):
        points, labelled = Points.of(Dense(z - centre)), None if labelled is None else labelled - centre
    return points, None if labelled is None else Points.of(Dense(labelled))


@dataclass
class _Search:
    """Among all items, or among some of which nobody else is worth more than `bound`."""

    points: Points
    value: Value
    nearest: Array  # (n,) squared distance to the nearest centre; infinite while there is none
    bound: float = -np.inf
    least: float = 0.0  # if the largest distance falls below it, the bound no longer holds
    known: int = 0  # centres from the start
    chosen: list[int] = field(default_factory=list)
    open: Array = field(init=False)  # (n,)

    def __post_init__(self) -> None:
        xp = array_namespace(self.nearest)
        self.open = xp.ones(self.points.size, dtype=xp.bool, device=device(self.nearest))

    def from_one(self, first: int, n: int) -> list[int]:
        """n centres at most, beginning with this one, while it is certain that they are worth most."""
        self._take([first])
        self.go_on(n)
        return self.chosen

    def go_on(self, n: int) -> bool:
        """More centres, n in all; False if it ended before."""
        while len(self.chosen) < n:
            furthest = float(array_namespace(self.nearest).max(self.nearest))
            if not furthest > 0 or furthest < self.least or not self._step(furthest, n):
                return False
        return True

    def _step(self, furthest: float, n: int) -> bool:
        """Some more centres; False if somebody else may be worth as much."""
        xp = array_namespace(self.nearest)
        if not np.isfinite(furthest):  # no centre at all yet: every gain is the same
            self._take([int(xp.argmax(self.value(xp.ones_like(self.nearest))))])
            return True
        worth, bounds = self._worth(furthest)
        first = int(xp.argmax(worth))
        if not float(worth[first]) > self.bound:
            return False
        size = SOME if self._is_worth_some(n) else FEW
        near, bound = largest(bounds, size)
        among, least = np.sort(to_numpy(near)), self.least
        if self.value.price is not None:  # gains are over the largest distance, so that has to be among them
            far, beyond = largest(self.nearest, size)
            among, least = np.union1d(among, to_numpy(far)), max(least, beyond, furthest / RISE**2)
        at = int(np.searchsorted(among, first))
        if at == len(among) or among[at] != first:  # more items are worth as much than were taken
            among = np.insert(among, at, first)
        part = self._among(as_index(among, self.nearest), max(bound, self.bound), least)
        local = part.from_one(at, n - len(self.chosen))
        self._take(among[local].tolist(), last=len(self.chosen) + len(local) == n)
        return True

    def _is_worth_some(self, n: int) -> bool:
        """Whether to copy many of the items, to measure them alone for a while.

        Of a pool not that large they have to last to the end: where centres are as many as picks to come.
        """
        pool, left = self.points.size, n - len(self.chosen)
        return pool > 8 * SOME or (pool > 2 * SOME and self.known >= left)

    def _worth(self, furthest: float) -> tuple[Array, Array]:
        """(n,) what every item is worth now, and at most while a search among some of them lasts."""
        if self.value.price is None:
            return self.nearest, self.nearest  # squared distances have the ranks of distances
        gains = array_namespace(self.nearest).sqrt(self.nearest / furthest)
        return self._masked(self.value(gains)), self._masked(self.value(gains * RISE))

    def _masked(self, worth: Array) -> Array:
        xp = array_namespace(worth)
        return xp.where(self.open, worth, xp.full_like(worth, -xp.inf))

    def _among(self, index: Array, bound: float, least: float) -> _Search | _Few:
        """The same among these items alone, on the host."""
        points = self.points.on_host(index)
        left, open_ = to_numpy(self.nearest[index]), to_numpy(self.open[index])
        if points.size > 2 * FEW + 1:
            search = _Search(points, self.value.of(index), left, bound, least)
            search.open = open_
            return search
        return _Few(points, self.value.of(index), left.astype(np.float64), open_, bound, least)

    def _take(self, positions: list[int], *, last: bool = False) -> None:
        self.chosen += positions
        if last:  # nobody will ask for distances to them
            return
        where = as_index(np.asarray(positions, np.int64), self.nearest)
        self.nearest = self.points.to_centres(self.nearest, where)
        self.nearest[where] = 0.0
        self.open[where] = False


class _Few:
    """A few items, one centre at a time."""

    def __init__(
        self, points: Points, value: Value, left: Floats, open_: npt.NDArray[np.bool_], bound: float, least: float
    ) -> None:
        self.rows, self.norms, self.noise = points.factors[0].rows(slice(None)), points.norms, points.noise
        self.doubled = -2 * self.rows
        self.value, self.left, self.open, self.bound, self.least = value, left, open_, bound, least

    def from_one(self, first: int, n: int) -> list[int]:
        taken: list[int] = []
        best: int | None = first
        while best is not None:
            taken.append(best)
            self.open[best] = False
            self._measure(best)
            best = self._best() if len(taken) < n else None
        return taken

    def _measure(self, centre: int) -> None:
        squared = self.rows @ self.doubled[centre]
        squared += self.norms
        squared += self.norms[centre]
        np.minimum(self.left, squared, out=self.left)
        self.left[centre] = 0.0

    def _best(self) -> int | None:
        """The next one, if it is certain."""
        best = int(self.left.argmax())
        if self.left[best] <= self.noise[best] or self.value.price is not None:
            self.left = settled(self.left, self.noise)
            best = int(self.left.argmax())
        furthest, worth = float(self.left[best]), self.left
        if not furthest > 0 or furthest < self.least:
            return None
        if self.value.price is not None:
            worth = np.where(self.open, self.value(np.sqrt(self.left / furthest)), -np.inf)
            best = int(worth.argmax())
        return best if worth[best] > self.bound else None
