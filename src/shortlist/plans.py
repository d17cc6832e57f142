"""A Plan is everything an annotator can be asked: for each item an order of the classes, and cuts in it.

A stage shows the classes between two cuts plus "None of the above"; the last stage shows what is left. One
function charges a plan for an answer, one gives its expected charge. A query design is whatever turns
probabilities into a Plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self, SupportsIndex

from array_api_compat import array_namespace, device

from shortlist.costs import Bits
from shortlist.probabilities import as_array, before, check_labels, check_probs, count_true, ranking
from shortlist.rows import as_batch, of_batches
from shortlist.types import Array, CostModel, Predictions, ShortlistError


class Uncalibrated:
    """What designs that learn nothing from calibration have in common."""

    n_cal = 0
    state: Mapping[str, Any] | None = None

    def calibrate(self, probs: Array, labels: Array) -> Self:
        """A copy: this design learns nothing.

        >>> from shortlist import TopK
        >>> TopK(2).calibrate([[0.5, 0.5]], [0])
        TopK(k=2, cost=Bits())
        """
        return copy(self)

    def restored(self, state: Mapping[str, Any] | None) -> Self:
        """The same query: there is nothing to bring back.

        >>> from shortlist import TopK
        >>> TopK(3).restored(None)
        TopK(k=3, cost=Bits())
        """
        return self


class FixedCuts(Uncalibrated):
    """What designs have in common that cut every item at the same places: `_cut` is all they differ in."""

    cost: CostModel

    def _cut(self, batch: Predictions) -> Plan:
        """The plan of a batch whose rows have been looked at."""
        raise NotImplementedError

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        """(n,) the expected charge of each item.

        >>> from shortlist import Conventional, OneBit, TopK
        >>> [design.price([[0.5, 0.25, 0.25, 0.0]]).round(2).item() for design in (Conventional(), TopK(1), OneBit())]
        [2.0, 1.79, 1.0]
        """
        return self._cut(as_batch(probs)).expected(self.cost)

    def plan(self, probs: Array) -> Plan:
        """The classes to show each item with, stage by stage.

        >>> from shortlist import Conventional, OneBit, TopK
        >>> [design.plan([[0.2, 0.7, 0.1]]).sets for design in (Conventional(), TopK(2), OneBit())]
        [[array([1, 0, 2])], [array([1, 0])], [array([1])]]
        """
        return self._cut(Predictions(check_probs(probs)))


@dataclass(frozen=True, eq=False)
class Plan:
    """Order and cuts for n items. Whole numbers are int64 and charges float64, in the probabilities' kind of array.

    Query designs make plans, from what follows; there is seldom a reason to make one by hand.

    Parameters
    ----------
    probs : (n, L) what the order is made of; not to be written to afterwards.
    cuts : (n, S), S at least 1: one stage ends here and the next begins; L stands for "no cut".
    reach : (n, S) the probability, from 0 to 1, that the stage after this cut is asked: that a list misses.
    member : (n, L) the classes before the only cut; None: the most probable ones.
    exhaustive : False: nothing is asked after the last cut; a miss leaves a partial label.
    none_option : False: "None of the above" is not offered (an oracle's list always holds the truth).

    >>> import numpy as np
    >>> plan = nested(np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]), [[1], [2]], reach=0.1)
    >>> plan
    Plan(2 items, 3 classes, sizes 1 to 2)
    >>> plan.sizes, plan.classes.tolist()
    (array([1, 2]), [0, 1, 2])
    >>> plan.charge(np.array([0, 0])).round(3)  # a hit in one of two; a miss in a full house
    array([1.   , 1.585])
    >>> plan[1].sets  # of the items of `plan[i]`, `plan[a:b]` or `plan[mask]`
    [array([1, 2])]
    """

    probs: Array  # (n, L)
    cuts: Array  # (n, S)
    reach: Array  # (n, S)
    member: Array | None = None  # (n, L)
    exhaustive: bool = True
    none_option: bool = True

    def __len__(self) -> int:
        return int(self.cuts.shape[0])

    def __repr__(self) -> str:
        xp = array_namespace(self.cuts)
        sizes = f", sizes {int(xp.min(self.sizes))} to {int(xp.max(self.sizes))}" if len(self) else ""
        return f"Plan({len(self)} items, {self.n_classes} classes{sizes})"

    def __getitem__(self, items: Any) -> Plan:
        """The plan of some items: a position, a slice, a mask, or several positions. One position is a plan of one."""
        if isinstance(items, SupportsIndex) and not hasattr(items, "shape"):
            position = range(len(self))[items]
            items = slice(position, position + 1)
        elif not isinstance(items, slice):
            items = array_namespace(self.cuts).asarray(as_array(items), device=device(self.cuts))
            items = items if items.ndim else items[None]
        arrays = {name: getattr(self, name) for name in ("probs", "cuts", "reach", "member")}
        return replace(self, **{name: array[items, :] for name, array in arrays.items() if array is not None})

    @property
    def n_classes(self) -> int:
        """L, how many classes there are."""
        return int(self.probs.shape[1])

    @property
    def sizes(self) -> Array:
        """(n,) int64: how many classes the first stage shows; L of an item that is asked conventionally."""
        return self.cuts[:, 0]

    @property
    def sets(self) -> list[Array]:
        """The classes that the first stage shows, (k,) int64 of every item, most probable first."""
        starts, sizes = self.offsets[:-1].tolist(), self.sizes.tolist()
        listed = [self.classes[start : start + size] for start, size in zip(starts, sizes, strict=True)]
        whole = [item for item, size in enumerate(sizes) if size == self.n_classes]
        for item, order in zip(whole, ranking(self.probs[whole, :]), strict=True):
            listed[item] = order
        return listed

    @property
    def order(self) -> Array:
        """(n, L) int64: every class of every item, stage by stage, most probable first.

        >>> conventional([[0.2, 0.5, 0.3]]).order
        array([[1, 2, 0]])
        """
        order = ranking(self.probs)
        if self.member is None:
            return order
        xp = array_namespace(order)
        later = xp.astype(~xp.take_along_axis(self.member, order, axis=1), xp.int8)
        return xp.take_along_axis(order, xp.argsort(later, axis=1, stable=True), axis=1)

    @cached_property
    def offsets(self) -> Array:
        """(n + 1,) int64: item i's classes are classes[offsets[i]:offsets[i + 1]].

        >>> nested([[0.2, 0.5, 0.3], [0.2, 0.5, 0.3]], [[2], [1]], reach=0.1).offsets
        array([0, 2, 3])
        """
        xp = array_namespace(self.cuts)
        ends = xp.cumulative_sum(self._last_cuts)
        return xp.concat([xp.zeros(1, dtype=ends.dtype, device=device(ends)), ends])

    @cached_property
    def classes(self) -> Array:
        """int64: the classes up to each item's last cut, most probable first, one item after the other."""
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
        return xp.max(xp.where(self.cuts < self.n_classes, self.cuts, xp.zeros_like(self.cuts)), axis=1)

    def charge(self, truth: Array, cost: CostModel = Bits()) -> Array:
        """(n,) float64: what the answer `truth` costs, every stage up to the one that holds it (eq. 1).

        >>> nested([[0.2, 0.4, 0.3, 0.1]] * 2, [[1]], reach=0.6).charge([1, 2]).round(3)
        array([1.   , 2.585])
        """
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
        """(n,) float64: the charge to expect, each stage weighted with the probability that it is asked (eq. 6).

        >>> nested([[0.2, 0.4, 0.3, 0.1]], [[1]], reach=0.6).expected().round(3)
        array([1.951])
        """
        first, *later = self._stage_costs(cost)
        for s, stage in enumerate(later):
            first = first + self.reach[:, s] * stage
        return first

    def rank(self, truth: Array) -> Array:
        """(n,) int64: place of each item's truth in its order, from 0; L for a truth beyond the last cut.

        >>> nested([[0.2, 0.5, 0.3]] * 2, [[2]], reach=0.1).rank([2, 0])
        array([1, 3])
        """
        xp = array_namespace(self.cuts)
        truth = xp.asarray(check_labels(truth, len(self), self.n_classes, "truth"), device=device(self.cuts))
        earlier = before(self.probs, truth)
        listed = self.member if self.member is not None else xp.ones_like(earlier)
        rank = xp.astype(count_true(earlier & listed), self.cuts.dtype)
        own = xp.take_along_axis(listed, xp.astype(truth, xp.int64)[:, None], axis=1)[:, 0]
        return xp.where(own & (rank < self._last_cuts), rank, xp.full_like(rank, self.n_classes))

    def holds(self, truth: Array) -> Array:
        """(n,) whether the first stage shows the truth.

        >>> nested([[0.2, 0.5, 0.3]] * 2, [[2]], reach=0.1).holds([2, 0])
        array([ True, False])
        """
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
    priced = cost(xp.astype(xp.where(options < 1, xp.ones_like(options), options), xp.float64))
    price = xp.astype(priced, xp.float64, copy=False)
    return xp.where(left <= 1, xp.zeros_like(price), price)


def conventional(probs: Array) -> Plan:
    """No cut: all classes at once."""
    probs = as_array(probs)
    xp = array_namespace(probs)
    cuts = xp.full((probs.shape[0], 1), probs.shape[1], dtype=xp.int64, device=device(probs))
    return Plan(probs, cuts=cuts, reach=_spread(0.0, cuts))


def shortlisted(probs: Array, member: Array, reach: Array | float) -> Plan:
    """One cut: the classes where `member` (n, L) is true come first. An empty or full list is asked without a cut."""
    probs, member = as_array(probs), as_array(member)
    xp = array_namespace(probs)
    sizes = count_true(member)[:, None]
    cuts = xp.where(sizes == 0, xp.full_like(sizes, probs.shape[1]), sizes)
    return Plan(probs, cuts=cuts, reach=_spread(reach, cuts), member=member)


def nested(probs: Array, cuts: Any, reach: Array | float, *, exhaustive: bool = True, none_option: bool = True) -> Plan:
    """Any number of cuts (n, S), each row rising, in the order of the probabilities; L stands for "no cut"."""
    probs = as_array(probs)
    xp = array_namespace(probs)
    n, n_classes = probs.shape
    cuts = xp.asarray(cuts, dtype=xp.int64, device=device(probs))
    if cuts.ndim != 2 or cuts.shape[0] not in (1, n):
        raise ShortlistError(f"cuts: need one row of cuts for all items or one each, got shape {tuple(cuts.shape)}")
    if cuts.shape[1] == 0:
        return conventional(probs)
    stuck = (cuts[:, 1:] <= cuts[:, :-1]) & (cuts[:, 1:] < n_classes)
    if bool(xp.any((cuts < 1) | (cuts > n_classes))) or bool(xp.any(stuck)):
        raise ShortlistError(f"cuts: each row must rise from 1 or more to {n_classes} or less, where it may stay")
    cuts = cuts + xp.zeros((n, 1), dtype=xp.int64, device=device(probs))
    return Plan(probs, cuts=cuts, reach=_spread(reach, cuts), exhaustive=exhaustive, none_option=none_option)


def _spread(reach: Array | float, cuts: Array) -> Array:
    xp = array_namespace(cuts)
    return xp.zeros(tuple(cuts.shape), dtype=xp.float64, device=device(cuts)) + reach


class QueryDesign(Protocol):
    """Something that turns probabilities into a Plan.

    Costs are in the unit of `cost`: bits, seconds, or what else a cost model counts. Its settings are recorded as a
    `Model`'s are (types.py): by `spec()`, fields or public attributes.
    """

    @property
    def cost(self) -> CostModel: ...
    @property
    def n_cal(self) -> int:
        """How many of a round's items `calibrate` learns from; 0 for a design that learns nothing."""

    @property
    def state(self) -> Mapping[str, Any] | None:
        """What calibration found, as JSON can hold it; None before. Only the design reads it, but for the `alpha` and
        `threshold` that reports show where they are there."""

    def restored(self, state: Mapping[str, Any] | None) -> QueryDesign:
        """The query as the calibration that left this state made it: how a campaign goes on where it stopped."""

    def calibrate(self, probs: Array, labels: Array) -> QueryDesign:
        """A new query that has learnt from labelled probabilities; this one stays as it was.

        Parameters
        ----------
        probs : (n, L) of items that the model has not learnt from; rows sum to 1.
        labels : (n,) the true class of each, as a column of `probs`, from 0.
        """

    def price(self, probs: Array) -> Array:
        """(n,) the expected charge of each item, in the unit of `cost`. Runs inside the stream: nothing is planned.

        A design marked `of_batches` (rows.py) is given the whole batch, so that logits need not become probabilities.
        """

    def plan(self, probs: Array) -> Plan:
        """What n items are asked with: for each an order of the L classes, and where a list of it ends."""
