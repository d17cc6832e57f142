"""Distances between points that are worked out in tiles, never all at once."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.acquisition.geometry.points import Chosen, Dense, Points, largest, noise
from tests.backends import Backend, Matrix, each_backend, host

X = np.random.default_rng(0).standard_normal((9, 4))
H = np.random.default_rng(1).standard_normal((9, 3))


def squared(a: Matrix, b: Matrix) -> Matrix:
    """Between products of factors, made whole."""
    made: Matrix = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return made


@each_backend
def test_distances_are_those_of_the_products(backend: Backend) -> None:
    whole = np.einsum("ia,ib->iab", X, H).reshape(9, -1)
    points = Points.of(Dense(backend(X)), Dense(backend(H)))
    these, those = backend(np.array([1, 4])), backend(np.array([0, 4, 8]))
    np.testing.assert_allclose(host(points.norms), (whole**2).sum(axis=1), rtol=1e-5)
    wanted = squared(whole, whole)
    np.testing.assert_allclose(host(points.between(these, those)), wanted[[1, 4]][:, [0, 4, 8]], atol=1e-4)
    assert host(points.between(these, those))[1, 1] == 0  # equal points are as near as can be
    nearest = points.to_centres(backend(np.full(9, np.inf)), those)
    np.testing.assert_allclose(host(nearest), wanted[:, [0, 4, 8]].min(axis=1), atol=1e-4)
    closer = points.to_centres(nearest, these)
    np.testing.assert_allclose(host(closer), wanted[:, [0, 4, 8, 1]].min(axis=1), atol=1e-4)
    few = points.on_host(np.array([2, 5]))
    np.testing.assert_allclose(few.norms, host(points.norms)[[2, 5]])
    assert [type(factor.array) for factor in few.factors] == [np.ndarray] * 2


@each_backend
def test_those_chosen_are_closed_and_at_no_distance(backend: Backend) -> None:
    points = Points.of(Dense(backend(X)))
    search = Chosen(points, backend(np.full(9, np.inf)))
    search.take([3, 5], 4)
    assert search.chosen == [3, 5]
    assert np.flatnonzero(~host(search.open)).tolist() == [3, 5]
    np.testing.assert_allclose(host(search.nearest), squared(X, X)[:, [3, 5]].min(axis=1), atol=1e-5)
    assert host(search.nearest)[[3, 5]].tolist() == [0, 0]
    before = host(search.nearest).copy()
    search.take([0, 1], 4)  # the last: nobody will ask for distances to them
    assert search.chosen == [3, 5, 0, 1]
    assert host(search.nearest).tolist() == before.tolist()


@each_backend
@pytest.mark.parametrize("k", [0, 1, 8, 9, 12])
def test_the_largest_and_the_largest_of_the_others(backend: Backend, k: int) -> None:
    numbers = np.random.default_rng(2).permutation(9).astype(np.float64)
    found, beyond = largest(backend(numbers), k)
    wanted = sorted(numbers.tolist(), reverse=True)
    assert sorted(numbers[host(found)].tolist(), reverse=True) == wanted[:k]
    assert beyond == (wanted[k] if k < 9 else -np.inf)


def test_rounding_is_no_distance_and_anything_more_is() -> None:
    """Of twins far from the origin; next to them, what is a hundred times the rounding counts."""
    far = np.array([[1000.0, 1000.0], [1000.0, 1000.0], [1000.0, 1001.0]], np.float32)
    points = Points.of(Dense(far))
    found = points.between(np.array([0]), np.array([1, 2]))[0]
    assert found[0] == 0
    room = noise(points.norms, 2)
    assert (room >= 4 * np.finfo(np.float32).eps * points.norms).all()
    assert (room <= 40 * np.finfo(np.float32).eps * points.norms).all()
    assert (noise(points.norms, 10_000) <= 200 * np.finfo(np.float32).eps * points.norms).all()  # errors cancel
