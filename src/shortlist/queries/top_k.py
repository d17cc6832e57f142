from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from shortlist.costs import COST, ByName
from shortlist.plans import FixedCuts, Plan, nested
from shortlist.types import CostModel, Predictions, ShortlistError


@dataclass(frozen=True)
class TopK(FixedCuts):
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
        if not isinstance(self.k, int | np.integer) or self.k < 1:
            raise ShortlistError(f"top_k: k must be a whole number of at least 1, got {self.k!r}")

    def _cut(self, batch: Predictions) -> Plan:
        probs = batch.probs
        xp = array_namespace(probs)
        top = xp.sort(probs, axis=1, descending=True)[:, : self.k]
        missed = xp.clip(1 - xp.sum(xp.astype(top, xp.float64), axis=1), 0.0, 1.0)
        return nested(probs, [[min(self.k, probs.shape[1])]], reach=missed[:, None])
