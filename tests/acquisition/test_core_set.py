"""k-centre greedy against a plain loop, alone and cost-aware."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shortlist.acquisition.core_set import SOME, CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.types import ShortlistError
from tests.backends import Backend, Matrix, each_backend
from tests.cases import torture


def greedy(z: Matrix, labelled: Matrix, n: int, d: float | None, price: Matrix) -> list[int]:
    """Again and again the item with the largest distance, or (1 + distance / largest)^d / price."""
    chosen: list[int] = []
    for _ in range(n):
        centres = np.array([*labelled, *z[chosen]])
        far = np.linalg.norm(z[:, None] - centres, axis=2).min(axis=1)
        gain = far / max(far[i] for i in range(len(z)) if i not in chosen)
        worth = gain if d is None else (1 + gain) ** d / price
        worth[chosen] = -np.inf
        chosen.append(int(np.argmax(worth)))
    return chosen


@each_backend
@pytest.mark.parametrize("d", [None, 0.3, 1.2])
def test_as_a_plain_loop_would(backend: Backend, d: float | None) -> None:
    rng = np.random.default_rng(0)
    z, labelled, price = rng.standard_normal((30, 4)), rng.standard_normal((3, 4)), rng.uniform(1, 2, 30)
    method = CoreSet() if d is None else CostAware(CoreSet(), d=d)
    picks = method.select(
        None, n=12, rng=rng, embeddings=backend(z), labelled_embeddings=backend(labelled), price=backend(price)
    )
    assert picks.tolist() == greedy(z, labelled, 12, d, price)


def test_labelled_rows_are_taken_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    z, labelled = rng.standard_normal((30, 4)), rng.standard_normal((17, 4))
    usual = CoreSet().select(None, n=9, rng=rng, embeddings=z, labelled_embeddings=labelled)
    monkeypatch.setattr("shortlist.acquisition.core_set.AT_ONCE", 5)
    assert CoreSet().select(None, n=9, rng=rng, embeddings=z, labelled_embeddings=labelled).tolist() == usual.tolist()


@each_backend
def test_what_sits_on_a_centre_is_left_to_the_filler(backend: Backend) -> None:
    """Far from the origin, rounding must not make a twin of a labelled item look like news."""
    rng = np.random.default_rng(2)
    twins = np.repeat(rng.standard_normal((3, 6)) * 100, 4, axis=0)
    new = twins.mean(axis=0, keepdims=True) * 3
    pool = np.concatenate([twins[:8], new, twins[8:]])
    fields = {"embeddings": backend(pool), "labelled_embeddings": backend(twins[::4])}
    picks = [CoreSet().select(None, n=13, rng=np.random.default_rng(s), **fields).tolist() for s in (0, 1)]
    assert picks[0][0] == picks[1][0] == 8
    assert picks[0] != picks[1]  # the rest is drawn
    price = np.linspace(2, 1, 13)
    cheap = CostAware(CoreSet()).select(None, n=13, rng=rng, price=backend(price), **fields).tolist()
    assert sorted(cheap[1:]) == sorted(set(range(13)) - {cheap[0]})
    rest = [i for i in cheap if i != 8]
    assert rest == sorted(rest, reverse=True)  # and cheapest first under CostAware


@pytest.mark.parametrize("seeds", [2, pytest.param(8, marks=torture)])
@pytest.mark.parametrize(("some", "few"), [(1, 1), (2, 1), (5, 2), (7, 3), (20, 20), (99, 5)])
@pytest.mark.parametrize("d", [None, 0.3, 3.0])
def test_the_picks_do_not_depend_on_how_many_items_a_search_looks_at(
    seeds: int, some: int, few: int, d: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortlist.acquisition.core_set.SOME", some)
    monkeypatch.setattr("shortlist.acquisition.core_set.FEW", few)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        z = rng.standard_normal((60, 3)) * rng.choice([0.1, 1.0, 3.0], (60, 1))
        labelled, price = rng.standard_normal((2, 3)), rng.choice([1.0, 1.5, 4.0], 60)
        method = CoreSet() if d is None else CostAware(CoreSet(), d=d)
        picks = method.select(None, n=40, rng=rng, embeddings=z, labelled_embeddings=labelled, price=price)
        assert picks.tolist() == greedy(z, labelled, 40, d, price)


def test_the_radius_is_that_of_brute_force_greedy() -> None:
    rng = np.random.default_rng(4)
    z = (
        rng.standard_normal((3000, 16)).astype(np.float32)
        + 3 * rng.standard_normal((20, 16))[rng.integers(20, size=3000)]
    )
    picks = CoreSet().select(None, n=100, rng=rng, embeddings=z, labelled_embeddings=z[:1])
    nearest = np.linalg.norm(z - z[0], axis=1)
    for _ in range(100):
        nearest = np.minimum(nearest, np.linalg.norm(z - z[nearest.argmax()], axis=1))
    ours = np.min([np.linalg.norm(z - z[i], axis=1) for i in [0, *picks]], axis=0)
    assert ours.max() == pytest.approx(nearest.max(), rel=1e-6)


def test_with_no_centre_yet_the_lowest_position_is_first() -> None:
    z = np.random.default_rng(3).standard_normal((9, 2))
    picks = CoreSet().select(None, n=2, rng=np.random.default_rng(0), embeddings=z)
    assert picks[0] == 0
    assert picks[1] == np.argmax(np.linalg.norm(z - z[0], axis=1))


def test_far_from_the_origin_the_picks_are_the_same() -> None:
    z = np.random.default_rng(0).normal(size=(200, 64))
    near, far = (CoreSet().select(None, embeddings=e, n=40, rng=np.random.default_rng(0)) for e in (z, z + 1000))
    in_float32 = CoreSet().select(None, embeddings=(z + 1000).astype(np.float32), n=40, rng=np.random.default_rng(0))
    assert near.tolist() == far.tolist() == in_float32.tolist()


@each_backend
def test_labelled_rows_of_another_width_of_number(backend: Backend) -> None:
    z = np.random.default_rng(0).standard_normal((30, 4))
    usual = CoreSet().select(None, embeddings=z, labelled_embeddings=z[:2], n=9, rng=np.random.default_rng(0))
    for dtype in ("float32", "float64"):
        known = replace(backend, dtype=dtype)(z[:2])
        picks = CoreSet().select(
            None, embeddings=backend(z), labelled_embeddings=known, n=9, rng=np.random.default_rng(0)
        )
        assert picks.tolist() == usual.tolist()


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_sixteen_bits_with_large_norms(name: str) -> None:
    if name == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
    z = (np.random.default_rng(0).standard_normal((600, 64)) * 40).astype(np.float16)
    usual = CoreSet().select(None, embeddings=z.astype(np.float64), n=50, rng=np.random.default_rng(0))
    given = Backend(name, "float16")(z)
    assert CoreSet().select(None, embeddings=given, n=50, rng=np.random.default_rng(0)).tolist() == usual.tolist()


def test_whole_numbers_are_refused() -> None:
    with pytest.raises(ShortlistError, match="CoreSet: embeddings must be floating point numbers, got int64"):
        CoreSet().select(None, embeddings=np.arange(12).reshape(6, 2), n=2, rng=np.random.default_rng(0))


@pytest.mark.parametrize("price", [None, "equal"])
@pytest.mark.parametrize("size", [600, 2 * SOME + 1000])
def test_where_all_are_as_far_the_lowest_come_first(price: str | None, size: int) -> None:
    """More of them than a search looks at."""
    z = np.zeros((size, 3), np.float32)
    z[:, 0] = np.where(np.arange(size) < 300, -1, 1)  # two places, both 1 away from the only centre
    method = CoreSet() if price is None else CostAware(CoreSet())
    given = None if price is None else np.full(size, 2.0)
    known = np.zeros((5, 3), np.float32)
    picked = method.select(
        None, embeddings=z, labelled_embeddings=known, price=given, n=2, rng=np.random.default_rng(0)
    )
    assert picked.tolist() == [0, 300]


def test_a_pool_of_which_some_last_to_the_end() -> None:
    """As many centres as picks, and a pool twice as large as those looked at: the picks of the plain loop."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((2 * SOME + 500, 12)).astype(np.float32)
    known = rng.standard_normal((80, 12)).astype(np.float32)
    picked = CoreSet().select(None, embeddings=z, labelled_embeddings=known, n=80, rng=rng)
    left = ((z[:, None, :].astype(float) - known[None]) ** 2).sum(-1).min(1)
    for position in picked:
        assert left[position] == left.max()
        left = np.minimum(left, ((z.astype(float) - z[position].astype(float)) ** 2).sum(1))
