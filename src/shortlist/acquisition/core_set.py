from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from shortlist.acquisition.geometry.points import Chosen, Dense, Points, largest, settled
from shortlist.acquisition.method import Sequential, Value
from shortlist.system.arrays import as_index, blocks, to_numpy
from shortlist.types import Array, Ints, Pool, Rng

SOME, FEW = 4096, 256  # items a search among all looks at, and one among some
AT_ONCE = 1024  # labelled items measured from together
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

    about = "Items are picked furthest from everything labelled."
    needs = frozenset({"embeddings", "labelled_embeddings"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        points, labelled = _centred(pool.embeddings, pool.labelled_embeddings)
        nearest = array_namespace(points.norms).full_like(points.norms, np.inf)
        if labelled is not None:
            for part in blocks(labelled.size, AT_ONCE):
                nearest = points.to(nearest, labelled[part])
        search = _Search(points, nearest, value, known=0 if labelled is None else labelled.size)
        if not search.go_on(n):  # everything left sits on a centre
            search.chosen += value.filler(search.open, rng).tolist()
        return np.asarray(search.chosen[:n], np.int64)


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
class _Search(Chosen):
    """Among all items, or among some of which nobody else is worth more than `bound`."""

    value: Value
    bound: float = -np.inf
    least: float = 0.0  # if the largest distance falls below it, the bound no longer holds
    known: int = 0  # centres from the start

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
            self.take([int(xp.argmax(self.value(xp.ones_like(self.nearest))))], n)
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
        index, bound = as_index(among, self.nearest), max(bound, self.bound)
        local = self._among(index, bound, least, at, n - len(self.chosen))
        self.take(among[local].tolist(), n)
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
        xp = array_namespace(self.nearest)
        gains = xp.sqrt(self.nearest / furthest)
        now, at_most = (xp.where(self.open, self.value(g), -xp.inf) for g in (gains, gains * RISE))
        return now, at_most

    def _among(self, index: Array, bound: float, least: float, first: int, n: int) -> list[int]:
        """Centres among these items alone, on the host: the first, and more while they are certain to be worth most."""
        search = _Search(self.points.on_host(index), to_numpy(self.nearest[index]), self.value.of(index), bound, least)
        search.open = to_numpy(self.open[index])
        if search.points.size <= 2 * FEW + 1:
            return _one_by_one(search, first, n)
        search.take([first], n)
        search.go_on(n)
        return search.chosen


def _one_by_one(search: _Search, centre: int, n: int) -> list[int]:
    """The centres of a search among a few items."""
    value, norms, noise = search.value, search.points.norms, search.points.noise
    rows, left = search.points.factors[0].array, search.nearest.astype(np.float64)
    doubled = -2 * rows
    chosen = [centre]
    while len(chosen) < n:
        search.open[centre] = False
        squared = rows @ doubled[centre]
        squared += norms
        squared += norms[centre]
        np.minimum(left, squared, out=left)
        left[centre] = 0.0
        centre = int(left.argmax())
        if left[centre] <= noise[centre] or value.price is not None:
            left = settled(left, noise)
            centre = int(left.argmax())
        furthest, worth = float(left[centre]), left
        if not furthest > 0 or furthest < search.least:
            break
        if value.price is not None:
            worth = np.where(search.open, value(np.sqrt(left / furthest)), -np.inf)
            centre = int(worth.argmax())
        if not worth[centre] > search.bound:
            break
        chosen.append(centre)
    return chosen
