"""The radius at which 95% of balls are pure, against looking at every radius there could be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shortlist.acquisition.geometry.k_means import k_means
from shortlist.acquisition.prob_cover import purity_radius
from shortlist.types import ShortlistError
from tests.backends import HAS_TORCH, Backend, Matrix, each_backend


def features(n: int = 60, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((6, 5))[np.arange(n) % 6] + 0.4 * rng.standard_normal((n, 5))


def distances(x: Matrix) -> Matrix:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    away: Matrix = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    return away


def share_of_pure_balls(away: Matrix, labels: Matrix, delta: float) -> float:
    same = labels[:, None] == labels[None, :]
    return float((same | (away >= delta)).all(axis=1).mean())


def by_looking_at_all(x: Matrix, n_classes: int, seed: int, purity: float) -> float:
    away = distances(x)
    labels, _ = k_means(x / np.linalg.norm(x, axis=1, keepdims=True), n_classes, np.random.default_rng(seed))
    pure = [d for d in np.unique(away[away > 0]) if share_of_pure_balls(away, labels, d - 1e-9) >= purity - 1e-12]
    return float(max(pure))


@each_backend
@pytest.mark.parametrize("purity", [0.5, 0.9, 0.95, 1.0])
def test_as_the_best_of_all_radii(backend: Backend, purity: float) -> None:
    for seed in range(3):
        found = purity_radius(backend(features(seed=seed)), 6, np.random.default_rng(seed), purity)
        assert found == pytest.approx(by_looking_at_all(features(seed=seed), 6, seed, purity), abs=1e-6)


@each_backend
def test_tiles_make_no_difference(backend: Backend, tiles_of: Callable[[int], None]) -> None:
    x = backend(features())
    usual = purity_radius(x, 6, np.random.default_rng(0))
    tiles_of(1 << 12)
    assert purity_radius(x, 6, np.random.default_rng(0)) == pytest.approx(usual, abs=1e-6)


@each_backend
def test_in_a_large_pool_some_balls_stand_for_all(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    x = features(1000)
    away, unit = distances(x), x / np.linalg.norm(x, axis=1, keepdims=True)
    labels, _ = k_means(unit, 6, np.random.default_rng(0))
    monkeypatch.setattr("shortlist.acquisition.prob_cover.BALLS", 500)
    found = purity_radius(backend(x), 6, np.random.default_rng(0), purity=0.8)
    assert abs(share_of_pure_balls(away, labels, found) - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 500)


@each_backend
def test_where_nothing_is_of_another_cluster_one_ball_is_all(backend: Backend) -> None:
    x, rng = features(20), np.random.default_rng(0)
    assert purity_radius(backend(x), 1, rng) == 2.0
    assert purity_radius(backend(np.ones((20, 3))), 6, rng) == 2.0
    assert purity_radius(backend(np.zeros((20, 3))), 6, rng) == 2.0
    assert purity_radius(backend(x[:1]), 6, rng) == 2.0


@each_backend
def test_rows_of_zeros_and_duplicates(backend: Backend) -> None:
    x = np.concatenate([np.repeat(features(12), 3, axis=0), np.zeros((2, 5))])
    assert 0 < purity_radius(backend(x), 4, np.random.default_rng(0)) <= 2


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_numbers_of_16_bits() -> None:
    import torch

    x = torch.from_numpy(features()).to(torch.bfloat16)
    wide = purity_radius(x.to(torch.float64), 6, np.random.default_rng(0))
    assert purity_radius(x, 6, np.random.default_rng(0)) == pytest.approx(wide, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "n_classes", "purity", "message"),
    [
        (np.ones(3), 2, 0.95, "features must be an array"),
        ("1", 2, 0.95, "features must be an array"),
        (np.ones((0, 3)), 2, 0.95, "of at least one item"),
        (np.full((2, 2), np.nan), 2, 0.95, "features must be finite"),
        (np.ones((2, 2)), 0, 0.95, "n_classes must be at least 1, got 0"),
        (np.ones((2, 2)), 2, 0.0, "purity must be above 0"),
        (np.ones((2, 2)), 2, 1.5, "at most 1, got 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused(x: Matrix, n_classes: int, purity: float, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^purity_radius: .*{message}"):
        purity_radius(x, n_classes, np.random.default_rng(0), purity)
