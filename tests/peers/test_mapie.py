"""The same sets as MAPIE, which uses the corrected quantile and takes in classes up to 1e-8 below the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from shortlist.conformal import members, of_truth
from shortlist.queries.candidate_set import CandidateSet
from tests.backends import Matrix, draw, softmax

mapie = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")

TOLERANCE = 1e-8  # MAPIE's own


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose inputs are its probabilities."""

    def __init__(self, n_classes: int = 2) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def predict_proba(self, probs: Matrix) -> Matrix:
        return probs

    def predict(self, probs: Matrix) -> Any:
        return probs.argmax(axis=1)


def mapie_sets(cal: Matrix, labels: Any, probs: Matrix, level: float) -> Any:
    classifier = mapie.SplitConformalClassifier(
        Given(cal.shape[1]), confidence_level=level, conformity_score="lac", prefit=True
    )
    return classifier.conformalize(cal, labels).predict_set(probs)[1][:, :, 0]


@pytest.mark.filterwarnings("ignore:WARNING. your conformalization dataset has less labels")
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(("n_classes", "sharp"), [(2, 1.0), (10, 2.0), (100, 3.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_sets_on_random_probabilities(level: float, n_classes: int, sharp: float, seed: int) -> None:
    cal = softmax(500, n_classes, seed=seed, sharp=sharp)
    labels, probs = draw(cal, seed=seed + 50), softmax(2000, n_classes, seed=seed + 100, sharp=sharp)
    query = CandidateSet(alpha=1 - level, quantile="corrected").calibrate(cal, labels)
    assert query.threshold is not None
    ours, theirs = members(probs, query.threshold), mapie_sets(cal, labels, probs, level)
    within = (probs < query.threshold) & (probs >= query.threshold - 2 * TOLERANCE)
    assert np.array_equal(ours[~within], theirs[~within])
    assert within.mean() < 1e-4  # the tolerance hardly ever decides
    plan = query.plan(probs)
    sizes = theirs.sum(axis=1)
    untouched = ~within.any(axis=1)
    assert np.array_equal(plan.sizes[untouched], np.where(sizes == 0, n_classes, sizes)[untouched])


def test_where_the_tolerance_decides_mapie_has_one_class_more() -> None:
    cal = softmax(500, 5)
    labels = draw(cal)
    query = CandidateSet(alpha=0.1, quantile="corrected").calibrate(cal, labels)
    assert query.threshold is not None
    t = query.threshold
    for below, taken in ((0.5 * TOLERANCE, True), (4 * TOLERANCE, False)):
        row = np.array([[t - below, 1 - t + below, 0, 0, 0]])
        assert members(row, t)[0].tolist() == [False, True, False, False, False]
        assert bool(mapie_sets(cal, labels, row, 0.9)[0, 0]) == taken


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_the_same_sets_in_float32_but_for_the_tolerance(level: float) -> None:
    cal = softmax(500, 20).astype(np.float32)
    labels, probs = draw(cal), softmax(2000, 20, seed=1).astype(np.float32)
    query = CandidateSet(alpha=1 - level, quantile="corrected").calibrate(cal, labels)
    assert query.threshold is not None
    differ = members(probs, query.threshold) != mapie_sets(cal, labels, probs, level)
    assert (np.abs(probs[differ] - query.threshold) <= 1.2e-7).all()  # 1 − (1 − p) in float32
    assert of_truth(members(cal, query.threshold), labels).mean() >= level
