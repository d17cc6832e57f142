from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.random import Random
from shortlist.types import Pool


def test_every_item_is_as_likely_as_any_other() -> None:
    counts = np.zeros(12)
    for seed in range(3000):
        counts[Random().select(Pool(size=12), n=4, rng=np.random.default_rng(seed))] += 1
    assert chisquare(counts).pvalue > 1e-3


def test_cost_aware_draws_with_weight_one_over_price() -> None:
    price = np.array([1.0, 2.0, 4.0])
    first = np.zeros(3)
    for seed in range(7000):
        first[CostAware(Random()).select(Pool(size=3), n=1, rng=np.random.default_rng(seed), price=price)] += 1
    assert chisquare(first, 7000 / price / (1 / price).sum()).pvalue > 1e-3


def test_the_size_of_the_pool_is_all_it_needs() -> None:
    rng = np.random.default_rng
    assert Random().needs == frozenset()
    by_size = Random().select(Pool(size=9), n=4, rng=rng(0))
    assert by_size.tolist() == Random().select(np.full((9, 2), 0.5), n=4, rng=rng(0)).tolist()
