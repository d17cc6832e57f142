"""Which items of a pool are close to each other, by the angles between their features.

Products in bulk are quick and a little off, by how much depends on the tile and the device. So they only decide where
they are sure; the few pairs around the threshold are worked out one by one in 64 bits. Which pairs are close is then
one fact, however it is come by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.geometry.points import bands, numbers
from shortlist.devices import on_cuda
from shortlist.system.arrays import blocks
from shortlist.types import Array

# --- rows of features as directions: points of the unit sphere ---------------------------------------------------

BFLOAT16 = 2.0**-8  # the share of a number that rounding to bfloat16 may take
NOTHING = 2.0**-48  # squared distances below it are rounding: duplicates are within every δ


@dataclass(frozen=True)
class Directions:
    rows: Array  # (n, D) as they were given
    scale: Array  # (n,) float64, 1 / norm; 0 for a row of zeros, which points nowhere
    unit: Array  # (n, D) rows of norm 1 (or 0), to be multiplied in bulk
    slack: float  # how far such a product may be from the cosine

    @classmethod
    def of(cls, rows: Array) -> Directions:
        """
        >>> Directions.of(np.array([[3.0, 4.0], [0.0, 0.0]])).unit
        array([[0.6, 0.8],
               [0. , 0. ]])
        """
        xp = array_namespace(rows)
        kind = xp.float64 if rows.dtype == xp.float64 else xp.float32
        scale = xp.zeros(rows.shape[0], dtype=xp.float64, device=device(rows))
        unit = xp.empty_like(rows, dtype=kind)
        for band in bands(rows, rows.shape[1]):
            norms = xp.sqrt(_dots(rows[band, :], rows[band, :]))
            scale[band] = xp.where(norms > 0, 1 / xp.where(norms > 0, norms, 1.0), 0.0)
            unit[band, :] = rows[band, :] * xp.astype(scale[band, None], kind)
        return cls(rows, scale, unit, (rows.shape[1] + 6) * float(xp.finfo(kind).eps))

    def __getitem__(self, items: Any) -> Directions:
        return replace(self, rows=self.rows[items, :], scale=self.scale[items], unit=self.unit[items, :])

    @property
    def size(self) -> int:
        return int(self.rows.shape[0])

    def coarse(self) -> Directions:
        """The same with products in bfloat16 where tensor cores make that many times faster."""
        return self.rounded() if on_cuda(self.unit) and self.rows.dtype.itemsize < 8 else self

    def rounded(self) -> Directions:
        """Multiplied in bfloat16. Products stay in it too: 32 bits would take twice as long to write and read."""
        xp = array_namespace(self.unit)
        # rounded are both rows, their product, a part of its sum, and the threshold that it is compared with
        return replace(self, unit=xp.astype(self.unit, xp.bfloat16), slack=5 * BFLOAT16 + 4 * self.slack)


def threshold(delta: float) -> float:
    """The cosine above which two directions are closer than δ: ‖u − v‖² = 2 − 2 u·v."""
    return 1 - max(delta**2, NOTHING) / 2


def close(a: Directions, b: Directions, above: float) -> tuple[Array, Array]:
    """Positions (i, j), by i and then j, of all pairs whose cosine is above a threshold. They fit one tile.

    >>> x = Directions.of(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0]]))
    >>> close(x[:1], x, threshold(0.1))
    (array([0, 0]), array([0, 1]))
    """
    xp = array_namespace(a.unit)
    products = xp.reshape(a.unit @ b.unit.T, (-1,))
    found = xp.nonzero(products > above - a.slack)[0]
    i, j = found // b.size, found % b.size
    unsure = xp.nonzero(xp.astype(products[found], xp.float64) <= above + a.slack)[0]
    if not unsure.shape[0]:
        return i, j
    right = xp.ones_like(found, dtype=xp.bool)
    right[unsure] = cosines(a, i[unsure], b, j[unsure]) > above
    right = xp.nonzero(right)[0]
    return i[right], j[right]


def cosines(a: Directions, i: Array, b: Directions, j: Array) -> Array:
    """(m,) of as many pairs, summed in 64 bits from the rows as they were given.

    >>> x = Directions.of(np.array([[1.0, 0.0], [3.0, 4.0]]))
    >>> cosines(x, np.array([0, 1]), x, np.array([1, 1])).round(3)
    array([0.6, 1. ])
    """
    xp = array_namespace(a.rows)
    dots = [_dots(a.rows[i[band], :], b.rows[j[band], :]) for band in bands(i, a.rows.shape[1])]
    return xp.concat([xp.zeros_like(a.scale[:0]), *dots]) * (a.scale[i] * b.scale[j])


def _dots(a: Array, b: Array) -> Array:
    xp = array_namespace(a)
    return xp.sum(xp.astype(a, xp.float64) * xp.astype(b, xp.float64), axis=1)


# --- who is close to whom, found a tile at a time: kept as lists where they fit, else worked out again -----------

BAND = 1 << 14  # rows of a tile at most, so that a row of it is a number of 16 bits
JOINING = 8  # bytes for every neighbour: its position in 32 bits, twice while the lists are joined
SORTING = 20  # and for those of the band being put in order: rows and positions before and after, and the order


@dataclass(frozen=True)
class Lists:
    """The neighbours of item 0, of item 1 and so on, one after another."""

    items: Array  # int32
    offsets: Array  # (n + 1,)
    longest: int

    def of(self, item: int) -> Array:
        return self.items[int(self.offsets[item]) : int(self.offsets[item + 1])]

    def of_all(self, items: Array) -> Iterator[Array]:
        """The lists of all these items joined, in pieces."""
        xp = array_namespace(self.items)
        for part in blocks(int(items.shape[0]), numbers(self.items) // max(1, self.longest)):
            starts, ends = self.offsets[items[part]], self.offsets[items[part] + 1]
            lengths = ends - starts
            places = xp.repeat(ends - xp.cumulative_sum(lengths), lengths)
            yield self.items[places + xp.arange(places.shape[0], device=device(places))]


@dataclass(frozen=True)
class Recomputed:
    """The same without the lists: a matrix product whenever somebody asks."""

    points: Directions
    above: float

    def of(self, item: int) -> Array:
        return array_namespace(self.points.rows).concat([*self.near(self.points[item : item + 1])])

    def of_all(self, items: Array) -> Iterator[Array]:
        for part in blocks(int(items.shape[0]), isqrt(numbers(items))):
            yield from self.near(self.points[items[part]])

    def near(self, few: Directions) -> Iterator[Array]:
        for band in bands(self.points.rows, few.size):
            yield close(few, self.points[band], self.above)[1] + band.start


Neighbours: TypeAlias = Lists | Recomputed


def neighbours(points: Directions, above: float, counted: Array, memory: int) -> tuple[Array, Neighbours]:
    """(n,) how many neighbours of each item are `counted` (n,), and who they are. An item is its own neighbour.

    >>> x = Directions.of(np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]))
    >>> counts, lists = neighbours(x, 0.9, np.array([True, False, True]), memory=1 << 20)
    >>> counts, lists.of(0)
    (array([1, 1, 1]), array([0, 1], dtype=int32))
    """
    xp = array_namespace(points.rows)
    ones = xp.astype(counted, xp.int64)
    counts = xp.zeros_like(ones)
    side = min(BAND, isqrt(numbers(points.rows) * 4 // points.unit.dtype.itemsize))
    tiles = [*blocks(points.size, side)]
    growing: _Growing | None = _Growing(len(tiles), side)
    for a, rows in enumerate(tiles):
        for b, columns in enumerate(tiles[a:], start=a):
            i, j = close(points[rows], points[columns], above)
            both = {(b, a): (j, i), (a, b): (i, j)}  # a tile and its mirror image; on the diagonal it is its own
            for (band, other), (mine, theirs) in both.items():
                add_at(counts[tiles[band]], mine, ones[tiles[other]][theirs])
                if growing is not None:
                    growing.add(band, other, mine, theirs)
            growing = growing if growing is not None and growing.bytes <= memory else None
        if growing is not None:
            growing.finish(a, rows.stop - rows.start)
    return counts, Recomputed(points, above) if growing is None else growing.lists()


class _Growing:
    """Lists in the making. A band of rows is complete once its own tiles and those of the bands above it are done."""

    def __init__(self, n_bands: int, side: int) -> None:
        self.side = side
        self.open: list[list[tuple[Array, Array]]] = [[] for _ in range(n_bands)]  # rows in it (int16), neighbours
        self.sizes = [0] * n_bands  # neighbours so far of each band
        self.done: list[Array] = []
        self.lengths: list[Array] = []

    @property
    def bytes(self) -> int:
        """What finishing will take, if nothing more comes."""
        return JOINING * sum(self.sizes) + SORTING * max(self.sizes)

    def add(self, band: int, other: int, rows: Array, columns: Array) -> None:
        xp = array_namespace(rows)
        self.open[band].append((xp.astype(rows, xp.int16), xp.astype(columns + other * self.side, xp.int32)))
        self.sizes[band] += int(rows.shape[0])

    def finish(self, band: int, n_rows: int) -> None:
        """Pieces came by column; put by row they keep that order."""
        rows, items = zip(*self.open[band], strict=True)
        self.open[band] = []
        xp = array_namespace(rows[0])
        joined = xp.concat(rows)
        order = xp.argsort(joined, stable=True)
        ends = xp.arange(n_rows, dtype=xp.int16, device=device(joined))
        self.lengths.append(xp.searchsorted(joined[order], ends, side="right"))
        self.done.append(xp.concat(items)[order])

    def lists(self) -> Lists:
        """Everything joined."""
        xp = array_namespace(self.done[0])
        before = np.cumsum([0, *(int(items.shape[0]) for items in self.done)]).tolist()
        ends = [ends + start for ends, start in zip(self.lengths, before, strict=False)]
        offsets = xp.concat([xp.zeros_like(ends[0][:1]), *ends])
        return Lists(xp.concat(self.done), offsets, int(xp.max(offsets[1:] - offsets[:-1])))


def add_at(counts: Array, places: Array, steps: Array) -> None:
    """counts[places] += steps in place, as often as a place is named."""
    if is_numpy_array(counts):
        np.add.at(counts, places, steps)
    else:
        counts.index_add_(0, places, steps)
