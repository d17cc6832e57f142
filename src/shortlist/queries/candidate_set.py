from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from array_api_compat import array_namespace, device

from shortlist.conformal import (
    LAC,
    SCORE,
    Quantile,
    Score,
    best_on_grid,
    best_threshold,
    members,
    miss_share,
    of_truth,
    price_table,
    threshold_at,
)
from shortlist.costs import COST, ByName
from shortlist.plans import Plan, shortlisted
from shortlist.probabilities import check_labelled, check_probs, count_true
from shortlist.queries.conventional import Conventional, UntilCalibrated
from shortlist.queries.guard import check_guard, pays
from shortlist.rows import as_batch, count_at_least, of_batches
from shortlist.types import Array, CostModel, Predictions, ShortlistError, check_numbers

FOLDS = 5  # of the calibration set, for the guard


@dataclass(frozen=True)
class CandidateSet(UntilCalibrated):
    """The paper's query: the classes that conform, plus "None of the above"; the rest only after "None".

    It asks conventionally until `calibrate` gives a `CalibratedSet`, whose `alpha` and `threshold` are what was found.

    Parameters
    ----------
    n_cal : how many of a round's items it learns from; 0: from what the model said of answered items before it learnt
        from them, which costs no question
    alpha : the error rate to calibrate for; None: the one that makes labels cheapest on the calibration set (α*)
    search : with no `alpha`, try every threshold (exact) or the paper's grid of 50 error rates (grid)
    quantile : which empirical quantile stands for an error rate; see `conformal.threshold_at`
    score : how well a class conforms: LAC, APS or RAPS
    cost : what choosing one of so many options costs
    guard : ask conventionally unless lists would have been cheaper on the items it learns from, by the lower 95% limit

    >>> probs = [[0.7, 0.2, 0.05, 0.05], [0.1, 0.6, 0.2, 0.1], [0.3, 0.3, 0.3, 0.1]]
    >>> query = CandidateSet().calibrate(probs, [0, 1, 3])
    >>> query.threshold, round(query.alpha, 3), query.plan(probs).sizes
    (0.6, 0.333, array([1, 1, 4]))
    """

    short: ClassVar[str] = "CSQ"
    about: ClassVar[str] = (
        "Candidate set query: the annotator first sees only the classes the model holds possible, and “None of the "
        "above”; the other classes come only after “None”."
    )

    state: ClassVar[None] = None  # nothing is known before calibration
    threshold: ClassVar[None] = None

    n_cal: int = 500
    alpha: float | None = None
    search: Literal["exact", "grid"] = "exact"
    quantile: Quantile = "plain"
    score: ByName[Score] = SCORE
    cost: ByName[CostModel] = COST
    guard: bool = field(default=False, metadata={"later": True})

    def __post_init__(self) -> None:
        if self.n_cal < 0:
            raise ShortlistError(f"candidate_set: n_cal must be at least 0, got {self.n_cal}")
        check_guard("candidate_set", self.guard, self.n_cal)
        check_numbers("candidate_set", alpha=self.alpha)
        if self.alpha is not None and not 0 <= self.alpha < 1:
            percent = "; 0.05 stands for lists that hold the answer 95 times in 100" if self.alpha >= 1 else ""
            raise ShortlistError(
                f"candidate_set: alpha must be from 0 to 1, 1 itself left out, got {self.alpha}{percent}"
            )
        if self.search not in ("exact", "grid"):
            raise ShortlistError(f"candidate_set: search must be exact or grid, got {self.search!r}")
        if self.quantile not in ("plain", "corrected", "authors"):
            raise ShortlistError(f"candidate_set: quantile must be plain, corrected or authors, got {self.quantile!r}")

    def restored(self, state: Mapping[str, Any] | None) -> CandidateSet | CalibratedSet:
        """The query as the calibration that left this state made it.

        >>> query = CandidateSet(n_cal=5).restored({"alpha": 0.1, "threshold": 0.4})
        >>> query.alpha, query.n_cal, query.state
        (0.1, 5, {'alpha': 0.1, 'threshold': 0.4})
        """
        if state is None:
            waiting = copy(self)
            vars(waiting)["is_waiting"] = True
            return waiting
        return CalibratedSet(self, float(state["alpha"]), float(state["threshold"]), state.get("missed"))

    def calibrate(self, probs: Array, labels: Array) -> CalibratedSet:
        """A new query with the threshold that labelled probabilities call for: use what comes back.

        Parameters
        ----------
        probs : (n, L) of items that the model has not learnt from; rows sum to 1.
        labels : (n,) the true class of each, as a column of `probs`, from 0.

        The new query's `alpha` is a share from 0 to 1; its `threshold` is on the scale of the score, for LAC a
        probability.

        >>> CandidateSet(alpha=0).calibrate([[0.75, 0.25], [0.5, 0.5]], [0, 1]).state
        {'alpha': 0, 'threshold': 0.0}
        """
        probs, labels = check_labelled("candidate_set", probs, labels)
        conformity = self.score(probs)
        truths = of_truth(conformity, labels)
        if self.guard and not self._have_paid(probs, labels):
            return CalibratedSet(self, 0.0, 0.0)
        threshold = self._threshold(conformity, truths, labels)
        alpha = miss_share(truths, threshold) if self.alpha is None else self.alpha
        shown = truths[_is_short(members(conformity, threshold))]
        return CalibratedSet(self, alpha, threshold, miss_share(shown, threshold) if shown.shape[0] else None)

    def _have_paid(self, probs: Array, labels: Array) -> bool:
        """Whether lists were cheaper on items that their threshold was not chosen by, each fold by the others."""
        xp = array_namespace(probs)
        fold = xp.arange(probs.shape[0], device=device(probs)) % FOLDS
        unguarded, charges, whole = replace(self, guard=False), [], []
        for own in range(min(FOLDS, probs.shape[0])):
            if probs.shape[0] > 1:
                query = unguarded.calibrate(probs[fold != own, :], labels[fold != own])
                charges.append(query.plan(probs[fold == own, :]).charge(labels[fold == own], self.cost))
                whole.append(Conventional(self.cost).price(probs[fold == own, :]))
        return bool(charges) and pays(xp.concat(charges), xp.concat(whole))

    def _threshold(self, conformity: Array, truths: Array, labels: Array) -> float:
        if self.alpha is not None:
            return threshold_at(truths, self.alpha, self.quantile)
        if self.search == "exact":
            return best_threshold(conformity, labels, self.cost)
        return best_on_grid(conformity, labels, self.cost, self.quantile)


@dataclass(frozen=True)
class CalibratedSet:
    """A candidate set query and what its calibration found."""

    query: CandidateSet
    alpha: float  # the share of the calibration set that its lists miss, or the error rate that was asked for
    threshold: float  # a class is listed from this conformity on; 0 is the conventional query
    missed: float | None = None  # of the lists that it would have shown, the share that missed; None: not known

    @property
    def n_cal(self) -> int:
        return self.query.n_cal

    @property
    def cost(self) -> CostModel:
        return self.query.cost

    @property
    def score(self) -> Score:
        return self.query.score

    @property
    def state(self) -> dict[str, float]:
        known = {"alpha": self.alpha, "threshold": self.threshold, "missed": self.missed}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def reach(self) -> float:
        """The probability that a list which is shown misses, and the other classes are asked: it enters prices."""
        return self.alpha if self.missed is None else self.missed

    def restored(self, state: Mapping[str, Any] | None) -> CandidateSet | CalibratedSet:
        return self.query.restored(state)

    def calibrate(self, probs: Array, labels: Array) -> CalibratedSet:
        """Calibrate anew: nothing of this calibration is kept."""
        return self.query.calibrate(probs, labels)

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        """(n,) what each item's answer is expected to cost, in the unit of `cost`: its list, and with the
        probability that such a list misses, the other classes after it (eq. 6).

        Parameters
        ----------
        probs : (n, L), rows sum to 1; or a batch, whose rows are not looked at again.

        >>> CandidateSet().restored({"alpha": 0.1, "threshold": 0.3}).price([[0.7, 0.1, 0.1, 0.1]]).round(3)  # bits
        array([1.158])
        """
        if not self.threshold:
            return self.query.price(probs)
        batch = as_batch(probs)
        if isinstance(self.score, LAC):  # without a matrix of conformities, which logits would have to make
            sizes = count_at_least(batch, self.threshold)
        else:
            sizes = count_true(members(self.score(batch.probs), self.threshold))
        table = price_table(batch.matrix.shape[1], self.reach, self.cost, sizes)
        return array_namespace(table).take(table, sizes)

    def plan(self, probs: Array) -> Plan:
        """For each item (n, L) the classes whose conformity reaches `threshold`, then the others after "None".

        >>> CandidateSet().restored({"alpha": 0.1, "threshold": 0.3}).plan([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4]]).sizes
        array([2, 3])
        """
        probs = check_probs(probs)
        if not self.threshold:
            return Conventional(self.cost).plan(probs)
        return shortlisted(probs, members(self.score(probs), self.threshold), self.reach)


def _is_short(member: Array) -> Array:
    """(n,) whether a list is shown: neither empty nor of all classes, which are asked conventionally."""
    sizes = count_true(member)
    return (sizes > 0) & (sizes < member.shape[1])
