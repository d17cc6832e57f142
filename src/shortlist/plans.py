"""A Plan is everything an annotator can be asked: for each item an order of the classes, and cuts in it.

A stage shows the classes between two cuts plus "None of the above"; the last stage shows what is left. One
function charges a plan for an answer, one gives its expected charge. A query design is whatever turns
probabilities into a Plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

from array_api_compat import array_namespace, device

from shortlist.costs import Bits
from shortlist.probabilities import before, check_labels, count_true, ranking
from shortlist.types import Array, CostModel, ShortlistError


@dataclass(frozen=True, eq=False)
class Plan:
    """Order and cuts for n items.

    >>> import numpy as np
    >>> plan = nested(np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]), [[1], [2]], reach=0.1)
    >>> plan.sizes, plan.classes.tolist()
    (array([1, 2]), [0, 1, 2])
    >>> plan.charge(np.array([0, 0])).round(3)  # a hit in one of two; a miss in a full house
    array([1.   , 1.585])
    """

    probs: Array  # (n, L), what the order is made of; not to be written to afterwards
    cuts: Array  # (n, S): one stage ends here and the next begins; L stands for "no cut"
    reach: Array  # (n, S): the probability that the stage after this cut is asked
    member: Array | None = None  # (n, L): the classes before the only cut; None: the most probable ones
    exhaustive: bool = True  # False: nothing is asked after the last cut; a miss leaves a partial label
    none_option: bool = True  # False: "None of the above" is not offered (an oracle's list always holds the truth)

    def __len__(self) -> int:
        return int(self.cuts.shape[0])

    @property
    def n_classes(self) -> int:
        return int(self.probs.shape[1])

    @property
    def sizes(self) -> Array:
        """(n,) how many classes the first stage shows."""
        xp = array_namespace(self.cuts)
        if self.cuts.shape[1] == 0:
            return xp.full(len(self), self.n_classes, dtype=self.cuts.dtype, device=device(self.cuts))
        return self.cuts[:, 0]

    @property
    def order(self) -> Array:
        """(n, L) every class of every item, stage by stage, most probable first."""
        order = ranking(self.probs)
        if self.member is None:
            return order
        xp = array_namespace(order)
        later = xp.astype(~xp.take_along_axis(self.member, order, axis=1), xp.int8)
        return xp.take_along_axis(order, xp.argsort(later, axis=1, stable=True), axis=1)

    @cached_property
    def offsets(self) -> Array:
        """(n + 1,): item i's classes are classes[offsets[i]:offsets[i + 1]]."""
        xp = array_namespace(self.cuts)
        ends = xp.cumulative_sum(self._last_cuts)
        return xp.concat([xp.zeros(1, dtype=ends.dtype, device=device(ends)), ends])

    @cached_property
    def classes(self) -> Array:
        """The classes up to each item's last cut, most probable first, one item after the other."""
        xp = array_namespace(self.cuts)
        last = self._last_cuts[:, None]
        if self.member is None:
            cut = last[:, 0] > 0  # without a cut nothing is listed, and nothing needs to be sorted
            place = xp.arange(self.n_classes, device=device(self.cuts))[None, :]
            return xp.astype(ranking(self.probs[cut, :])[place < last[cut, :]], xp.int64)
        item, cls = xp.nonzero(self.member & (last > 0))
        by_weight = xp.argsort(-self.probs[item, cls], stable=True)  # ties stay in index order, as nonzero gave them
        return xp.astype(cls[by_weight[xp.argsort(item[by_weight], stable=True)]], xp.int64)

    @property
    def _last_cuts(self) -> Array:
        """(n,) how many classes stand before the last cut; 0 without one."""
        xp = array_namespace(self.cuts)
        if self.cuts.shape[1] == 0:
            return xp.zeros(len(self), dtype=self.cuts.dtype, device=device(self.cuts))
        return xp.max(xp.where(self.cuts < self.n_classes, self.cuts, xp.zeros_like(self.cuts)), axis=1)

    def charge(self, truth: Array, cost: CostModel = Bits()) -> Array:
        """(n,) what the answer `truth` costs: every stage up to the one that holds it (eq. 1)."""
        xp = array_namespace(self.cuts)
        total = xp.zeros(len(self), dtype=xp.float64, device=device(self.cuts))
        rank = self.rank(truth)
        asked = xp.ones(len(self), dtype=xp.bool, device=device(self.cuts))
        for s, stage in enumerate(self._stage_costs(cost)):
            total = total + xp.where(asked, stage, xp.zeros_like(stage))
            if s < self.cuts.shape[1]:
                asked = asked & (rank >= self.cuts[:, s])
        return total

    def expected(self, cost: CostModel = Bits()) -> Array:
        """(n,) the charge to expect: each stage weighted with the probability that it is asked (eq. 6)."""
        first, *later = self._stage_costs(cost)
        for s, stage in enumerate(later):
            first = first + self.reach[:, s] * stage
        return first

    def rank(self, truth: Array) -> Array:
        """(n,) place of each item's truth in its order, from 0; L for a truth beyond the last cut."""
        xp = array_namespace(self.cuts)
        truth = xp.asarray(check_labels(truth, len(self), self.n_classes, "truth"), device=device(self.cuts))
        earlier = before(self.probs, truth)
        listed = self.member if self.member is not None else xp.ones_like(earlier)
        rank = xp.astype(count_true(earlier & listed), self.cuts.dtype)
        own = xp.take_along_axis(listed, xp.astype(truth, xp.int64)[:, None], axis=1)[:, 0]
        return xp.where(own & (rank < self._last_cuts), rank, xp.full_like(rank, self.n_classes))

    def holds(self, truth: Array) -> Array:
        """(n,) whether the first stage shows the truth."""
        return (self.rank(truth) < self.sizes) | (self.sizes == self.n_classes)

    def _stage_costs(self, cost: CostModel) -> list[Array]:
        xp = array_namespace(self.cuts)
        left = xp.full(len(self), self.n_classes, dtype=self.cuts.dtype, device=device(self.cuts))
        costs, start = [], xp.zeros_like(left)
        for s in range(self.cuts.shape[1]):
            costs.append(stage_cost(self.cuts[:, s] - start, left, cost, none_option=self.none_option))
            left, start = self.n_classes - self.cuts[:, s], self.cuts[:, s]
        return [*costs, stage_cost(left, left, cost)] if self.exhaustive else costs


def stage_cost(shown: Array, left: Array, cost: CostModel, *, none_option: bool = True) -> Array:
    """What it costs to look for a class among `shown` of the `left` that remain.

    With some held back there is one option more, "None of the above". One class left, or none, is not asked.
    """
    xp = array_namespace(shown, left)
    options = xp.where(shown < left, shown + int(none_option), left)
    price = cost(xp.astype(xp.where(options < 1, xp.ones_like(options), options), xp.float64))
    return xp.where(left <= 1, xp.zeros_like(price), price)


def conventional(probs: Array) -> Plan:
    """No cut: all classes at once."""
    xp = array_namespace(probs)
    none = (probs.shape[0], 0)
    cuts = xp.zeros(none, dtype=xp.int64, device=device(probs))
    return Plan(probs, cuts=cuts, reach=xp.zeros(none, dtype=xp.float64, device=device(probs)))


def shortlisted(probs: Array, member: Array, reach: Array | float) -> Plan:
    """One cut: the classes where `member` (n, L) is true come first. An empty or full list is asked without a cut."""
    xp = array_namespace(probs)
    sizes = count_true(member)[:, None]
    cuts = xp.where(sizes == 0, xp.full_like(sizes, probs.shape[1]), sizes)
    return Plan(probs, cuts=cuts, reach=_spread(reach, cuts), member=member)


def nested(probs: Array, cuts: Any, reach: Array | float, *, exhaustive: bool = True, none_option: bool = True) -> Plan:
    """Any number of cuts (n, S), each row rising, in the order of the probabilities; L stands for "no cut"."""
    xp = array_namespace(probs)
    n, n_classes = probs.shape
    cuts = xp.asarray(cuts, dtype=xp.int64, device=device(probs))
    if cuts.ndim != 2 or cuts.shape[0] not in (1, n):
        raise ShortlistError(f"cuts: need one row of cuts for all items or one each, got shape {tuple(cuts.shape)}")
    stuck = (cuts[:, 1:] <= cuts[:, :-1]) & (cuts[:, 1:] < n_classes)
    if bool(xp.any((cuts < 1) | (cuts > n_classes))) or bool(xp.any(stuck)):
        raise ShortlistError(f"cuts: each row must rise from 1 or more to {n_classes} or less, where it may stay")
    cuts = cuts + xp.zeros((n, 1), dtype=xp.int64, device=device(probs))
    return Plan(probs, cuts=cuts, reach=_spread(reach, cuts), exhaustive=exhaustive, none_option=none_option)


def _spread(reach: Array | float, cuts: Array) -> Array:
    xp = array_namespace(cuts)
    return xp.zeros(tuple(cuts.shape), dtype=xp.float64, device=device(cuts)) + reach


class QueryDesign(Protocol):
    """Something that turns probabilities into a Plan."""

    @property
    def cost(self) -> CostModel: ...
    @property
    def n_cal(self) -> int:
        """How many of a round's items `calibrate` learns from; 0 for a design that learns nothing."""

    @property
    def alpha(self) -> float | None: ...
    @property
    def threshold(self) -> float | None: ...

    def calibrate(self, probs: Array, labels: Array) -> Self:
        """A new, frozen query that has learnt from labelled probabilities."""

    def at(self, alpha: float | None, threshold: float | None) -> Self:
        """The query as an earlier calibration left it: how a campaign goes on where it stopped."""

    def price(self, probs: Array) -> Array:
        """(n,) the expected charge of each item. Runs inside the stream: nothing is planned.

        A design marked `of_batches` (rows.py) is given the whole batch, so that logits need not become probabilities.
        """

    def plan(self, probs: Array) -> Plan: ...
