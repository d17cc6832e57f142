"""k-means finds clusters that are there, and is as good as scikit-learn's where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans

from shortlist.acquisition.geometry.k_means import k_means
from tests.backends import Backend, Matrix, each_backend, host


def blobs(n: int, k: int, width: int, spread: float, seed: int = 0) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    return rng.standard_normal((k, width))[labels] + spread * rng.standard_normal((n, width)), labels


def inertia(x: Matrix, labels: Any, centres: Any) -> float:
    return float(((x - host(centres)[host(labels)]) ** 2).sum())


@each_backend
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_separated_blobs_are_found_exactly(backend: Backend, far: float) -> None:
    x, truth = blobs(300, 12, 8, spread=0.01)
    for seed in range(5):
        labels, centres = k_means(backend(x + far), 12, np.random.default_rng(seed))
        assert backend.owns(labels)
        assert backend.owns(centres)
        pairs = {(int(a), int(b)) for a, b in zip(host(labels), truth, strict=True)}
        assert len(pairs) == 12
        means = np.stack([(x + far)[host(labels) == c].mean(axis=0) for c in range(12)])
        np.testing.assert_allclose(host(centres), means, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
def test_about_as_good_as_scikit_learn(spread: float) -> None:
    x, _ = blobs(2000, 40, 16, spread)
    theirs = np.mean([KMeans(40, random_state=s).fit(x).inertia_ for s in range(10)])
    ours = np.mean([inertia(x, *k_means(x, 40, np.random.default_rng(s))) for s in range(10)])
    assert ours < 1.05 * theirs


@each_backend
def test_labels_are_the_nearest_centres_once_it_has_converged(backend: Backend) -> None:
    x, _ = blobs(500, 9, 5, spread=0.5)
    labels, centres = k_means(backend(x), 9, np.random.default_rng(0), iterations=1000)
    away = ((x[:, None] - host(centres)[None]) ** 2).sum(axis=2)
    assert host(labels).tolist() == away.argmin(axis=1).tolist()


@each_backend
def test_the_same_in_tiles_and_from_the_same_seed(backend: Backend, tiles_of: Callable[[int], None]) -> None:
    x = backend(blobs(400, 9, 5, spread=0.5)[0])
    first, again, other = (k_means(x, 9, np.random.default_rng(s))[0] for s in (0, 0, 1))
    assert host(first).tolist() == host(again).tolist() != host(other).tolist()
    tiles_of(50)
    assert host(k_means(x, 9, np.random.default_rng(0))[0]).tolist() == host(first).tolist()


@each_backend
def test_more_centres_than_items_or_than_different_items(backend: Backend) -> None:
    x = np.array([[0.0, 1.0], [2.0, 3.0], [2.0, 3.0], [2.0, 3.0]])
    for k in (2, 3, 4, 9):
        labels, centres = k_means(backend(x), k, np.random.default_rng(0))
        assert host(centres).shape == (min(k, 4), 2)
        np.testing.assert_allclose(host(centres)[host(labels)], x, atol=1e-6)  # twins are in one cluster
        assert len(set(host(labels).tolist())) == 2
    labels, centres = k_means(backend(x[:1]), 1, np.random.default_rng(0))
    assert host(labels).tolist() == [0]
    np.testing.assert_allclose(host(centres), x[:1])


def test_a_centre_that_loses_its_items_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    start = np.array([[0.5], [10.5], [500.0]], np.float32)  # nothing is ever near the last
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means._start", lambda z, k, rng: start - x.mean())
    labels, centres = k_means(x, 3, np.random.default_rng(0))
    assert labels.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(centres[:, 0], [0.5, 10.5, 500.0], rtol=1e-6)


def test_many_centres_start_without_spare_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    x, truth = blobs(300, 12, 8, spread=0.01)
    monkeypatch.setattr("shortlist.acquisition.geometry.k_means.MANY", 11)
    labels, _ = k_means(x, 12, np.random.default_rng(0))
    assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) == 12


def test_at_most_so_many_iterations() -> None:
    x, _ = blobs(500, 9, 5, spread=2.0)
    rough, fine = (inertia(x, *k_means(x, 9, np.random.default_rng(0), iterations=i)) for i in (1, 25))
    assert rough > fine


def test_it_may_end_while_a_few_items_move() -> None:
    x, _ = blobs(2000, 9, 5, spread=2.0)
    early, late = (k_means(x, 9, np.random.default_rng(0), iterations=200, moving=m) for m in (0.01, 0.0))
    assert 0 < (early[0] != late[0]).mean() < 0.2
    assert inertia(x, *late) < inertia(x, *early) < 1.01 * inertia(x, *late)
