from __future__ import annotations

from dataclasses import dataclass

from shortlist.acquisition.method import Method, Selector, Value
from shortlist.types import Ints, Pool, Price, Rng, ShortlistError, check_numbers


@dataclass(frozen=True)
class CostAware(Selector):
    """Any method, ranked by what it teaches per cost: (1 + g)^d / price (eq. 6).

    >>> import numpy as np
    >>> from shortlist.acquisition.entropy import Entropy
    >>> probs = np.array([[0.5, 0.5], [0.6, 0.4]])
    >>> CostAware(Entropy()).select(probs, n=1, rng=np.random.default_rng(0), price=np.array([3.0, 1.0]))
    array([1])
    """

    short = "Cost({inner})"
    about = "As the method inside, weighed against what each item is expected to cost."

    inner: Method
    d: float = 0.3

    def __post_init__(self) -> None:
        check_numbers("cost_aware", d=self.d)
        if not 0 <= self.d <= 100:  # 2^d is as far as numbers go; the paper has d = 0.3 and 1.2
            raise ShortlistError(f"cost_aware: d must be from 0 to 100, got {self.d}")
        if not isinstance(self.inner, Method):
            raise ShortlistError(f"cost_aware: needs a method to wrap, such as Entropy(), got {self.inner!r}")

    @property
    def needs(self) -> frozenset[str]:
        return self.inner.needs | {"probs"}  # prices are made from them

    def _select(self, pool: Pool, n: int, rng: Rng, price: Price) -> Ints:
        if price is None:
            raise ShortlistError("CostAware needs price: pass price=query.price, or one number per item")
        return self.inner.choose(pool, n, rng, Value(price, self.d))
