"""Items as points whose distances are worked out in tiles, never all at once.

A point may be a tensor product a ⊗ b ⊗ …, kept as its factors: dot products of products multiply, so squared
distances ‖x‖² + ‖y‖² − 2 Π(a·a') need no more than the factors. One factor is a plain point. On a GPU this asks for
products in full precision: torch's TF32 has to be off, as it is unless somebody turns it on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.method import to_numpy
from shortlist.acquisition.tiles import bands
from shortlist.devices import on_cuda
from shortlist.types import Array, Ints

AT_ONCE = 1024  # centres measured from together
NARROW = 20  # rows of a product that is all columns


class Factor(Protocol):
    """(n, d) numbers, in whatever form makes products with a few dense rows cheap."""

    @property
    def size(self) -> int: ...

    @property
    def width(self) -> int: ...

    def rows(self, at: Array) -> Array:
        """(m, d) some rows, dense."""

    def dots(self, centres: Array, part: slice) -> Array:
        """(c, m) products of the centres (c, d) with a run of rows, summed in at least 32 bits."""

    def squares(self) -> Array:
        """(n,) squared norms, in at least 32 bits."""


@dataclass(frozen=True)
class Dense:
    array: Array  # (n, d)

    @property
    def size(self) -> int:
        return int(self.array.shape[0])

    @property
    def width(self) -> int:
        return int(self.array.shape[1])

    def rows(self, at: Array) -> Array:
        return self.array[at, :]

    def dots(self, centres: Array, part: slice) -> Array:
        return dots(centres, self.array[part, :])

    def squares(self) -> Array:
        xp = array_namespace(self.array)
        wide = (at_least_32_bits(self.array[band, :]) for band in bands(self.array, self.array.shape[1]))
        return xp.concat([xp.vecdot(rows, rows) for rows in wide])


@dataclass(frozen=True)
class Points:
    factors: tuple[Factor, ...]
    norms: Array  # (n,) squared

    @classmethod
    def of(cls, *factors: Factor) -> Points:
        """
        >>> points = Points.of(Dense(np.array([[3.0, 4.0], [0.0, 0.0]])))
        >>> points.norms, points.between(np.array([0, 1]), np.array([0]))
        (array([25.,  0.]), array([[ 0.],
               [25.]]))
        """
        return cls(factors, prod((f.squares() for f in factors[1:]), start=factors[0].squares()))

    @property
    def size(self) -> int:
        return self.factors[0].size

    @cached_property
    def noise(self) -> Array:
        """(n,) what rounding may leave of the squared distance to an equal point."""
        return noise(self.norms, sum(factor.width for factor in self.factors))

    def between(self, these: Array, those: Array) -> Array:
        """(m, c) squared distances between two small groups of positions."""
        a, b = self._centres(these), self._centres(those)
        inner = dots(-2 * a.rows[0], b.rows[0])
        for left, right in zip(a.rows[1:], b.rows[1:], strict=True):
            inner *= dots(left, right)
        inner += a.norms[:, None] + b.norms[None, :]  # together, so that both of a pair say the same
        return settled(inner, self.noise[these][:, None])

    def on_host(self, at: Array) -> Points:
        """A few of them, as NumPy arrays."""
        few = self._centres(at)
        return Points(tuple(Dense(to_numpy(at_least_32_bits(rows))) for rows in few.rows), to_numpy(few.norms))

    def to_centres(self, nearest: Array, centres: Array) -> Array:
        """(n,) squared distances to the nearest centre, once these positions are centres too."""
        return self._to(nearest, self._centres(centres))

    def to_others(self, nearest: Array, others: Points) -> Array:
        """(n,) squared distances to the nearest centre, once these points from elsewhere are centres too."""
        for i in range(0, others.size, AT_ONCE):
            few = np.arange(i, min(i + AT_ONCE, others.size))
            nearest = self._to(nearest, others._centres(as_index(few, nearest)))
        return nearest

    def _to(self, nearest: Array, centres: Centres) -> Array:
        xp = array_namespace(nearest)
        parts = bands(nearest, int(centres.norms.shape[0]))
        return xp.concat([xp.minimum(nearest[part], self._nearest(part, centres)) for part in parts])

    def _nearest(self, part: slice, centres: Centres) -> Array:
        """(m,) squared distances of a run of items to the nearest of these centres."""
        xp = array_namespace(self.norms)
        inner = self.factors[0].dots(-2 * centres.rows[0], part)  # centres first: columns have a quick minimum
        for factor, rows in zip(self.factors[1:], centres.rows[1:], strict=True):
            inner *= factor.dots(rows, part)
        inner += centres.norms[:, None]
        return settled(xp.min(inner, axis=0) + self.norms[part], self.noise[part])

    def _centres(self, at: Array) -> Centres:
        return Centres(tuple(factor.rows(at) for factor in self.factors), self.norms[at])


@dataclass(frozen=True)
class Centres:
    """A few points, dense, to measure from."""

    rows: tuple[Array, ...]  # (c, d) of each factor
    norms: Array  # (c,) squared


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


def as_index(positions: Ints, like: Array) -> Array:
    """Positions as an index of arrays of this kind, on the same device."""
    return positions if is_numpy_array(like) else array_namespace(like).asarray(positions, device=device(like))


def largest(array: Array, k: int) -> tuple[Array, float]:
    """Positions of the k largest numbers, in no order, and the largest of the others (−inf if there are none).

    >>> largest(np.array([3.0, 9.0, 1.0, 5.0]), 2)
    (array([3, 1]), 3.0)
    """
    xp = array_namespace(array)
    n = int(array.shape[0])
    if k >= n:
        return xp.arange(n, device=device(array)), -np.inf
    if k == 0:
        return xp.arange(0, device=device(array)), float(xp.max(array))
    if is_numpy_array(array):
        order = np.argpartition(array, n - k - 1)[n - k - 1 :]
    else:
        order = xp.flip(xp.topk(array, k + 1).indices, axis=(0,))
    return order[1:], float(array[order[0]])
