"""Which pairs are close is one fact, however roughly the products were made that looked for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.geometry.neighbours import (
    BFLOAT16,
    JOINING,
    SORTING,
    Directions,
    Lists,
    Recomputed,
    close,
    cosines,
    neighbours,
    threshold,
)
from tests.backends import HAS_TORCH, Backend, Matrix, each_backend, host


def rows(n: int = 200, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((20, 6))[np.arange(n) % 20] + 0.3 * rng.standard_normal((n, 6))


def pairs(found: tuple[Any, Any]) -> list[tuple[int, int]]:
    return list(zip(*(host(f).tolist() for f in found), strict=True))


def all_pairs(x: Matrix, above: float) -> list[tuple[int, int]]:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(unit @ unit.T > above), strict=True)]


@each_backend
@pytest.mark.parametrize("delta", [0.1, 0.5, 1.2])
def test_close_pairs_in_order(backend: Backend, delta: float) -> None:
    points = Directions.of(backend(rows()))
    found = close(points, points, threshold(delta))
    assert all(backend.owns(f) for f in found)
    assert pairs(found) == all_pairs(rows(), threshold(delta))


@each_backend
def test_products_that_are_far_off_change_nothing(backend: Backend) -> None:
    x = backend(rows())
    points, rng = Directions.of(x), np.random.default_rng(0)
    noise = backend(rng.uniform(-0.02, 0.02, x.shape))
    rough = replace(points, unit=points.unit + noise, slack=0.2)
    for delta in (0.1, 0.5, 1.2):
        assert pairs(close(rough, rough, threshold(delta))) == pairs(close(points, points, threshold(delta)))


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("width", [6, 512])
def test_products_in_bfloat16_change_nothing(width: int) -> None:
    """As on a GPU, where products of 16 bits look for the pairs."""
    import torch

    rng = np.random.default_rng(0)
    x = rng.standard_normal((10, width))[np.arange(300) % 10] + 0.3 * rng.standard_normal((300, width))
    points = Directions.of(torch.from_numpy(x.astype(np.float32)))
    rough = points.rounded()
    off = (rough.unit @ rough.unit.T).double() - points.unit.double() @ points.unit.double().T
    assert float(off.abs().max()) < rough.slack
    assert rough.slack > 5 * BFLOAT16 + points.slack  # what 32 bits are off by comes on top
    for delta in (0.05, 0.3, 0.5, 0.6, 1.2):
        assert pairs(close(rough, rough, threshold(delta))) == pairs(close(points, points, threshold(delta)))


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_all_entries_rounded_the_same_way() -> None:
    """1/√4065 is as far from a bfloat16 as a number can be, so that every product is off by all it may be."""
    import torch

    x = torch.ones((2, 4065))
    x[1, :205] = -1
    points = Directions.of(x)
    for delta in (0.4491, 0.45, 0.46):
        assert pairs(close(points.rounded(), points.rounded(), threshold(delta))) == pairs(
            close(points, points, threshold(delta))
        )


@each_backend
def test_lengths_say_nothing_and_zeros_point_nowhere(backend: Backend) -> None:
    x = rows(6) * np.array([1e-6, 1.0, 1e6, 1.0, 1.0, 0.0])[:, None]
    points = Directions.of(backend(x))
    assert host(points.scale)[-1] == 0
    assert host(points.unit)[-1].tolist() == [0.0] * 6
    np.testing.assert_allclose(np.linalg.norm(host(points.unit)[:-1], axis=1), 1, rtol=1e-6)
    everyone = np.arange(6)
    np.testing.assert_allclose(
        host(cosines(points, backend(everyone), points, backend(everyone))), [1, 1, 1, 1, 1, 0], atol=1e-15
    )


@each_backend
def test_close_is_less_than_delta_and_twins_are_closer_than_any(backend: Backend) -> None:
    x = backend(np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]]))
    points = Directions.of(x)  # the first is at a distance of exactly 1 from the others
    assert pairs(close(points, points, threshold(1.0))) == [(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    assert (0, 1) in pairs(close(points, points, threshold(1.0 + 1e-9)))
    for delta in (1e-3, 1e-6, 1e-9, 1e-300):
        assert pairs(close(points, points, threshold(delta))) == [(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    many = Directions.of(backend(np.repeat(rows(), 2, axis=0)))
    assert len(pairs(close(many, many, threshold(1e-9)))) == 4 * 200


@each_backend
@pytest.mark.parametrize("tile", [16, 1 << 10, 1 << 19])
@pytest.mark.parametrize("memory", [0, 1 << 12, 1 << 20])
def test_neighbours_in_tiles_listed_or_not(
    backend: Backend, tile: int, memory: int, tiles_of: Callable[[int], None]
) -> None:
    tiles_of(tile)
    n, above = 60, threshold(0.6)
    there = all_pairs(rows(n), above)
    counted = np.random.default_rng(0).random(n) < 0.5
    counts, found = neighbours(Directions.of(backend(rows(n))), above, backend(counted), memory)
    assert memory == 1 << 12 or isinstance(found, Lists if memory else Recomputed)
    assert host(counts).tolist() == [sum(counted[j] for i, j in there if i == item) for item in range(n)]
    for item in range(n):
        assert host(found.of(item)).tolist() == [j for i, j in there if i == item]
    some = [7, 3, 40, 41]
    joined = np.concatenate([host(piece) for piece in found.of_all(backend(np.array(some)))])
    assert sorted(joined.tolist()) == sorted(j for i, j in there if i in some)


def test_lists_are_kept_just_where_they_fit() -> None:
    """In one tile: so many bytes for every neighbour, and so many more for those of the band being sorted."""
    points, above = Directions.of(rows(60)), threshold(0.6)
    n = len(all_pairs(rows(60), above))
    wanted = (JOINING + SORTING) * n
    for memory, kind in ((wanted, Lists), (wanted - 1, Recomputed)):
        assert isinstance(neighbours(points, above, np.ones(60, np.bool_), memory)[1], kind)


def test_lists_in_several_bands_take_no_more_than_they_say(tiles_of: Callable[[int], None]) -> None:
    tiles_of(1 << 8)  # 22 rows of 32 bits are a band, 16 of 64
    points, above = Directions.of(rows(60)), threshold(0.6)
    n = len(all_pairs(rows(60), above))
    assert isinstance(neighbours(points, above, np.ones(60, np.bool_), (JOINING + SORTING) * n)[1], Lists)
    assert isinstance(neighbours(points, above, np.ones(60, np.bool_), JOINING * n)[1], Recomputed)
    found = neighbours(points, above, np.ones(60, np.bool_), 1 << 20)[1]
    assert isinstance(found, Lists)
    longest = max(len(found.of(item)) for item in range(60))
    assert (found.longest, int(found.offsets[-1]), len(found.offsets)) == (longest, n, 61)
