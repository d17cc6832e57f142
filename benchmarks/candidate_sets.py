"""Candidate sets for 50,000 × 100 probabilities, beside MAPIE's `predict_set`, in one run on the same data.

    python benchmarks/candidate_sets.py

MAPIE is given the probabilities themselves (an estimator that returns its inputs), so that both sides do the same
work: check the input, threshold it, hand back the sets as a mask. MAPIE adds the most probable class of each item;
`CandidateSet.plan` adds the size of each set. Thresholding alone leaves the checks out. The last line also lists
the classes of every set in order of probability, which a plan works out when somebody asks for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bench import Report, best_of, realistic
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

from shortlist.conformal import members
from shortlist.queries.candidate_set import CandidateSet

N, N_CLASSES, N_CAL, RUNS = 50_000, 100, 5_000, 15


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose inputs are its probabilities."""

    def __init__(self, n_classes: int = N_CLASSES) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def predict_proba(self, probs: Any) -> Any:
        return probs

    def predict(self, probs: Any) -> Any:
        return probs.argmax(axis=1)


def main() -> None:
    probs, labels = realistic(N + N_CAL, N_CLASSES, seed=0)
    cal, cal_labels, pool = probs[:N_CAL], labels[:N_CAL], np.ascontiguousarray(probs[N_CAL:])
    mapie = SplitConformalClassifier(Given(), confidence_level=0.9, prefit=True).conformalize(cal, cal_labels)
    query = CandidateSet(alpha=0.1, quantile="corrected").calibrate(cal, cal_labels)
    assert query.threshold is not None
    threshold = query.threshold

    theirs = mapie.predict_set(pool)[1][:, :, 0]
    differ = int((theirs != members(pool, threshold)).sum())

    def sizes_too() -> Any:
        return query.plan(pool).sizes

    def classes_too() -> Any:
        return query.plan(pool).classes

    slow, alone, whole, listed = (
        best_of(RUNS, lambda: mapie.predict_set(pool)),
        best_of(RUNS, lambda: members(pool, threshold)),
        best_of(RUNS, sizes_too),
        best_of(3, classes_too),
    )
    note = "MAPIE is given the probabilities themselves. Thresholding alone leaves out the checks of the input."
    report = Report(f"Candidate sets, {N:,} × {N_CLASSES} float32, alpha = 0.1", ("mapie", "scikit-learn"), note)
    report.measured("MAPIE predict_set", {"s": slow})
    report.measured("thresholding alone", {"s": alone, "×": slow / alone}, at_least={"×": 20})
    report.measured("plan: checks, sets, sizes", {"s": whole, "×": slow / whole}, at_least={"×": 5})
    report.measured("plan and its classes in order", {"s": listed, "×": slow / listed})
    report.measured("mean set size", {"classes": float(query.plan(pool).sizes.mean())})
    report.bar("entries that differ", f"{differ} of {theirs.size:,}", "≤ 1e-6 (MAPIE's tolerance)", differ <= 5)
    report.finish()


if __name__ == "__main__":
    main()
