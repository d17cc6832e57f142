from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace, device

from shortlist.conformal import costs_by_size
from shortlist.costs import Bits
from shortlist.plans import Plan, nested
from shortlist.probabilities import check_probs
from shortlist.queries.uncalibrated import Uncalibrated
from shortlist.rows import as_batch, of_batches
from shortlist.types import Array, CostModel, Predictions


@dataclass(frozen=True)
class OneBit(Uncalibrated):
    """ "Is it this one?" and nothing more: a miss leaves a partial label.

    >>> import numpy as np
    >>> OneBit().plan(np.array([[0.1, 0.7, 0.1, 0.1]])).charge(np.array([3]))
    array([1.])
    """

    cost: CostModel = Bits()

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        given = as_batch(probs).matrix
        hit, _ = costs_by_size(given.shape[1], self.cost, given)
        return array_namespace(hit).zeros(given.shape[0], dtype=hit.dtype, device=device(hit)) + hit[1]

    def plan(self, probs: Array) -> Plan:
        return nested(check_probs(probs), [[1]], reach=0.0, exhaustive=False)
