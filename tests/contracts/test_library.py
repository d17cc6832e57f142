"""The names that other programs call, used exactly as the design writes them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from shortlist import R52, Badge, Campaign, CandidateSet, CostAware, Entropy, KernelSVM, Simulated
from tests.backends import softmax


def test_one_part_alone_on_probabilities_from_anywhere() -> None:
    rng = np.random.default_rng(0)
    probs = softmax(900, 20)
    labels = np.array([rng.choice(20, p=p) for p in probs])
    cal_probs, cal_labels, pool_probs, truth = probs[:300], labels[:300], probs[300:], labels[300:]
    z = rng.standard_normal((600, 8))

    query = CandidateSet().calibrate(cal_probs, cal_labels)
    picked = CostAware(Badge()).select(pool_probs, embeddings=z, price=query.price(pool_probs), n=200, rng=rng)
    plan = query.plan(pool_probs[picked])
    bits = plan.charge(truth[picked])

    assert query.alpha is not None
    assert query.threshold is not None
    assert len(set(picked.tolist())) == 200
    assert (plan.sizes.shape, plan.cuts.shape, plan.order.shape) == ((200,), (200, 1), (200, 20))
    assert bits.shape == (200,)


@pytest.mark.data
def test_a_whole_campaign(tmp_path: Path) -> None:
    folder = Path(os.environ.get("SHORTLIST_DATA", "")) / "r52"
    if not folder.is_dir() or "SHORTLIST_DATA" not in os.environ:
        pytest.skip("SHORTLIST_DATA names no folder with r52/train.csv and r52/test.csv")
    data = R52(folder)
    campaign = Campaign(tmp_path / "r52", dataset=data, model=KernelSVM(C=10, gamma=1), query=CandidateSet(n_cal=100),
                        acquisition=CostAware(Entropy(), d=1.2), initial=300, budget=600, rounds=3, seed=0)  # fmt: skip
    with campaign:
        seen = [
            (round.number, round.accuracy, round.relative_cost, round.alpha, round.mean_set_size)
            for round in campaign.run(Simulated(data.labels))
        ]
    assert [number for number, *_ in seen] == [1, 2, 3]
    assert all(value is not None for value in seen[-1])
