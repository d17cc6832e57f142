from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shortlist.costs import COST, ByName
from shortlist.plans import FixedCuts, Plan, nested
from shortlist.types import CostModel, Predictions


@dataclass(frozen=True)
class OneBit(FixedCuts):
    """ "Is it this one?" and nothing more: a miss leaves a partial label.

    >>> OneBit().plan([[0.1, 0.7, 0.1, 0.1]]).charge([3])
    array([1.])
    """

    about: ClassVar[str] = "“Is it this class?” and nothing more: a no leaves the item with a partial label."

    cost: ByName[CostModel] = COST

    def _cut(self, batch: Predictions) -> Plan:
        return nested(batch.matrix, [[1]], reach=0.0, exhaustive=False)
