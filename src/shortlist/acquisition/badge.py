from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.geometry.k_means import Scale, seeds
from shortlist.acquisition.geometry.points import Dense, Points, at_least_32_bits, bands
from shortlist.acquisition.method import Sequential, Value
from shortlist.types import Array, Ints, Pool, Rng, ShortlistError


@dataclass(frozen=True)
class Badge(Sequential):
    """K-means++ over gradient embeddings (onehot(argmax) − p) ⊗ h: unsure items, far from each other.

    The first centre has the largest norm; each next one is drawn by its squared distance D² to the nearest centre.
    The (n, L·D) matrix is never made: ‖u⊗h − u'⊗h'‖² = ‖u‖²‖h‖² + ‖u'‖²‖h'‖² − 2(u·u')(h·h'). Numbers are kept as
    they come, or in 16 bits with `storage="bfloat16"` (tensors only), and summed in 32 bits at least.

    The gain is D²/ΣD², as the paper has it; under `CostAware` that is next to nothing in a large pool, so draws go
    by 1/price. `scale="max"`, D²/max D², keeps a say for the distance.

    `top=m` keeps the m largest probabilities of each item, for thousands of classes: memory O(n(m + D)). What is left
    out of u has a norm of at most 1/(2√m), so a distance D is off by at most (‖h‖ + ‖h'‖)/(2√m).

    >>> probs = np.array([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4], [1.0, 0.0]])
    >>> Badge().select(probs, embeddings=np.ones((4, 3)), n=1, rng=np.random.default_rng(0))
    array([1])
    """

    scale: Scale = "sum"
    top: int | None = None
    storage: Literal["float32", "bfloat16"] | None = None

    short = "BADGE"
    about = "Items are picked that would change the model most, and differently from each other."
    needs = frozenset({"probs", "embeddings"})

    def __post_init__(self) -> None:
        if self.scale not in ("sum", "max"):
            raise ShortlistError(f"badge: scale must be sum or max, got {self.scale!r}")
        if self.top is not None and self.top < 1:
            raise ShortlistError(f"badge: top must be at least 1, got {self.top}")
        if self.storage not in (None, "float32", "bfloat16"):
            raise ShortlistError(f"badge: storage must be float32 or bfloat16, got {self.storage!r}")

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        return seeds(self.gradients(pool.probs, pool.embeddings), n, rng, value, self.scale)

    def gradients(self, probs: Array, embeddings: Array | None) -> Points:
        """Gradient embeddings u ⊗ h as points, u = onehot(argmax) − p.

        >>> Badge().gradients(np.array([[0.5, 0.5]]), np.array([[3.0, 4.0]])).norms
        array([12.5])
        """
        assert embeddings is not None
        if self.top is not None and self.top < probs.shape[1]:
            u: Dense = Truncated.of(probs, self.top)
        else:
            u = Dense(residuals(probs))
        h = embeddings
        if h.dtype.itemsize > max(4, probs.dtype.itemsize):  # 64 bits beside 32 would make everything 64
            h = array_namespace(h).astype(h, array_namespace(h).float32)
        return Points.of(self._stored(u), self._stored(Dense(h)))

    def _stored(self, factor: Dense) -> Dense:
        if self.storage is None:
            return factor
        xp = array_namespace(factor.array)
        if not hasattr(xp, self.storage):
            raise ShortlistError(f"{self.name}: NumPy has no {self.storage}; give torch tensors, or leave storage out")
        return replace(factor, array=xp.astype(factor.array, getattr(xp, self.storage)))


def residuals(probs: Array) -> Array:
    """(n, L) onehot(argmax) − p, made whole: expanded into sums of p, dot products of sure items cancel to noise."""
    xp = array_namespace(probs)
    u = -probs
    u[xp.arange(probs.shape[0], device=device(probs)), xp.argmax(probs, axis=1)] += 1
    return u


@dataclass(frozen=True)
class Truncated(Dense):
    """Residuals, `array` (n, m), of which only those of the m most probable classes are kept."""

    classes: Array  # (n, m)
    n_classes: int

    @classmethod
    def of(cls, probs: Array, m: int) -> Truncated:
        """
        >>> Truncated.of(np.array([[0.125, 0.625, 0.25]]), 2).rows(np.array([0]))
        array([[ 0.   ,  0.375, -0.25 ]])
        """
        xp = array_namespace(probs)
        classes = xp.concat([_most_probable(probs[band, :], m) for band in bands(probs, probs.shape[1])])
        return cls(residuals(xp.take_along_axis(probs, classes, axis=1)), classes, int(probs.shape[1]))

    def rows(self, at: Array) -> Array:
        xp = array_namespace(self.array)
        rows = xp.zeros((at.shape[0], self.n_classes), dtype=self.array.dtype, device=device(self.array))
        rows[xp.arange(at.shape[0], device=device(self.array))[:, None], self.classes[at, :]] = self.array[at, :]
        return rows

    def dots(self, centres: Array, part: slice) -> Array:
        table = at_least_32_bits(centres)  # (c, L)
        array, classes = self.array[part, :], self.classes[part, :]
        first, *others = range(array.shape[1])
        inner = array[None, :, first] * table[:, classes[:, first]]
        for j in others:  # a class at a time, so that nothing of the size (c, m, top) is made
            inner += array[None, :, j] * table[:, classes[:, j]]
        return inner


def _most_probable(probs: Array, m: int) -> Array:
    """(n, m) the most probable classes of each item."""
    if is_numpy_array(probs):
        return np.argpartition(probs, -m, axis=1)[:, -m:].astype(np.int32)
    return array_namespace(probs).topk(probs, m, dim=1).indices
