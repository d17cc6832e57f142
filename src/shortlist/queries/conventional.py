from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

from shortlist.costs import COST, ByName
from shortlist.plans import FixedCuts, Plan, conventional
from shortlist.rows import of_batches
from shortlist.types import Array, CostModel, Predictions


@dataclass(frozen=True)
class Conventional(FixedCuts):
    """All classes at once."""

    short: ClassVar[str] = "CQ"
    about: ClassVar[str] = "Conventional query: the annotator chooses among all classes at once."

    cost: ByName[CostModel] = COST

    def _cut(self, batch: Predictions) -> Plan:
        return conventional(batch.matrix)


class UntilCalibrated:
    """What designs have in common that ask conventionally until `calibrate` gives a query that has learnt."""

    is_waiting: ClassVar[bool] = False  # of a campaign that has not calibrated yet
    cost: CostModel

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        """(n,) what asking about each item costs conventionally, in the unit of `cost`: with `Bits`, log2(L) bits.

        >>> from shortlist import CandidateSet, Nested
        >>> CandidateSet().price([[0.7, 0.1, 0.1, 0.1]]), Nested().price([[0.5, 0.5]])
        (array([2.]), array([1.]))
        """
        return Conventional(self.cost).price(probs)

    def plan(self, probs: Array) -> Plan:
        """All classes in one stage, with a warning: outside a campaign, whoever plans wants what `calibrate` gives.

        >>> from shortlist import CandidateSet
        >>> CandidateSet().restored(None).plan([[0.2, 0.8]]).sets  # as a campaign asks before its first calibration
        [array([1, 0])]
        """
        plan = Conventional(self.cost).plan(probs)
        if not self.is_waiting:
            told = "is not calibrated and asks about all classes; plan with what calibrate returns:"
            how = "query = query.calibrate(cal_probs, cal_labels)"
            warnings.warn(f"{type(self).__name__} {told} {how}", stacklevel=2)
        return plan
