from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.acquisition.method import Sequential, Value, race
from shortlist.types import Ints, Pool, Rng


@dataclass(frozen=True)
class Random(Sequential):
    """Every item is as good as any other; under `CostAware` drawn with weight 1/price.

    >>> len(Random().select(np.full((5, 2), 0.5), n=3, rng=np.random.default_rng(0)))
    3
    """

    short = "Rand"
    about = "Items are picked at random."
    needs = frozenset()

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        assert pool.size is not None
        return race(value(np.ones(pool.size)), n, rng)
