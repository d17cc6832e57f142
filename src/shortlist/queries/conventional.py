from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shortlist.costs import COST, ByName
from shortlist.plans import Plan, Uncalibrated, conventional
from shortlist.probabilities import check_probs
from shortlist.rows import as_batch, of_batches
from shortlist.types import Array, CostModel, Predictions


@dataclass(frozen=True)
class Conventional(Uncalibrated):
    """All classes at once."""

    short: ClassVar[str] = "CQ"
    about: ClassVar[str] = "Conventional query: the annotator chooses among all classes at once."

    cost: ByName[CostModel] = COST

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        """(n,) what asking about each item costs.

        >>> Conventional(cost="seconds").price([[0.5, 0.5]])
        array([1.59])
        """
        return conventional(as_batch(probs).matrix).expected(self.cost)

    def plan(self, probs: Array) -> Plan:
        """All classes in one stage.

        >>> Conventional().plan([[0.2, 0.8]]).sets
        [array([1, 0])]
        """
        return conventional(check_probs(probs))
