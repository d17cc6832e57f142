from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace, device

from shortlist.costs import COST, ByName
from shortlist.plans import Plan, Uncalibrated, nested, stage_cost
from shortlist.probabilities import before, check_labels, check_probs
from shortlist.types import Array, CostModel


@dataclass(frozen=True)
class Oracle(Uncalibrated):
    """The best list there is: everything down to the truth. A bound to compare with, not something to ask.

    Eq. 1 charges log2(rank + 1); the authors charge log2(rank), a list with no "None": `none_option=False`.

    >>> probs, truth = [[0.5, 0.3, 0.1, 0.1]], [1]
    >>> Oracle().plan(probs, truth).charge(truth).round(3), Oracle(none_option=False).plan(probs, truth).charge(truth)
    (array([1.585]), array([1.]))
    """

    cost: ByName[CostModel] = COST
    none_option: bool = True

    def price(self, probs: Array) -> Array:
        """(n,) the charge to expect if the truth is drawn from the probabilities.

        >>> Oracle().price([[0.5, 0.5]])
        array([1.])
        """
        probs = check_probs(probs)
        xp = array_namespace(probs)
        shown = xp.arange(1, probs.shape[1] + 1, dtype=xp.int64, device=device(probs))
        charge = stage_cost(shown, xp.full_like(shown, probs.shape[1]), self.cost, none_option=self.none_option)
        ranked = xp.astype(xp.sort(probs, axis=1, descending=True), xp.float64)
        return xp.vecdot(ranked, charge[None, :])  # row by row: a matrix product rounds with the number of rows

    def plan(self, probs: Array, truth: Array) -> Plan:
        """The classes down to the truth; the rest is never asked.

        >>> Oracle().plan([[0.5, 0.3, 0.2]], [1]).sets
        [array([0, 1])]
        """
        probs = check_probs(probs)
        truth = check_labels(truth, probs.shape[0], probs.shape[1], "truth")
        xp = array_namespace(probs)
        place = 1 + xp.count_nonzero(before(probs, truth), axis=1)
        return nested(probs, place[:, None], reach=0.0, none_option=self.none_option)
