"""The nearest neighbours of every item by cosine: exact for some ten thousand items, by cells beyond.

A cell is what lies closest to one of the centres. Items look for neighbours in the cells whose centres are closest to
that of their own, so the work grows with n^1.5 and the memory with n·k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shortlist.system.arrays import blocks
from shortlist.system.threads import on_all_cores
from shortlist.types import Ints

Rows: TypeAlias = npt.NDArray[np.float32]  # (n, D) of length 1, or of zeros

EXACT = 16_384  # items at most of which all pairs are looked at
PROBED = 24  # cells that are searched
STEPS = 2  # of k-means
TILE = 1024  # rows


@dataclass(frozen=True)
class Cells:
    """Items by the centre that they are closest to; one cell of all of them where there are not many."""

    points: Rows
    centres: Rows
    members: list[Ints]  # of each cell, ascending
    near: Ints  # (cells, at most PROBED) the cells to be searched for neighbours of each cell's items

    @classmethod
    def of(cls, points: Rows) -> Cells:
        n = len(points)
        if n <= EXACT:
            return cls(points, points[:1], [np.arange(n)], np.zeros((1, 1), np.int64))
        n_cells = int(np.sqrt(n) * 1.5)
        centres = points[np.sort(np.random.default_rng(0).permutation(n)[:n_cells])]
        for _ in range(STEPS):
            sums = np.zeros_like(centres)
            np.add.at(sums, closest(points, centres), points)
            centres = unit(sums)
        cell = closest(points, centres)
        order = np.argsort(cell, kind="stable")
        members = np.split(order, np.searchsorted(cell[order], np.arange(1, n_cells)))
        (products,) = on_all_cores(lambda rows: rows @ centres.T, [centres])
        near = np.argsort(-products, axis=1, kind="stable")[:, :PROBED]
        return cls(points, centres, members, near)

    def nearest(self, rows: Rows, k: int, own: Ints | None = None) -> tuple[Ints, Rows]:
        """(m, k) the closest items to each row and their cosines; `own` (m,) are the rows' own items, left out.

        >>> cells = Cells.of(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], np.float32))
        >>> cells.nearest(cells.points, 1, own=np.arange(3))[0].tolist()
        [[1], [2], [1]]
        """
        k = min(k, len(self.points) - (own is not None))
        items, cosines = np.zeros((len(rows), k), np.int64), np.full((len(rows), k), -1, np.float32)
        cell = closest(rows, self.centres)
        order = np.argsort(cell, kind="stable")
        parts = np.split(order, np.searchsorted(cell[order], np.arange(1, len(self.members))))

        def search(task: tuple[int, Ints]) -> None:
            at, mine = task
            among = np.sort(np.concatenate([self.members[c] for c in self.near[at]]))
            products = rows[mine] @ self.points[among].T
            if own is not None:
                place = np.minimum(np.searchsorted(among, own[mine]), len(among) - 1)
                itself = np.flatnonzero(among[place] == own[mine])
                products[itself, place[itself]] = -np.inf
            best = np.argpartition(-products, min(k, products.shape[1]) - 1, axis=1)[:, :k]
            items[mine, : best.shape[1]] = among[best]
            cosines[mine, : best.shape[1]] = np.maximum(np.take_along_axis(products, best, axis=1), -1)

        on_all_cores(search, [(at, part[b]) for at, part in enumerate(parts) for b in blocks(len(part), TILE)])
        return items, cosines


def closest(rows: Rows, centres: Rows) -> Ints:
    """(n,) the centre with the largest cosine."""
    if len(centres) == 1:
        return np.zeros(len(rows), np.int64)
    parts = on_all_cores(lambda block: (rows[block] @ centres.T).argmax(axis=1), blocks(len(rows), 4 * TILE))
    return np.concatenate(parts)


def unit(rows: Any) -> Rows:
    """Rows of length 1; zeros stay zeros.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, np.newaxis]
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def symmetric(items: Ints, weights: Rows) -> tuple[sparse.csr_array, npt.NDArray[np.float32]]:
    """(n, n) S = D^-½ W D^-½, where W has a pair's weight if either is a neighbour of the other; and (n,) D^-½."""
    n, k = items.shape
    rows = np.repeat(np.arange(n), k)
    one_way = sparse.csr_array((weights.ravel(), (rows, items.ravel())), shape=(n, n))
    both = one_way.maximum(one_way.T).tocsr()
    degree = np.asarray(both.sum(axis=1), np.float64).ravel()
    scale = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0).astype(np.float32)
    both.data *= scale[np.repeat(np.arange(n), np.diff(both.indptr))] * scale[both.indices]
    both.sort_indices()
    return both, scale
