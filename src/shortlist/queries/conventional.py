from __future__ import annotations

from dataclasses import dataclass

from shortlist.costs import Bits
from shortlist.plans import Plan, conventional
from shortlist.probabilities import check_probs
from shortlist.queries.uncalibrated import Uncalibrated
from shortlist.rows import as_batch, of_batches
from shortlist.types import Array, CostModel, Predictions


@dataclass(frozen=True)
class Conventional(Uncalibrated):
    """All classes at once.

    >>> import numpy as np
    >>> Conventional().price(np.full((2, 8), 1 / 8))
    array([3., 3.])
    """

    cost: CostModel = Bits()

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        return conventional(as_batch(probs).matrix).expected(self.cost)

    def plan(self, probs: Array) -> Plan:
        return conventional(check_probs(probs))
