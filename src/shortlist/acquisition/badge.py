from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.acquisition.method import Sequential, Value
from shortlist.types import Array, Ints, Pool, Rng, ShortlistError


@dataclass(frozen=True)
class Badge(Sequential):
    """K-means++ over gradient embeddings (onehot(argmax) − p) ⊗ h: unsure items, far from each other.

    The first centre has the largest norm; each next one is drawn by its squared distance D² to the nearest centre.
    The (n, L·D) matrix is never made: ‖u⊗h − u'⊗h'‖² = ‖u‖²‖h‖² + ‖u'‖²‖h'‖² − 2(u·u')(h·h').

    The gain is D²/ΣD², as the paper has it; under `CostAware` that is next to nothing in a large pool, so draws go
    by 1/price. `scale="max"`, D²/max D², keeps a say for the distance.

    >>> probs = np.array([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4], [1.0, 0.0]])
    >>> Badge().select(probs, embeddings=np.ones((4, 3)), n=1, rng=np.random.default_rng(0))
    array([1])
    """

    scale: Literal["sum", "max"] = "sum"

    needs: ClassVar[frozenset[str]] = frozenset({"probs", "embeddings"})

    def __post_init__(self) -> None:
        if self.scale not in ("sum", "max"):
            raise ShortlistError(f"badge: scale must be sum or max, got {self.scale!r}")

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        xp = array_namespace(pool.probs)
        gradients = Gradients.of(pool.probs, pool.embeddings)
        nearest = gradients.norms  # (n,) squared distance to the nearest centre; at first, to the origin
        open_ = xp.ones(nearest.shape[0], dtype=xp.bool, device=device(nearest))
        chosen: list[int] = []
        for draw in rng.random(n):
            whole = xp.sum(nearest) if self.scale == "sum" else xp.max(nearest)
            if not bool(whole > 0):  # everything left sits on a centre
                return np.concatenate([np.asarray(chosen, np.int64), value.filler(open_, rng)])[:n]
            worth = value(nearest / whole)
            worth = xp.where(open_, worth, xp.zeros_like(worth))
            best = drawn(worth, float(draw)) if chosen else int(xp.argmax(worth))
            chosen.append(best)
            open_[best] = False
            nearest = xp.minimum(nearest, gradients.squared_distances(best))
            nearest[best] = 0.0
        return np.asarray(chosen, np.int64)


@dataclass(frozen=True)
class Gradients:
    """Gradient embeddings u ⊗ h as their two factors."""

    u: Array  # (n, L) onehot(argmax) − p
    h: Array  # (n, D)
    norms: Array  # (n,) ‖u‖²‖h‖²

    @classmethod
    def of(cls, probs: Array, embeddings: Array | None) -> Gradients:
        assert embeddings is not None
        xp = array_namespace(probs)
        top = xp.argmax(probs, axis=1)[:, None]
        index = xp.arange(probs.shape[1], device=device(probs))[None, :]
        # made whole once: expanded into sums of p, the dot products of sure items would cancel to noise
        u = xp.where(index == top, 1 - probs, -probs)
        h = xp.astype(embeddings, probs.dtype)
        return cls(u, h, xp.vecdot(u, u) * xp.vecdot(h, h))

    def squared_distances(self, centre: int) -> Array:
        """(n,) squared distances of all gradient embeddings to one of them."""
        xp = array_namespace(self.u)
        inner = (self.u @ self.u[centre, :]) * (self.h @ self.h[centre, :])
        return xp.clip(self.norms + self.norms[centre] - 2 * inner, 0.0, None)


def drawn(weights: Array, draw: float) -> int:
    """A position with probability in proportion to its weight; `draw` is uniform on [0, 1).

    >>> [drawn(np.array([1.0, 0.0, 3.0]), draw) for draw in (0.0, 0.24, 0.25, 0.99)]
    [0, 0, 2, 2]
    """
    xp = array_namespace(weights)
    reached = xp.cumulative_sum(xp.astype(weights, xp.float64))
    at = xp.searchsorted(reached, draw * reached[-1:], side="right")
    position = min(int(at[0]), int(weights.shape[0]) - 1)
    return position if bool(weights[position] > 0) else int(xp.argmax(weights))  # rounding at the very end
