from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shortlist.costs import COST, ByName
from shortlist.plans import FixedCuts, Plan, conventional
from shortlist.types import CostModel, Predictions


@dataclass(frozen=True)
class Conventional(FixedCuts):
    """All classes at once."""

    short: ClassVar[str] = "CQ"
    about: ClassVar[str] = "Conventional query: the annotator chooses among all classes at once."

    cost: ByName[CostModel] = COST

    def _cut(self, batch: Predictions) -> Plan:
        return conventional(batch.matrix)
