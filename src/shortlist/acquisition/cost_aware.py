from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shortlist.acquisition.method import Method, Value, as_pool
from shortlist.types import Ints, Price, Rng, ShortlistError


@dataclass(frozen=True)
class CostAware:
    """Any method, ranked by what it teaches per cost: (1 + g)^d / price (eq. 6).

    >>> import numpy as np
    >>> from shortlist.acquisition.entropy import Entropy
    >>> probs = np.array([[0.5, 0.5], [0.6, 0.4]])
    >>> CostAware(Entropy()).select(probs, n=1, rng=np.random.default_rng(0), price=np.array([3.0, 1.0]))
    array([1])
    """

    inner: Method
    d: float = 0.3

    def __post_init__(self) -> None:
        if not 0 <= self.d <= 100:  # 2^d is as far as numbers go; the paper has d = 0.3 and 1.2
            raise ShortlistError(f"cost_aware: d must be from 0 to 100, got {self.d}")
        if not isinstance(self.inner, Method):
            raise ShortlistError(f"cost_aware: needs a method to wrap, such as Entropy(), got {self.inner!r}")

    @property
    def needs(self) -> frozenset[str]:
        return self.inner.needs | {"probs"}  # prices are made from them

    def select(self, pool: Any, *, n: int, rng: Rng, price: Price = None, **fields: Any) -> Ints:
        if price is None:
            raise ShortlistError("CostAware needs price: pass price=query.price, or one number per item")
        return self.inner.choose(as_pool(pool, fields), n, rng, Value(price, self.d))
