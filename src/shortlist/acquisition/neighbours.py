"""Who is close to whom in a pool, found a tile at a time: kept as lists where they fit, else worked out again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isqrt
from typing import TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.directions import Directions, close
from shortlist.acquisition.method import to_numpy
from shortlist.acquisition.tiles import bands, numbers, parts
from shortlist.types import Array, Ints

BAND = 1 << 14  # rows of a tile at most, so that a row of it is a number of 16 bits
JOINING = 8  # bytes for every neighbour: its position in 32 bits, twice while the lists are joined
SORTING = 20  # and for those of the band being put in order: rows and positions before and after, and the order


@dataclass(frozen=True)
class Lists:
    """The neighbours of item 0, of item 1 and so on, one after another."""

    items: Array  # int32
    offsets: Array  # (n + 1,)
    starts: Ints  # (n + 1,) the offsets on the host
    longest: int

    def of(self, item: int) -> Array:
        return self.items[int(self.starts[item]) : int(self.starts[item + 1])]

    def of_all(self, items: Array) -> Iterator[Array]:
        """The lists of all these items joined, in pieces."""
        xp = array_namespace(self.items)
        for part in parts(int(items.shape[0]), numbers(self.items) // max(1, self.longest)):
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
        return array_namespace(self.points.rows).concat([*self._of(self.points[item : item + 1])])

    def of_all(self, items: Array) -> Iterator[Array]:
        for part in parts(int(items.shape[0]), isqrt(numbers(items))):
            yield from self._of(self.points[items[part]])

    def _of(self, few: Directions) -> Iterator[Array]:
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
    tiles = [*parts(points.size, side)]
    growing: _Growing | None = _Growing(len(tiles), side)
    for a, rows in enumerate(tiles):
        for b, columns in enumerate(tiles[a:], start=a):
            i, j = close(points[rows], points[columns], above)
            add_at(counts[rows], i, ones[columns][j])
            if a != b:  # the other triangle is its mirror image
                add_at(counts[columns], j, ones[rows][i])
            if growing is not None:
                growing.add(a, b, i, j)
                growing = growing if growing.bytes <= memory else None
        if growing is not None:
            growing.finish(a, rows.stop - rows.start)
    return counts, Recomputed(points, above) if growing is None else growing.lists()


@dataclass
class _Growing:
    """Lists in the making. A band of rows is complete once its own tiles and those of the bands above it are done."""

    n_bands: int
    side: int
    open: list[list[tuple[Array, Array]]] = field(init=False)  # of each band: rows in the band (int16), neighbours
    done: list[Array] = field(default_factory=list)
    lengths: list[Array] = field(default_factory=list)
    sizes: list[int] = field(init=False)  # neighbours so far of each band

    def __post_init__(self) -> None:
        self.open = [[] for _ in range(self.n_bands)]
        self.sizes = [0] * self.n_bands

    @property
    def bytes(self) -> int:
        """What finishing will take, if nothing more comes."""
        return JOINING * sum(self.sizes) + SORTING * max(self.sizes)

    def add(self, a: int, b: int, i: Array, j: Array) -> None:
        self._put(a, b, i, j)
        if a != b:
            self._put(b, a, j, i)

    def _put(self, band: int, other: int, rows: Array, columns: Array) -> None:
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
        starts = to_numpy(offsets)
        return Lists(xp.concat(self.done), offsets, starts, int(np.diff(starts).max()))


def add_at(counts: Array, places: Array, steps: Array) -> None:
    """counts[places] += steps in place, as often as a place is named.

    >>> counts = np.array([5, 5, 5])
    >>> add_at(counts, np.array([0, 2, 2]), np.array([-1, 1, 1]))
    >>> counts
    array([4, 5, 7])
    """
    if is_numpy_array(counts):
        np.add.at(counts, places, steps)
    else:
        counts.index_add_(0, places, steps)
