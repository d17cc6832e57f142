"""TypiClust takes what is typical, cluster by cluster, and inside a cluster what is typical for its price."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.typi_clust import TypiClust, mean_distances
from shortlist.types import ShortlistError
from tests.backends import HAS_TORCH, Backend, Matrix, each_backend, host
from tests.cases import torture

SIZES = (40, 30, 25, 15, 10)
CLUSTER = np.repeat(np.arange(5), SIZES)
N = sum(SIZES)


def features(seed: int = 0) -> Matrix:
    """Five separated clusters, of very different sizes."""
    rng = np.random.default_rng(seed)
    return 10 * np.eye(5, 8)[CLUSTER] + 0.4 * rng.standard_normal((N, 8))


def members(c: int) -> Any:
    return np.flatnonzero(np.equal(CLUSTER, c))


def unit(x: Matrix) -> Matrix:
    long: Matrix = x / np.linalg.norm(x, axis=1, keepdims=True)
    return long


def spread(x: Matrix, k: int = 20) -> Matrix:
    """Mean distance to the k nearest others."""
    away = np.sort(np.linalg.norm(x[:, None] - x[None], axis=2), axis=1)[:, 1:]
    mean: Matrix = away[:, : min(k, len(x) - 1)].mean(axis=1)
    return mean


def spreads(x: Matrix, labelled: Matrix, labelled_in: list[int]) -> Matrix:
    """Of every item of the pool, among the items of its cluster, labelled ones too."""
    found = np.zeros(N)
    for c in range(5):
        whole = np.concatenate([unit(x)[members(c)], unit(labelled)[np.asarray(labelled_in, int) == c]])
        found[members(c)] = spread(whole)[: SIZES[c]]
    return found


def loop(x: Matrix, labelled: Matrix, labelled_in: list[int], n: int, d: float | None, price: Matrix) -> list[int]:
    away = spreads(x, labelled, labelled_in)
    taken = np.bincount(np.asarray(labelled_in, int), minlength=5)
    sizes = np.asarray(SIZES) + taken
    chosen: list[int] = []
    for _ in range(n):
        open_ = [c for c in range(5) if any(CLUSTER[i] == c and i not in chosen for i in range(N))]
        turn = min(open_, key=lambda c: (taken[c], -sizes[c]))
        items = [i for i in range(N) if CLUSTER[i] == turn and i not in chosen]
        gain = away[items].min() / away[items]
        chosen.append(items[int((gain if d is None else (1 + gain) ** d / price[items]).argmax())])
        taken[turn] += 1
    return chosen


def prices() -> Matrix:
    return np.random.default_rng(9).uniform(1, 4, N)


def select(backend: Backend, x: Matrix, d: float | None, n: int, seed: int = 0, **settings: Any) -> list[int]:
    labelled = settings.pop("labelled", None)
    method = TypiClust(**{"clusters": 5, **settings})
    picks = (method if d is None else CostAware(method, d=d)).select(
        None,
        n=n,
        rng=np.random.default_rng(seed),
        features=backend(x),
        labelled_features=None if labelled is None else backend(labelled),
        price=backend(prices()[: len(x)]),
    )
    return [int(i) for i in picks]


each_d = pytest.mark.parametrize("d", [None, 0.0, 0.3, 1.2])


@each_backend
def test_the_densest_item_of_each_cluster_the_largest_first(backend: Backend) -> None:
    x = features()
    away = spreads(x, x[:0], [])
    densest = [int(members(c)[away[members(c)].argmin()]) for c in range(5)]
    assert select(backend, x, None, 5) == densest


@each_backend
@each_d
def test_as_a_plain_loop_would_with_labelled_items(backend: Backend, d: float | None) -> None:
    for seed in range(3):
        x, where = features(seed), [0, 0, 1, 3]
        labelled = 10 * np.eye(5, 8)[where] + 0.4 * np.random.default_rng(seed + 50).standard_normal((4, 8))
        picks = select(backend, x, d, N, seed, labelled=labelled)
        assert picks == loop(x, labelled, where, N, d, prices())


@each_backend
def test_inside_a_cluster_the_price_alone_decides_where_d_is_zero(backend: Backend) -> None:
    picks = select(backend, features(), 0.0, N)
    for c in range(5):
        cheapest = members(c)[np.argsort(prices()[members(c)], kind="stable")]
        assert [i for i in picks if CLUSTER[i] == c] == cheapest.tolist()


def test_equal_prices_change_nothing_and_free_items_come_first_in_their_cluster() -> None:
    x, rng = features(), np.random.default_rng
    plain = TypiClust().select(None, features=x, n=30, rng=rng(0))
    for d in (0.3, 1.2):
        picks = CostAware(TypiClust(), d=d).select(None, features=x, n=30, rng=rng(0), price=np.full(N, 2.5))
        assert picks.tolist() == plain.tolist()
    price = prices()
    price[[5, 17]] = 0
    picks = CostAware(TypiClust(clusters=1)).select(None, features=x, n=2, rng=rng(0), price=price)
    assert sorted(picks.tolist()) == [5, 17]


def test_with_as_many_clusters_fewer_is_a_beginning_of_more() -> None:
    many = select(Backend("numpy", "float64"), features(), None, N)
    for n in (5, 6, 33):
        assert select(Backend("numpy", "float64"), features(), None, n) == many[:n]


@pytest.mark.parametrize("d", [None, 0.3])
@pytest.mark.parametrize("draws", [500, pytest.param(1000, marks=torture)])
def test_a_permuted_pool_is_drawn_from_as_often(d: float | None, draws: int) -> None:
    x = np.random.default_rng(1).standard_normal((12, 3))
    places = np.random.default_rng(99).permutation(12)
    price = np.linspace(1, 4, 12)
    counts = np.zeros((2, 12), np.int64)
    method = TypiClust(neighbours=2, clusters=2)
    for seed in range(draws):
        for row, at in ((0, np.arange(12)), (1, places)):
            whole = method if d is None else CostAware(method, d=d)
            picks = whole.select(
                None, features=x[at], n=3, rng=np.random.default_rng(seed + 5000 * row), price=price[at]
            )
            counts[row, at[picks]] += 1
    assert chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > 1e-3


def test_only_clusters_whose_turn_comes_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def watched(x: Matrix, k: int) -> Any:
        seen.append(len(x))
        return mean_distances(x, k)

    monkeypatch.setattr("shortlist.acquisition.typi_clust.mean_distances", watched)
    labelled = 10 * np.eye(5, 8)[[0, 1, 2]]
    select(Backend("numpy", "float64"), features(), None, 2, labelled=labelled)
    assert seen == [15, 10]  # the two without a labelled item


# --- typicality ------------------------------------------------------------------------------------------------


@each_backend
@pytest.mark.parametrize("k", [1, 3, 20, 99])
def test_mean_distances_as_from_the_whole_matrix(backend: Backend, k: int, tiles_of: Callable[[int], None]) -> None:
    x = np.random.default_rng(0).standard_normal((50, 4)) + 100
    np.testing.assert_allclose(host(mean_distances(backend(x), k)), spread(x, k), rtol=1e-4)
    tiles_of(200)
    np.testing.assert_allclose(host(mean_distances(backend(x), k)), spread(x, k), rtol=1e-4)


@each_backend
def test_twins_are_as_typical_as_can_be(backend: Backend) -> None:
    x = np.concatenate([features()[:6], np.repeat(features()[6:7], 4, axis=0)])
    assert host(mean_distances(backend(x), 3))[6:].tolist() == [0, 0, 0, 0]
    picks = select(backend, x, None, 10, clusters=1, neighbours=3)
    assert picks[:4] == [6, 7, 8, 9]
    for d in (0.3, 1.2):
        first = select(backend, x, d, 10, clusters=1, neighbours=3)[0]
        gain = np.where(np.arange(10) >= 6, 1.0, 0.0)
        assert first == ((1 + gain) ** d / prices()[:10]).argmax()


# --- awkward features ------------------------------------------------------------------------------------------


@each_backend
@each_d
def test_one_item_twins_zeros_and_all_there_are(backend: Backend, d: float | None) -> None:
    assert select(backend, features()[:1], d, 1) == [0]
    assert sorted(select(backend, np.ones((6, 3)), d, 6)) == list(range(6))
    assert sorted(select(backend, np.zeros((6, 3)), d, 6, labelled=np.zeros((2, 3)))) == list(range(6))
    assert sorted(select(backend, features(), d, N, clusters=500)) == list(range(N))


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_numbers_of_16_bits_are_taken_as_they_are() -> None:
    import torch

    x = torch.from_numpy(features()).to(torch.bfloat16)
    narrow, wide = (
        TypiClust().select(None, features=f, n=30, rng=np.random.default_rng(0)) for f in (x, x.to(torch.float64))
    )
    assert narrow.tolist() == wide.tolist()


@pytest.mark.parametrize("name", ["neighbours", "clusters"])
def test_settings_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(ShortlistError, match=f"^typi_clust: {name} must be at least 1, got 0"):
        TypiClust(**{name: 0})
