"""Rows of features as directions: points of the unit sphere, and which of them are close to each other.

Products in bulk are quick and a little off, by how much depends on the tile and the device. So they only decide where
they are sure; the few pairs around the threshold are worked out one by one in 64 bits. Which pairs are close is then
one fact, however it is come by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.acquisition.tiles import bands
from shortlist.devices import on_cuda
from shortlist.types import Array

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
    """The cosine above which two directions are closer than δ: ‖u − v‖² = 2 − 2 u·v.

    >>> threshold(1.0)
    0.5
    """
    return 1 - max(delta**2, NOTHING) / 2


def distance(cosine: float) -> float:
    """From 0 to 2, the most there is on a sphere.

    >>> distance(0.5), distance(-np.inf)
    (1.0, 2.0)
    """
    return float(np.sqrt(2 - 2 * np.clip(cosine, -1.0, 1.0)))


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
