"""Items as points whose distances are worked out in tiles, never all at once.

A point may be a tensor product a ⊗ b ⊗ …, kept as its factors: dot products of products multiply, so squared
distances ‖x‖² + ‖y‖² − 2 Π(a·a') need no more than the factors. One factor is a plain point. On a GPU this asks for
products in full precision: torch's TF32 has to be off, as it is unless somebody turns it on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.devices import on_cuda
from shortlist.system.arrays import as_index, blocks, to_numpy
from shortlist.types import Array

# --- tiles -------------------------------------------------------------------------------------------------------


TILE = 1 << 19  # numbers held at once: they stay in the cache
CUDA_TILE = 1 << 27  # a GPU wants few and large pieces


def numbers(like: Array) -> int:
    """How many numbers a tile may hold beside this array."""
    return CUDA_TILE if on_cuda(like) else TILE


def bands(like: Array, width: int) -> Iterator[slice]:
    """The rows of an array, so many at a time that a tile this wide is not too large.

    >>> list(bands(np.ones((3000, 2)), width=300))
    [slice(0, 1747, None), slice(1747, 3000, None)]
    """
    return blocks(int(like.shape[0]), numbers(like) // max(1, width))


# --- points ------------------------------------------------------------------------------------------------------


NARROW = 20  # rows of a product that is all columns


@dataclass(frozen=True)
class Dense:
    """(n, d) numbers. Another form of them may make products with a few dense rows cheaper."""

    array: Array  # (n, d)

    def rows(self, at: Array) -> Array:
        """(m, d) some rows, dense."""
        return self.array[at, :]

    def dots(self, centres: Array, part: slice) -> Array:
        """(c, m) products of the centres (c, d) with a run of rows, summed in at least 32 bits."""
        return dots(centres, self.array[part, :])

    def squares(self) -> Array:
        """(n,) squared norms, in at least 32 bits."""
        xp = array_namespace(self.array)
        wide = (at_least_32_bits(self.array[band, :]) for band in bands(self.array, self.array.shape[1]))
        return xp.concat([xp.vecdot(rows, rows) for rows in wide])


@dataclass(frozen=True)
class Points:
    factors: tuple[Dense, ...]
    norms: Array  # (n,) squared

    @classmethod
    def of(cls, *factors: Dense) -> Points:
        """
        >>> points = Points.of(Dense(np.array([[3.0, 4.0], [0.0, 0.0]])))
        >>> points.norms, points.between(np.array([0, 1]), np.array([0]))
        (array([25.,  0.]), array([[ 0.],
               [25.]]))
        """
        return cls(factors, prod((f.squares() for f in factors[1:]), start=factors[0].squares()))

    @property
    def size(self) -> int:
        return int(self.norms.shape[0])

    def __getitem__(self, at: Array) -> Points:
        """A few of them, dense."""
        return Points(tuple(Dense(factor.rows(at)) for factor in self.factors), self.norms[at])

    @cached_property
    def noise(self) -> Array:
        """(n,) what rounding may leave of the squared distance to an equal point."""
        return noise(self.norms, sum(int(factor.array.shape[1]) for factor in self.factors))

    def between(self, these: Array, those: Array) -> Array:
        """(m, c) squared distances between two small groups of positions."""
        a, b = self[these], self[those]
        inner = b._products(a, slice(None))
        inner += a.norms[:, None] + b.norms[None, :]  # together, so that both of a pair say the same
        return settled(inner, self.noise[these][:, None])

    def on_host(self, at: Array) -> Points:
        """A few of them, as NumPy arrays."""
        few = self[at]
        return Points(tuple(Dense(to_numpy(at_least_32_bits(f.array))) for f in few.factors), to_numpy(few.norms))

    def to_centres(self, nearest: Array, centres: Array) -> Array:
        """(n,) squared distances to the nearest centre, once these positions are centres too."""
        return self.to(nearest, self[centres])

    def to(self, nearest: Array, centres: Points) -> Array:
        """(n,) the same, where the centres are points from elsewhere."""
        xp = array_namespace(nearest)
        parts = bands(nearest, centres.size)
        return xp.concat([xp.minimum(nearest[part], self._nearest(part, centres)) for part in parts])

    def _nearest(self, part: slice, centres: Points) -> Array:
        """(m,) squared distances of a run of items to the nearest of these centres."""
        xp = array_namespace(self.norms)
        inner = self._products(centres, part)  # centres first: columns have a quick minimum
        inner += centres.norms[:, None]
        return settled(xp.min(inner, axis=0) + self.norms[part], self.noise[part])

    def _products(self, centres: Points, part: slice) -> Array:
        """(c, m) −2 x·y of a few dense points and a run of these."""
        first, *others = zip(self.factors, centres.factors, strict=True)
        products = first[0].dots(-2 * first[1].array, part)
        for mine, theirs in others:
            products *= mine.dots(theirs.array, part)
        return products


@dataclass
class Chosen:
    """Points chosen one after another, and how far all of them are from those."""

    points: Points
    nearest: Array  # (n,) squared distance to the nearest one; infinite while there is none
    chosen: list[int] = field(init=False, default_factory=list)
    open: Array = field(init=False)  # (n,)

    def __post_init__(self) -> None:
        xp = array_namespace(self.nearest)
        self.open = xp.ones(self.points.size, dtype=xp.bool, device=device(self.nearest))

    def take(self, positions: list[int], n: int) -> None:
        """These too, of n in all."""
        self.chosen += positions
        if len(self.chosen) < n:  # else nobody will ask for distances to them
            where = as_index(np.asarray(positions, np.int64), self.nearest)
            self.nearest = self.points.to_centres(self.nearest, where)
            self.nearest[where] = 0.0
            self.open[where] = False


def settled(squared: Array, noise: Array) -> Array:
    """Squared distances, exactly 0 where they are no more than noise."""
    xp = array_namespace(squared)
    return xp.where(squared <= noise, xp.zeros_like(squared), squared)


def noise(norms: Array, width: int) -> Array:
    """What rounding may leave of the squared distance between equal points of these squared norms."""
    return (16 + width**0.5) * array_namespace(norms).finfo(norms.dtype).eps * norms


def dots(a: Array, b: Array) -> Array:
    """(m, c) products of the rows of a (m, d) and b (c, d), summed in at least 32 bits."""
    if a.dtype.itemsize >= 4:
        if is_numpy_array(a) and len(a) <= NARROW < len(b) // 64:  # BLAS is twice as fast the other way round
            return np.ascontiguousarray((b @ a.T).T)
        return a @ b.T
    xp = array_namespace(a)
    if on_cuda(a):  # tensor cores multiply 16 bits and sum 32; only the result has to be asked for
        return xp.mm(a, b.T, out_dtype=xp.float32)
    return at_least_32_bits(a) @ at_least_32_bits(b).T


def at_least_32_bits(array: Array) -> Array:
    xp = array_namespace(array)
    return array if array.dtype.itemsize >= 4 else xp.astype(array, xp.float32)


def largest(array: Array, k: int) -> tuple[Array, float]:
    """Positions of the k largest numbers, in no order, and the largest of the others (−inf if there are none).

    >>> largest(np.array([3.0, 9.0, 1.0, 5.0]), 2)
    (array([3, 1]), 3.0)
    """
    xp = array_namespace(array)
    n = int(array.shape[0])
    if k >= n:
        return xp.arange(n, device=device(array)), -np.inf
    if is_numpy_array(array):
        order = np.argpartition(array, n - k - 1)[n - k - 1 :]
    else:
        order = xp.flip(xp.topk(array, k + 1).indices, axis=(0,))
    return order[1:], float(array[order[0]])
