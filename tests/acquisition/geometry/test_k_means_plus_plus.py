"""The block-wise draw has exactly the weights of drawing one seed at a time over all points."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from shortlist.acquisition.geometry.k_means import Scale, _Bounds, drawn, seeds
from shortlist.acquisition.geometry.points import Dense, Points
from shortlist.acquisition.method import Value
from tests.backends import Backend, Matrix, each_backend, host
from tests.cases import half_of, torture

N = 6


def scatter(seed: int = 0, n: int = N) -> Matrix:
    """Points of which some are close together, so that taking one changes the weights of others a lot."""
    rng = np.random.default_rng(seed)
    made: Matrix = rng.standard_normal((n, 3)) * rng.choice([0.2, 1.0, 2.0], (n, 1))
    return made


def chances(x: Matrix, n: int, scale: Scale, price: Matrix | None, d: float) -> dict[tuple[int, ...], float]:
    """Each ordered choice of n points with its probability, one seed after another."""

    def worth(nearest: Matrix, chosen: tuple[int, ...]) -> Matrix:
        gain = nearest / (nearest.sum() if scale == "sum" else nearest.max())
        weight: Matrix = gain if price is None else (1 + gain) ** d / price
        weight = weight.copy()
        weight[list(chosen)] = 0
        return weight

    def chance(order: tuple[int, ...]) -> float:
        nearest = (x**2).sum(axis=1)
        if order[0] != nearest.argmax():
            return 0.0
        result, nearest = 1.0, np.full(len(x), np.inf)
        for i in range(1, n):
            nearest = np.minimum(nearest, ((x - x[order[i - 1]]) ** 2).sum(axis=1))
            weight = worth(nearest, order[:i])
            result *= weight[order[i]] / weight.sum()
        return float(result)

    return {order: chance(order) for order in permutations(range(len(x)), n)}


@pytest.mark.parametrize("draws", [1500, pytest.param(6000, marks=torture)])
@pytest.mark.parametrize(("scale", "d", "tracked"), half_of(["sum", "max"], [None, 0.3, 3.0], [2, 512]))
def test_whole_sequences_come_as_often_as_one_at_a_time(
    draws: int, scale: Scale, d: float | None, tracked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means.TRACKED", tracked)
    as_often_as_one_at_a_time(draws, scale, d)


def test_where_the_bounds_leave_a_share_open_the_exact_one_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """One point is tracked of six, and a gain counts by a high power: the whole is known but roughly."""
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means.TRACKED", 1)
    as_often_as_one_at_a_time(300, "sum", 8.0)


def as_often_as_one_at_a_time(draws: int, scale: Scale, d: float | None) -> None:
    x = scatter()
    price = None if d is None else np.linspace(1, 3, N)
    value = Value() if price is None else Value(price, d or 0.0)
    expected = chances(x, 4, scale, price, d or 0.0)
    assert sum(expected.values()) == pytest.approx(1)
    counts = dict.fromkeys(expected, 0)
    points = Points.of(Dense(x))
    for seed in range(draws):
        counts[tuple(seeds(points, 4, np.random.default_rng(seed), value, scale).tolist())] += 1
    assert all(counts[order] == 0 for order, chance in expected.items() if chance == 0)
    often = [order for order, chance in expected.items() if chance * draws >= 5]
    seldom = draws - sum(counts[order] for order in often)
    f_obs, f_exp = [counts[order] for order in often], [expected[order] * draws for order in often]
    if draws - sum(f_exp) > 1e-6 * draws:
        f_obs, f_exp = [*f_obs, seldom], [*f_exp, draws - sum(f_exp)]
    else:
        assert seldom == 0
    assert chisquare(f_obs, f_exp).pvalue > 1e-3


@pytest.mark.parametrize("proposals", [1, 2, 7, 256])
@each_backend
def test_any_size_of_block_takes_every_point_once(
    proposals: int, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means.PROPOSALS", proposals)
    x = np.concatenate([scatter(1, 40), np.zeros((3, 3)), scatter(1, 5)])
    for value in (Value(), Value(backend(np.linspace(1, 2, 48)), 0.3)):
        picks = seeds(Points.of(Dense(backend(x))), 48, np.random.default_rng(0), value)
        assert sorted(picks.tolist()) == list(range(48))


def test_seeds_cover_far_groups_before_doubling_up() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 50)
    x = rng.standard_normal((20, 8))[groups] * 100 + rng.standard_normal((1000, 8)) * 1e-3
    for seed in range(20):
        picks = seeds(Points.of(Dense(x)), 20, np.random.default_rng(seed), Value())
        assert len(set(groups[picks].tolist())) == 20


@each_backend
def test_a_draw_never_takes_what_has_no_weight(backend: Backend) -> None:
    weights = backend(np.array([0.0, 1e-30, 0.0, 1.0, 0.0]))
    draws = np.append(np.random.default_rng(0).random(1000), [0.0, np.nextafter(1.0, 0.0)])
    assert set(host(drawn(weights, draws)).tolist()) <= {1, 3}
    assert host(drawn(weights, draws))[-1] == 3


def test_more_data_than_a_block_looks_at_agrees_with_drawing_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On average the seeds cover as well as those of a plain loop."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2000, 6)) + 4 * rng.standard_normal((30, 6))[rng.integers(30, size=2000)]
    points = Points.of(Dense(x))

    def potential(picks: Any) -> float:
        return float(np.min([((x - x[i]) ** 2).sum(axis=1) for i in picks], axis=0).sum())

    blocks = [potential(seeds(points, 60, np.random.default_rng(s), Value())) for s in range(60)]
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means.PROPOSALS", 1)
    single = [potential(seeds(points, 60, np.random.default_rng(1000 + s), Value())) for s in range(60)]
    error = np.hypot(np.std(blocks), np.std(single)) / np.sqrt(60)
    assert abs(np.mean(blocks) - np.mean(single)) < 4 * error


@pytest.mark.parametrize("scale", ["sum", "max"])
@pytest.mark.parametrize("tracked", [1, 3, 40])
def test_the_whole_lies_within_its_bounds_as_points_are_taken(
    scale: Scale, tracked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many points are looked at meanwhile; and it has room to fall before the floor is reached."""
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means.TRACKED", tracked)
    rng = np.random.default_rng(0)
    for d in (0.0, 0.3, 3.0):
        nearest = rng.exponential(size=30)
        whole = float(nearest.sum() if scale == "sum" else nearest.max())
        bounds = _Bounds.of(nearest, whole, scale, d)
        assert bounds.tracked is not None
        assert 0 < bounds.floor < bounds.start[0]
        left = nearest.copy()
        for _ in range(20):
            low, high = bounds.of_whole(left[bounds.tracked])
            now = float(left.sum() if scale == "sum" else left.max())
            assert low * (1 - 1e-12) <= now <= high * (1 + 1e-12)
            left = np.minimum(left, rng.exponential(size=30))
        if tracked == 40:  # all of them
            assert bounds.start == pytest.approx((whole, whole))
