from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace, device

from shortlist.costs import Bits
from shortlist.plans import Plan, nested, stage_cost
from shortlist.probabilities import before, check_labels, check_probs
from shortlist.queries.uncalibrated import Uncalibrated
from shortlist.types import Array, CostModel


@dataclass(frozen=True)
class Oracle(Uncalibrated):
    """The best list there is: everything down to the truth. A bound to compare with, not something to ask.

    Eq. 1 charges log2(rank + 1); the authors charge log2(rank), a list with no "None": `none_option=False`.

    >>> import numpy as np
    >>> probs, truth = np.array([[0.5, 0.3, 0.1, 0.1]]), np.array([1])
    >>> Oracle().plan(probs, truth).charge(truth).round(3), Oracle(none_option=False).plan(probs, truth).charge(truth)
    (array([1.585]), array([1.]))
    """

    cost: CostModel = Bits()
    none_option: bool = True

    def price(self, probs: Array) -> Array:
        """The charge to expect if the truth is drawn from the probabilities."""
        xp = array_namespace(probs)
        shown = xp.arange(1, probs.shape[1] + 1, dtype=xp.int64, device=device(probs))
        charge = stage_cost(shown, xp.full_like(shown, probs.shape[1]), self.cost, none_option=self.none_option)
        ranked = xp.astype(xp.sort(probs, axis=1, descending=True), xp.float64)
        return xp.vecdot(ranked, charge[None, :])  # row by row: a matrix product rounds with the number of rows

    def plan(self, probs: Array, truth: Array) -> Plan:
        check_labels(truth, check_probs(probs).shape[0], probs.shape[1], "truth")
        xp = array_namespace(probs)
        place = 1 + xp.count_nonzero(before(probs, truth), axis=1)
        return nested(probs, place[:, None], reach=0.0, none_option=self.none_option)
