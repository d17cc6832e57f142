from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shortlist.costs import COST, ByName
from shortlist.plans import Plan, Uncalibrated, nested
from shortlist.probabilities import check_probs
from shortlist.rows import as_batch, of_batches
from shortlist.types import Array, CostModel, Predictions


@dataclass(frozen=True)
class OneBit(Uncalibrated):
    """ "Is it this one?" and nothing more: a miss leaves a partial label.

    >>> OneBit().plan([[0.1, 0.7, 0.1, 0.1]]).charge([3])
    array([1.])
    """

    about: ClassVar[str] = "“Is it this class?” and nothing more: a no leaves the item with a partial label."

    cost: ByName[CostModel] = COST

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        """(n,) what one question costs, whatever the answer.

        >>> OneBit().price([[0.1, 0.7, 0.2]])
        array([1.])
        """
        return _one_class(as_batch(probs).matrix).expected(self.cost)

    def plan(self, probs: Array) -> Plan:
        """The most probable class, and nothing after it.

        >>> OneBit().plan([[0.1, 0.7, 0.2]]).sets
        [array([1])]
        """
        return _one_class(check_probs(probs))


def _one_class(probs: Array) -> Plan:
    return nested(probs, [[1]], reach=0.0, exhaustive=False)
