"""A pool as a trained network leaves it: probabilities, clustered embeddings, features of unit length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from bench import realistic

Floats: TypeAlias = npt.NDArray[Any]

BLOCK = 50_000  # items made together


@dataclass(frozen=True)
class Arrays:
    """A pool, and what is labelled beside it. Features are the embeddings at unit length."""

    probs: Floats  # (n, L)
    embeddings: Floats  # (n, D)
    features: Floats  # (n, D)
    losses: Floats  # (n,)
    price: Floats  # (n,)
    labelled_embeddings: Floats  # (m, D)
    labelled_features: Floats  # (m, D)
    delta: float = 0.0  # ProbCover's radius

    @classmethod
    def make(cls, n: int, n_classes: int, width: int, labelled: int, seed: int = 0) -> Arrays:
        rng = np.random.default_rng(seed)
        everything = clustered(n + labelled, width, rng)
        unit = everything / np.linalg.norm(everything, axis=1, keepdims=True)
        blocks = [realistic(min(BLOCK, n - start), n_classes, seed + start)[0] for start in range(0, n, BLOCK)]
        return cls(
            probs=np.concatenate(blocks),
            embeddings=everything[:n],
            features=unit[:n],
            losses=rng.exponential(size=n).astype(np.float32),
            price=rng.uniform(1, np.log2(n_classes + 1), n),
            labelled_embeddings=everything[n:],
            labelled_features=unit[n:],
        )

    @property
    def size(self) -> int:
        return len(self.price)

    def first(self, n: int) -> Arrays:
        kinds = ("probs", "embeddings", "features", "losses", "price")
        return replace(self, **{name: getattr(self, name)[:n] for name in kinds})

    def astype(self, dtype: str) -> Arrays:
        kinds = ("probs", "embeddings", "features", "labelled_embeddings", "labelled_features")
        return replace(self, **{name: getattr(self, name).astype(dtype, copy=False) for name in kinds})

    def covering(self, degree: int) -> Arrays:
        """With the delta within which an item has so many others on average."""
        return replace(self, delta=radius(self.features, degree))


def clustered(n: int, width: int, rng: np.random.Generator, clusters: int = 100) -> Floats:
    """(n, D) float32 from a mixture of Gaussians, some narrow and some wide."""
    centres = rng.standard_normal((clusters, width), dtype=np.float32)
    spread = rng.uniform(0.3, 0.9, clusters).astype(np.float32)
    of = rng.integers(clusters, size=n)
    return centres[of] + spread[of, None] * rng.standard_normal((n, width), dtype=np.float32)


def radius(features: Floats, degree: int, sample: int = 100) -> float:
    """The distance within which items of unit length have so many others on average, by the first of them."""
    squared = 2 - 2 * (features[:sample] @ features.T)
    rank = min(degree + 1, len(features) - 1) * len(squared)  # each item is its own neighbour
    return float(np.sqrt(max(0.0, np.partition(squared, rank, axis=None)[rank])))
