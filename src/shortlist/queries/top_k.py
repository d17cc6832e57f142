from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from shortlist.costs import COST, ByName
from shortlist.plans import Plan, Uncalibrated, nested
from shortlist.probabilities import as_array, check_probs
from shortlist.types import Array, CostModel, ShortlistError


@dataclass(frozen=True)
class TopK(Uncalibrated):
    """The k most probable classes for every item, the rest after "None" (the n-ary query).

    >>> TopK(1).plan([[0.1, 0.7, 0.1, 0.1]]).charge([1])
    array([1.])
    """

    short: ClassVar[str] = "Top{k}"
    about: ClassVar[str] = (
        "The most probable classes, as many for every item, and “None of the above”; the others after “None”."
    )

    k: int = 1
    cost: ByName[CostModel] = COST

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ShortlistError(f"top_k: k must be at least 1, got {self.k}")

    def price(self, probs: Array) -> Array:
        """(n,) the expected charge of each item.

        >>> TopK(1).price([[0.5, 0.25, 0.25]])
        array([1.5])
        """
        return self._cut(as_array(probs, "probs")).expected(self.cost)

    def plan(self, probs: Array) -> Plan:
        """One cut after the k most probable classes.

        >>> TopK(2).plan([[0.1, 0.7, 0.2]]).sets
        [array([1, 2])]
        """
        return self._cut(check_probs(probs))

    def _cut(self, probs: Array) -> Plan:
        xp = array_namespace(probs)
        top = xp.sort(probs, axis=1, descending=True)[:, : self.k]
        missed = xp.clip(1 - xp.sum(xp.astype(top, xp.float64), axis=1), 0.0, 1.0)
        return nested(probs, [[min(self.k, probs.shape[1])]], reach=missed[:, None])
