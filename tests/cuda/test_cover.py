"""ProbCover's picks on a device are those of the plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.prob_cover import ProbCover
from tests.cuda.device import DEVICE, INTERPRETED, needs_kernels

pytestmark = needs_kernels

N, PICKS = (60, 30) if INTERPRETED else (3_000, 900)  # more than one graph's worth, where there are graphs


@pytest.mark.parametrize("d", [None, 0.3, 2.0])
@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_picks_as_the_plain_loop(d: float | None, labelled: int, dtype: str) -> None:
    import torch

    rng = np.random.default_rng(0)
    x = (rng.standard_normal((30, 8))[rng.integers(30, size=N)] + 0.3 * rng.standard_normal((N, 8))).astype(dtype)
    known, price = rng.standard_normal((labelled, 8)).astype(dtype), rng.choice([1.0, 2.0, 3.5], N)
    method = ProbCover(delta=0.5) if d is None else CostAware(ProbCover(delta=0.5), d=d)
    for n in (1, 5, PICKS, N):  # and a filler, once everything is covered
        plain = method.select(None, features=x, labelled_features=known, price=price, n=n, rng=np.random.default_rng(1))
        there = method.select(
            None,
            features=torch.from_numpy(x).to(DEVICE),
            labelled_features=torch.from_numpy(known).to(DEVICE),
            price=torch.from_numpy(price).to(DEVICE),
            n=n,
            rng=np.random.default_rng(1),
        )
        assert there.tolist() == plain.tolist()
