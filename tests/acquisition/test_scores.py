"""Entropy, margin and least confident against their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.least_confident import LeastConfident
from shortlist.acquisition.margin import Margin
from shortlist.types import Predictions
from tests.backends import HAS_TORCH, Backend, awkward, each_backend, host


def entropy(row: list[float]) -> float:
    return -math.fsum(p * math.log(p) for p in row if p > 0)


def margin(row: list[float]) -> float:
    first, second = sorted([*row, 0.0], reverse=True)[:2]
    return 1 - (first - second)


@each_backend
@pytest.mark.parametrize("n_classes", [1, 2, 9])
def test_gains_are_the_formulas_ties_and_zeros_included(backend: Backend, n_classes: int) -> None:
    probs = awkward(n_classes, backend.dtype)
    for method, formula in ((Entropy(), entropy), (Margin(), margin), (LeastConfident(), lambda row: 1 - max(row))):
        gains = method.gains(Predictions(backend(probs)))
        assert backend.owns(gains)
        assert (host(gains) >= 0).all()
        by_hand = [formula(row) for row in probs.tolist()]
        np.testing.assert_allclose(host(gains), by_hand, rtol=1e-5, atol=1e-6)


def test_a_row_with_zeros_changes_no_other_row() -> None:
    rows = awkward(9)
    together = Entropy().gains(Predictions(rows))
    alone = np.concatenate([Entropy().gains(Predictions(rows[i : i + 1])) for i in range(len(rows))])
    assert together.tolist() == alone.tolist()


@each_backend
def test_extremes(backend: Backend) -> None:
    sure, unsure = np.eye(8)[:1], np.full((1, 8), 1 / 8)
    assert host(Entropy().gains(Predictions(backend(sure))))[0] == 0
    assert host(Entropy().gains(Predictions(backend(unsure))))[0] == pytest.approx(math.log(8))
    assert host(Margin().gains(Predictions(backend(sure))))[0] == 0
    assert host(Margin().gains(Predictions(backend(unsure))))[0] == 1


def test_tiny_probabilities_in_half_precision() -> None:
    probs = np.array([[1.0, 0.0], [0.5, 0.5]], np.float16)
    np.testing.assert_allclose(Entropy().gains(Predictions(probs)), [0, math.log(2)], atol=1e-3)


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_gradients_are_no_obstacle() -> None:
    import torch

    probs = torch.softmax(torch.ones((3, 4), requires_grad=True), dim=1)
    picks = Entropy().select(probs, n=2, rng=np.random.default_rng(0))
    assert picks.tolist() == [0, 1]
