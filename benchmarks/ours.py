"""Our methods as calls on the same arrays as the peers', plain and cost-aware."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from alone import Work
from arrays import Arrays

from shortlist.acquisition.badge import Badge
from shortlist.acquisition.core_set import CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.least_confident import LeastConfident
from shortlist.acquisition.margin import Margin
from shortlist.acquisition.method import Method
from shortlist.acquisition.prob_cover import ProbCover
from shortlist.acquisition.random import Random
from shortlist.acquisition.saal import Saal
from shortlist.acquisition.typi_clust import TypiClust

Given: TypeAlias = tuple[Method, dict[str, Any]]  # a method, and the fields of the pool that it looks at

METHODS: dict[str, Callable[[Arrays], Given]] = {
    "Random": lambda a: (Random(), {"size": a.size}),
    "Entropy": lambda a: (Entropy(), {"probs": a.probs}),
    "Margin": lambda a: (Margin(), {"probs": a.probs}),
    "LeastConfident": lambda a: (LeastConfident(), {"probs": a.probs}),
    "Saal": lambda a: (Saal(), {"losses": a.losses}),
    "Saal, diverse": lambda a: (Saal(diversity=True), {"losses": a.losses}),
    "Badge": lambda a: (Badge(), {"probs": a.probs, "embeddings": a.embeddings}),
    "CoreSet": lambda a: (CoreSet(), {"embeddings": a.embeddings, "labelled_embeddings": a.labelled_embeddings}),
    "TypiClust": lambda a: (TypiClust(), _features(a)),
    "ProbCover": lambda a: (ProbCover(delta=a.delta), _features(a)),
}


def _features(arrays: Arrays) -> dict[str, Any]:
    return {"features": arrays.features, "labelled_features": arrays.labelled_features}


def call(name: str, arrays: Arrays, n: int, cost_aware: bool = False) -> Work:
    """`select`, whole, as a user calls it, with the same random stream every time."""
    method, fields = METHODS[name](arrays)
    if cost_aware:
        return lambda: CostAware(method).select(None, n=n, rng=np.random.default_rng(0), price=arrays.price, **fields)
    return lambda: method.select(None, n=n, rng=np.random.default_rng(0), **fields)


def ours(name: str, cost_aware: bool = False) -> Callable[[Arrays, int], Work]:
    return partial(call, name, cost_aware=cost_aware)
