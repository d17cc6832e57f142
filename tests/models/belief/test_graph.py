from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from shortlist.models.belief import graph
from shortlist.models.belief.graph import Cells, Rows, symmetric, unit


def clusters(n: int = 3000, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(40, 16))
    return unit(centres[rng.integers(40, size=n)] + 0.6 * rng.normal(size=(n, 16)))


def by_hand(points: Rows, k: int) -> list[set[int]]:
    products = points @ points.T
    np.fill_diagonal(products, -2)
    return [set(row) for row in np.argsort(-products, axis=1)[:, :k].tolist()]


def test_few_items_get_their_nearest_neighbours() -> None:
    points = clusters(400)
    items, cosines = Cells.of(points).nearest(points, 7, own=np.arange(400))
    assert [set(row) for row in items.tolist()] == by_hand(points, 7)
    np.testing.assert_allclose(cosines, np.einsum("ikd,id->ik", points[items], points), atol=1e-6)


def test_many_items_get_nearly_all_of_them_and_the_same_ones_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "EXACT", 1000)
    points = clusters()
    items, _ = Cells.of(points).nearest(points, 10, own=np.arange(3000))
    found = [len(set(row) & true) / 10 for row, true in zip(items.tolist(), by_hand(points, 10), strict=True)]
    assert np.mean(found) > 0.95
    assert all(i not in row for i, row in enumerate(items.tolist()))
    with threadpool_limits(1):
        again, _ = Cells.of(points).nearest(points, 10, own=np.arange(3000))
    np.testing.assert_array_equal(again, items)


def test_the_matrix_is_symmetric_and_no_eigenvalue_is_above_one() -> None:
    points = clusters(200)
    items, cosines = Cells.of(points).nearest(points, 5, own=np.arange(200))
    pairs, _ = symmetric(items, np.maximum(cosines, 0.03))
    dense = pairs.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert not dense.diagonal().any()
    assert np.abs(np.linalg.eigvalsh(dense.astype(np.float64))).max() < 1 + 1e-5


def test_items_without_content_have_some_neighbours_too() -> None:
    points = clusters(50)
    points[:3] = 0
    items, _ = Cells.of(points).nearest(points, 5, own=np.arange(50))
    assert all(len(set(row)) == 5 and i not in row for i, row in enumerate(items.tolist()))


def test_no_more_neighbours_than_others() -> None:
    points = clusters(3)
    assert Cells.of(points).nearest(points, 15, own=np.arange(3))[0].shape == (3, 2)
