from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.geometry.k_means import k_means
from shortlist.acquisition.geometry.neighbours import Directions
from shortlist.acquisition.geometry.points import bands, dots, noise, settled
from shortlist.acquisition.method import Sequential, Value
from shortlist.system.arrays import as_index, to_numpy
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

    about = "Items are picked that are typical of clusters with few labels."
    needs = frozenset({"features", "labelled_features"})

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
        labels = to_numpy(labels)
        members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
        clusters = []
        for i, items in enumerate(members):
            open_ = items[items < size]
            typical = _most_typical(unit, items, open_, self.neighbours, value)
            clusters.append((len(items) - len(open_), -len(items), i, typical))
        return np.fromiter(_in_turn(clusters), np.int64, n)


def _most_typical(unit: Array, items: Ints, open_: Ints, neighbours: int, value: Value) -> Iterator[int]:
    """The open items of a cluster, again and again the most typical, or the one most so for its price."""
    spread = mean_distances(unit[as_index(items, unit), :], neighbours)[: len(open_)]  # open ones come before labelled
    while len(open_):
        typical = np.divide(spread.min(), spread, out=np.ones_like(spread), where=spread > 0)
        best = int(value.of(open_)(typical).argmax())
        yield int(open_[best])
        open_, spread = np.delete(open_, best), np.delete(spread, best)


def _in_turn(clusters: list[tuple[int, int, int, Iterator[int]]]) -> Iterator[int]:
    """An item of the cluster with the fewest labelled or taken, the largest of those; until there are no more."""
    heapify(clusters)
    while clusters:
        taken, size, i, items = heappop(clusters)
        item = next(items, None)
        if item is not None:
            yield item
            heappush(clusters, (taken + 1, size, i, items))


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
