"""Steps 5 and 6: quantiles, the authors' quantile, and the trap of subtracting in float32."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.conformal import GRID, members, of_truth, threshold_at
from shortlist.queries.candidate_set import CandidateSet
from tests.backends import draw, softmax


@pytest.mark.parametrize("n", [1, 2, 10, 49, 50, 100, 500])
def test_the_plain_quantile_is_equation_3(n: int) -> None:
    """The smallest score s such that a share of at least 1 − α of all scores is no larger."""
    p = np.random.default_rng(n).random(n)
    scores = np.sort(1 - p)
    for alpha in GRID[1:]:
        need = math.ceil(n * (1 - alpha) - 1e-9)
        q = next(s for s in scores if (scores <= s).sum() >= need)
        assert 1 - threshold_at(p, alpha) == q
    assert threshold_at(p, 0.0) == 0.0


def test_whole_numbers_are_not_pushed_up_by_rounding() -> None:
    """100 · (1 − 0.42) is 58.00000000000001 in floating point, and the 58th score all the same."""
    p = np.linspace(1, 0.01, 100)
    assert math.ceil(100 * (1 - 0.42)) == 59
    assert threshold_at(p, 0.42) == p[57]


@pytest.mark.parametrize("n", [9, 19, 20, 99, 500])
def test_the_corrected_quantile_counts_the_item_to_come(n: int) -> None:
    p = np.sort(np.random.default_rng(n).random(n))[::-1]
    for alpha in (0.05, 0.1, 0.5):
        j = math.ceil((n + 1) * (1 - alpha) - 1e-9)
        assert threshold_at(p, alpha, "corrected") == (0.0 if j > n else p[j - 1])
    assert threshold_at(p, 0.0, "corrected") == 0.0


@pytest.mark.parametrize("n", [1, 2, 7, 50, 500, 501])
@pytest.mark.parametrize("seed", range(5))
def test_the_authors_quantile_is_numpys_higher(n: int, seed: int) -> None:
    p = np.random.default_rng(seed).random(n)
    for alpha in (*np.linspace(0, 0.98, 50).tolist(), *np.random.default_rng(seed).random(20).tolist()):
        assert 1 - threshold_at(p, alpha, "authors") == np.quantile(1 - p, 1 - alpha, method="higher")


def test_the_authors_quantile_at_zero_is_the_largest_score() -> None:
    p = np.array([0.9, 0.2, 0.5])
    assert threshold_at(p, 0.0, "authors") == 0.2


def test_subtracting_in_float32_drops_items_out_of_their_own_sets() -> None:
    """The reason why thresholds live on the scale of probabilities."""
    probs = softmax(2000, 50, sharp=4).astype(np.float32)
    labels = draw(probs)
    truths = of_truth(probs, labels)
    dropped = 0
    for i in range(len(truths)):
        score = np.float32(1) - truths[i]
        dropped += int(truths[i] < np.float32(1) - score)
        assert members(probs[i : i + 1], float(truths[i]))[0, labels[i]]
    assert dropped > 100


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_item_at_the_threshold_is_in_its_own_set(dtype: str) -> None:
    probs = softmax(300, 20, sharp=3).astype(dtype)
    labels = draw(probs)
    for alpha in (0.02, 0.1, 0.31, 0.5):
        query = CandidateSet(alpha=alpha).calibrate(probs, labels)
        inside = query.plan(probs).holds(labels) & (of_truth(probs, labels) >= query.threshold)
        assert inside.sum() == math.ceil(300 * (1 - alpha) - 1e-9)
