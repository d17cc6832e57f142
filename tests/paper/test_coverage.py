"""Coverage, claimed exactly as far as PAPER.md's last section allows: at a fixed alpha, outside D_cal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import betabinom

from shortlist.conformal import of_truth
from shortlist.queries.candidate_set import CandidateSet
from tests.backends import draw, softmax


def covered(query: CandidateSet, seed: int, n_cal: int, n: int) -> int:
    """How many of n new items have their truth in the set that n_cal others calibrated."""
    probs = softmax(n_cal + n, 10, seed=seed)
    labels = draw(np.sqrt(probs), seed=seed + 1)  # the model is too sure of itself: coverage must not need it right
    learnt = query.calibrate(probs[:n_cal], labels[:n_cal])
    assert learnt.threshold is not None
    return int((of_truth(probs[n_cal:], labels[n_cal:]) >= learnt.threshold).sum())


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("quantile", ["plain", "corrected"])
@pytest.mark.parametrize("seed", range(5))
def test_coverage_is_above_the_beta_binomial_bound(alpha: float, quantile: str, seed: int) -> None:
    n_cal, n = 500, 5000
    j = math.ceil((n_cal + (quantile == "corrected")) * (1 - alpha) - 1e-9)
    bound = betabinom(n, j, n_cal + 1 - j).ppf(0.001)
    query = CandidateSet(alpha=alpha, quantile=quantile)  # type: ignore[arg-type]
    assert covered(query, seed=1000 * seed, n_cal=n_cal, n=n) >= bound


def test_covered_counts_follow_the_beta_binomial() -> None:
    """Not only above its lowest point: the mean over many splits is where the distribution has it."""
    n_cal, n, alpha, splits = 100, 200, 0.1, 300
    counts = [covered(CandidateSet(alpha=alpha), seed=7 * s, n_cal=n_cal, n=n) for s in range(splits)]
    j = math.ceil(n_cal * (1 - alpha) - 1e-9)
    law = betabinom(n, j, n_cal + 1 - j)
    assert np.mean(counts) == pytest.approx(law.mean(), abs=4 * law.std() / math.sqrt(splits))


@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_the_corrected_quantile_covers_on_average(alpha: float) -> None:
    n = 500
    shares = [
        covered(CandidateSet(alpha=alpha, quantile="corrected"), seed=3 * s, n_cal=99, n=n) / n for s in range(200)
    ]
    assert np.mean(shares) >= 1 - alpha
