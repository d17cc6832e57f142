from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.directions import Directions
from shortlist.acquisition.k_means import k_means
from shortlist.acquisition.method import Sequential, Value, to_numpy
from shortlist.acquisition.points import as_index, dots, noise, settled
from shortlist.acquisition.tiles import bands
from shortlist.types import Array, Floats, Ints, Pool, Rng, ShortlistError

MOVING = 0.01  # of all items: what lies between two clusters is typical of neither


@dataclass(frozen=True)
class TypiClust(Sequential):
    """The most typical item of the cluster with the fewest labelled items, the largest one first; and so on.

    K-means makes as many clusters as there will be labelled items, `clusters` at most, of features of length 1. An
    item is typical when its nearest `neighbours` in its cluster are near: 1 over their mean distance. Its gain is that
    over the highest among the cluster's items that can still be chosen, so that under `CostAware` the cluster comes
    first, and the price has its say inside it.

    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, 0.3], [0.0, 1.0], [0.1, 1.0]])
    >>> TypiClust().select(None, features=x, n=2, rng=np.random.default_rng(0))
    array([1, 3])
    """

    neighbours: int = 20
    clusters: int = 500

    needs: ClassVar[frozenset[str]] = frozenset({"features", "labelled_features"})

    def __post_init__(self) -> None:
        for name, number in (("neighbours", self.neighbours), ("clusters", self.clusters)):
            if number < 1:
                raise ShortlistError(f"typi_clust: {name} must be at least 1, got {number}")

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        assert pool.features is not None
        size = int(pool.features.shape[0])
        known = [f for f in (pool.features, pool.labelled_features) if f is not None]
        unit = Directions.of(array_namespace(known[0]).concat(known)).unit  # the pool, then what is labelled
        labels, _ = k_means(unit, min(int(unit.shape[0]) - size + n, self.clusters), rng, moving=MOVING)
        value = value.of(np.arange(size))  # on the host, where the clusters take turns
        members = _members(to_numpy(labels))
        clusters = [_Cluster(unit, items, items[items < size], self.neighbours, value) for items in members]
        return np.fromiter(_in_turn(clusters), np.int64, n)


def _members(labels: Ints) -> list[Ints]:
    """The items of every cluster, in order."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


@dataclass
class _Cluster:
    unit: Array  # (n, D) all items there are
    items: Ints  # those of this cluster, ascending
    open: Ints  # those that can still be chosen
    neighbours: int
    value: Value
    spread: Floats | None = None  # of those that can still be chosen, mean distance to the neighbours

    @property
    def labelled(self) -> int:
        return len(self.items) - len(self.open)

    def take(self) -> int:
        """The most typical item, or the one most so for its price."""
        if self.spread is None:  # its first turn: what is open comes before what is labelled
            rows = self.unit[as_index(self.items, self.unit), :]
            self.spread = mean_distances(rows, self.neighbours)[: len(self.open)]
        typical = np.divide(self.spread.min(), self.spread, out=np.ones_like(self.spread), where=self.spread > 0)
        best = int(self.value.of(self.open)(typical).argmax())
        item = int(self.open[best])
        self.open, self.spread = np.delete(self.open, best), np.delete(self.spread, best)
        return item


def _in_turn(clusters: list[_Cluster]) -> Iterator[int]:
    """An item of the cluster with the fewest labelled or taken, the largest of those; until there are no more."""
    queue = [(c.labelled, -len(c.items), i) for i, c in enumerate(clusters) if len(c.open)]
    heapify(queue)
    while queue:
        *_, i = heappop(queue)
        yield clusters[i].take()
        if len(clusters[i].open):
            heappush(queue, (clusters[i].labelled, -len(clusters[i].items), i))


def mean_distances(x: Array, k: int) -> Floats:
    """(n,) mean distance of every row to the k nearest others, or to all where there are fewer; 0 if it is alone.

    >>> mean_distances(np.array([[0.0], [1.0], [3.0]]), 1)
    array([1., 1., 2.])
    """
    xp = array_namespace(x)
    n = int(x.shape[0])
    k = min(k, n - 1)
    if k == 0:
        return np.zeros(n)
    x = x - xp.mean(x, axis=0)
    norms, everyone = xp.vecdot(x, x), xp.arange(n, device=device(x))
    means = []
    for band in bands(x, n):
        squared = dots(-2 * x[band, :], x)
        squared += norms[band, None] + norms[None, :]  # together, so that both of a pair say the same
        squared = settled(squared, noise(norms[band, None], int(x.shape[1])))
        squared[everyone[: squared.shape[0]], everyone[band]] = 0.0  # each is one of its k + 1 nearest
        means.append(xp.sum(xp.sqrt(_smallest(squared, k + 1)), axis=1) / k)
    return np.asarray(to_numpy(xp.concat(means)), np.float64)


def _smallest(rows: Array, k: int) -> Array:
    """(n, k) the smallest numbers of every row, in any order."""
    if is_numpy_array(rows):
        return np.partition(rows, k - 1, axis=1)[:, :k]
    return rows.topk(k, dim=1, largest=False, sorted=False).values
