from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.acquisition.method import Sequential, Value
from shortlist.types import Array, Ints, Pool, Rng

TILE = 1 << 24  # numbers of a distance tile held at once


@dataclass(frozen=True)
class CoreSet(Sequential):
    """K-centre greedy: again and again the item furthest from everything labelled or chosen.

    Its gain is the distance to the nearest centre over the largest such distance.

    >>> z = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 0.0], [4.0, 0.0]])
    >>> CoreSet().select(None, embeddings=z, labelled_embeddings=z[:1], n=2, rng=np.random.default_rng(0))
    array([2, 3])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"embeddings", "labelled_embeddings"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        assert pool.embeddings is not None
        xp = array_namespace(pool.embeddings)
        centre = xp.mean(pool.embeddings, axis=0)  # squared norms far from 0 would drown small distances
        z = pool.embeddings - centre
        norms = xp.vecdot(z, z)
        centres = None if pool.labelled_embeddings is None else pool.labelled_embeddings - centre
        nearest = _nearest(z, norms, centres)  # (n,) squared distance to the nearest centre
        open_ = xp.ones(z.shape[0], dtype=xp.bool, device=device(z))
        chosen: list[int] = []
        while len(chosen) < n:
            furthest = xp.max(xp.where(open_, nearest, xp.zeros_like(nearest)))
            if not bool(furthest > 0):  # everything left sits on a centre
                return np.concatenate([np.asarray(chosen, np.int64), value.filler(open_, rng)])[:n]
            # squared distances are infinite while there is no centre at all: every gain is then 1
            gain = xp.sqrt(nearest / furthest) if bool(xp.isfinite(furthest)) else xp.ones_like(nearest)
            worth = xp.where(open_, value(gain), xp.full_like(gain, -xp.inf))
            best = int(xp.argmax(worth))
            chosen.append(best)
            open_[best] = False
            nearest = xp.minimum(nearest, _squared(z, norms, z[best : best + 1, :])[:, 0])
        return np.asarray(chosen, np.int64)


def _squared(z: Array, norms: Array, centres: Array) -> Array:
    """(n, m) squared distances, exactly 0 where an item sits on a centre."""
    xp = array_namespace(z)
    sums = norms[:, None] + xp.vecdot(centres, centres)[None, :]
    squared = sums - 2 * (z @ centres.T)
    # cancellation leaves noise of the size of the norms; distances below it are none
    return xp.where(squared <= 4 * xp.finfo(z.dtype).eps * sums, xp.zeros_like(squared), squared)


def _nearest(z: Array, norms: Array, centres: Array | None) -> Array:
    """(n,) squared distance to the nearest of the centres, in tiles; infinite if there is none."""
    xp = array_namespace(z)
    nearest = xp.full(z.shape[0], xp.inf, dtype=z.dtype, device=device(z))
    if centres is None:
        return nearest
    rows = max(1, TILE // max(1, z.shape[0]))
    for start in range(0, centres.shape[0], rows):
        nearest = xp.minimum(nearest, xp.min(_squared(z, norms, centres[start : start + rows, :]), axis=1))
    return nearest
