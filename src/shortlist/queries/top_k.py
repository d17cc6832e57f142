from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from shortlist.conformal import costs_by_size
from shortlist.costs import Bits
from shortlist.plans import Plan, nested
from shortlist.probabilities import check_probs
from shortlist.queries.uncalibrated import Uncalibrated
from shortlist.types import Array, CostModel, ShortlistError


@dataclass(frozen=True)
class TopK(Uncalibrated):
    """The k most probable classes for every item, the rest after "None" (the n-ary query).

    >>> import numpy as np
    >>> TopK(1).plan(np.array([[0.1, 0.7, 0.1, 0.1]])).charge(np.array([1]))
    array([1.])
    """

    k: int = 1
    cost: CostModel = Bits()

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ShortlistError(f"top_k: k must be at least 1, got {self.k}")

    def price(self, probs: Array) -> Array:
        hit, miss = costs_by_size(probs.shape[1], self.cost, probs)
        k = min(self.k, probs.shape[1])
        return hit[k] + self._missed(probs) * miss[k]

    def plan(self, probs: Array) -> Plan:
        reach = self._missed(check_probs(probs))[:, None]
        return nested(probs, [[min(self.k, probs.shape[1])]], reach=reach)

    def _missed(self, probs: Array) -> Array:
        """(n,) the probability that the truth is not among the k."""
        xp = array_namespace(probs)
        top = xp.sort(probs, axis=1, descending=True)[:, : self.k]
        return xp.clip(1 - xp.sum(xp.astype(top, xp.float64), axis=1), 0.0, 1.0)
