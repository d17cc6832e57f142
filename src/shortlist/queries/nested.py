from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.costs import COST, ByName
from shortlist.plans import Plan, nested
from shortlist.probabilities import check_labelled, check_probs, tempered
from shortlist.queries.conventional import Conventional, UntilCalibrated
from shortlist.queries.cuts import ROWS, best_ends, grid, least_cost, left_at
from shortlist.queries.guard import check_guard, pays
from shortlist.queries.recalibration import Recalibration, recalibrated
from shortlist.rows import as_batch, of_batches
from shortlist.types import Array, CostModel, Predictions, ShortlistError

AT_THEIR_WORD = Recalibration()


@dataclass(frozen=True)
class Nested(UntilCalibrated):
    """Several short lists one after another, cut where an answer is expected to cost least; then all that is left.

    It asks conventionally until `calibrate` gives a `CalibratedNested`, which believes probabilities as far as labelled
    items bear them out, and makes no lists where they would not have been cheaper.

    Parameters
    ----------
    stages : at most so many lists; 1: a list of each item's own best size
    n_cal : how many of a round's items it learns from; 0: from what the model said of answered items before it learnt
        from them, which costs no question
    guard : ask conventionally unless lists would have been cheaper on the items it learns from, by the lower 95% limit
    cost : what choosing one of so many options costs

    >>> believed = Nested().restored({"temperature": 1.0, "share": 0.0, "pays": True})  # at their word
    >>> plan = believed.plan([[0.6, 0.2, 0.1, 0.05, 0.05], [0.2] * 5])
    >>> plan.cuts
    array([[1, 2, 3],
           [5, 5, 5]])
    >>> plan.expected().round(2)
    array([1.7 , 2.32])
    """

    short: ClassVar[str] = "Nested"
    about: ClassVar[str] = (
        "Nested lists: the most probable classes and “None of the above”, after “None” the next ones, and so on; "
        "each list ends where an answer is expected to be cheapest."
    )

    state: ClassVar[None] = None  # nothing is known before calibration

    stages: int = 3
    n_cal: int = 0
    guard: bool = True
    cost: ByName[CostModel] = COST

    def __post_init__(self) -> None:
        for name, least in (("stages", 1), ("n_cal", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ShortlistError(f"nested: {name} must be a whole number of at least {least}, got {value!r}")
        check_guard("nested", self.guard, self.n_cal)

    def restored(self, state: Mapping[str, Any] | None) -> CalibratedNested:
        """The query as the calibration that left this state made it; without one, it asks conventionally.

        >>> Nested().restored({"temperature": 1.0, "share": 0.5, "pays": True}).plan([[0.9, 0.1, 0, 0]]).cuts
        array([[1, 4, 4]])
        """
        if not state:
            return CalibratedNested(self, pays=False)
        prior = state.get("prior")
        believed = Recalibration(state["temperature"], state["share"], None if prior is None else tuple(prior))
        return CalibratedNested(self, believed, state["pays"])

    def calibrate(self, probs: Array, labels: Array) -> CalibratedNested:
        """A new query that has learnt from labelled probabilities how far to believe them: use what comes back.

        Parameters
        ----------
        probs : (n, L) of items that the model has not learnt from; rows sum to 1.
        labels : (n,) the true class of each, as a column of `probs`, from 0.

        >>> import numpy as np
        >>> sure, wrong = np.array([[0.97, 0.01, 0.01, 0.01]] * 40), np.arange(40) % 4
        >>> Nested().calibrate(sure, wrong).plan(sure[:1]).sizes  # a model that knows nothing
        array([4])
        """
        probs, labels = check_labelled("nested", probs, labels)
        # D_cal is drawn at random from what is asked; what came before may hold other classes
        found = CalibratedNested(self, recalibrated(probs, labels, by_class=self.n_cal > 0))
        if not self.guard:
            return found
        charges = found.plan(probs).charge(labels, self.cost)
        return replace(found, pays=pays(charges, Conventional(self.cost).price(probs)))


@dataclass(frozen=True)
class CalibratedNested:
    """Nested lists and what calibration found: how far to believe probabilities, and whether lists pay."""

    query: Nested
    believed: Recalibration = AT_THEIR_WORD
    pays: bool = True

    @property
    def n_cal(self) -> int:
        return self.query.n_cal

    @property
    def cost(self) -> CostModel:
        return self.query.cost

    @property
    def state(self) -> dict[str, Any]:
        found = {name: value for name, value in asdict(self.believed).items() if value is not None}
        return {**{name: list(v) if isinstance(v, tuple) else v for name, v in found.items()}, "pays": self.pays}

    def restored(self, state: Mapping[str, Any] | None) -> CalibratedNested:
        return self.query.restored(state)

    def calibrate(self, probs: Array, labels: Array) -> CalibratedNested:
        """Calibrate anew: nothing of this calibration is kept."""
        return self.query.calibrate(probs, labels)

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        """(n,) what each item's answer is expected to cost, in the unit of `cost`; bits here.

        >>> CalibratedNested(Nested(), Recalibration(share=0.2)).price([[0.9, 0.1, 0.0, 0.0]]).round(3)
        array([1.33])
        """
        batch = as_batch(probs)
        if not self.pays:
            return Conventional(self.cost).price(batch)
        n_classes = batch.matrix.shape[1]
        xp = array_namespace(batch.probs)
        parts = [least_cost(left, n_classes, self.query.stages, self.cost) for left in self._left(batch.probs)]
        return xp.concat(parts) if len(parts) > 1 else parts[0]

    def plan(self, probs: Array) -> Plan:
        """For each item (n, L) the lists after which an answer is expected to cost least.

        >>> query = CalibratedNested(Nested(stages=1), Recalibration(share=0.2))
        >>> query.plan([[0.9, 0.1, 0.0, 0.0], [0.3, 0.3, 0.2, 0.2]]).sizes
        array([1, 4])
        """
        probs = check_probs(probs)
        if not self.pays:
            return Conventional(self.cost).plan(probs)
        xp = array_namespace(probs)
        order = probs if self.believed.prior is None else self.believed(probs)
        parts = [best_ends(left, probs.shape[1], self.query.stages, self.cost) for left in self._left(probs)]
        cuts, reach = (xp.concat(arrays) for arrays in zip(*parts, strict=True))
        return nested(order, cuts, reach)

    def _left(self, probs: Array) -> list[Array]:
        """(G, m) what is believed to be left after the classes up to each end, some rows at a time."""
        xp = array_namespace(probs)
        n, n_classes = probs.shape
        rows = ROWS if is_numpy_array(probs) else max(n, 1)
        blocks = (probs[start : start + rows, :] for start in range(0, max(n, 1), rows))
        if self.believed.prior is not None:
            return [left_at(xp.sort(self.believed(block), axis=1, stable=False)) for block in blocks]
        ends = xp.asarray(grid(n_classes), dtype=xp.float64, device=device(probs))
        rising = (tempered(xp.sort(block, axis=1, stable=False), self.believed.temperature) for block in blocks)
        return [self.believed.left(left_at(block), ends, n_classes) for block in rising]
