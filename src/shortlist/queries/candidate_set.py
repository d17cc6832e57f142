from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, Self

from array_api_compat import array_namespace

from shortlist.conformal import (
    LAC,
    Quantile,
    Score,
    best_on_grid,
    best_threshold,
    members,
    miss_share,
    of_truth,
    price_table,
    set_sizes,
    threshold_at,
)
from shortlist.costs import Bits
from shortlist.plans import Plan, conventional, shortlisted
from shortlist.probabilities import check_labels, check_probs
from shortlist.rows import as_batch, count_at_least, of_batches
from shortlist.types import Array, CostModel, Predictions, ShortlistError


@dataclass(frozen=True)
class CandidateSet:
    """The paper's query: the classes that conform, plus "None of the above"; the rest only after "None".

    Left alone, the error rate is the one that makes labels cheapest on the calibration set (α*); with `alpha`
    given it stays there. Before it is calibrated it asks conventionally.

    >>> import numpy as np
    >>> probs = np.array([[0.7, 0.2, 0.05, 0.05], [0.1, 0.6, 0.2, 0.1], [0.3, 0.3, 0.3, 0.1]])
    >>> query = CandidateSet().calibrate(probs, np.array([0, 1, 3]))
    >>> query.threshold, round(query.alpha, 3), query.plan(probs).sizes
    (0.6, 0.333, array([1, 1, 4]))
    """

    n_cal: int = 500
    alpha: float | None = None
    threshold: float | None = None
    search: Literal["exact", "grid"] = "exact"
    quantile: Quantile = "plain"
    score: Score = LAC()
    cost: CostModel = Bits()
    fixed: float | None = field(default=None, repr=False)  # the alpha the user asked for, kept through calibration

    def __post_init__(self) -> None:
        if self.n_cal < 1:
            raise ShortlistError(f"candidate_set: n_cal must be at least 1, got {self.n_cal}")
        if self.alpha is not None and not 0 <= self.alpha < 1:
            raise ShortlistError(f"candidate_set: alpha must be from 0 to 1, 1 itself left out, got {self.alpha}")
        if self.search not in ("exact", "grid"):
            raise ShortlistError(f"candidate_set: search must be exact or grid, got {self.search!r}")
        if self.quantile not in ("plain", "corrected", "authors"):
            raise ShortlistError(f"candidate_set: quantile must be plain, corrected or authors, got {self.quantile!r}")
        if self.threshold is None and self.alpha is not None:
            object.__setattr__(self, "fixed", self.alpha)

    def calibrate(self, probs: Array, labels: Array) -> Self:
        check_labels(labels, check_probs(probs).shape[0], probs.shape[1])
        if probs.shape[0] == 0:
            raise ShortlistError("candidate_set: no labelled item to calibrate on")
        conformity = self.score(probs)
        truths = of_truth(conformity, labels)
        if self.fixed is not None:
            return self.at(self.fixed, threshold_at(truths, self.fixed, self.quantile))
        threshold = (
            best_threshold(conformity, labels, self.cost)
            if self.search == "exact"
            else best_on_grid(conformity, labels, self.cost, self.quantile)
        )
        return self.at(miss_share(truths, threshold), threshold)

    def at(self, alpha: float | None, threshold: float | None) -> Self:
        return replace(self, alpha=alpha, threshold=threshold)

    @of_batches
    def price(self, probs: Array | Predictions) -> Array:
        batch = as_batch(probs)
        if not self.threshold:
            return conventional(batch.matrix).expected(self.cost)
        sizes = self._sizes(batch, self.threshold)
        table = price_table(batch.matrix.shape[1], self.alpha or 0.0, self.cost, sizes)
        return array_namespace(table).take(table, sizes)

    def plan(self, probs: Array) -> Plan:
        check_probs(probs)
        if not self.threshold:
            return conventional(probs)
        conformity = self.score(probs)
        return shortlisted(probs, members(conformity, self.threshold), self.alpha or 0.0)

    def _sizes(self, batch: Predictions, threshold: float) -> Array:
        """(n,) how many classes conform; for LAC without a matrix of conformities, which logits would have to make."""
        if isinstance(self.score, LAC):
            return count_at_least(batch, threshold)
        return set_sizes(self.score(batch.probs), threshold)
