"""ProbCover against a loop over the whole matrix of distances, which it never makes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.prob_cover import ProbCover, purity_radius
from shortlist.logits import Logits
from shortlist.types import Pool, Predictions, ShortlistError
from tests.backends import HAS_TORCH, Backend, Matrix, each_backend, softmax

N, DELTA = 80, 0.55


def features(n: int = N, seed: int = 0, width: int = 5) -> Matrix:
    """Clusters of many sizes, and some items on their own."""
    rng = np.random.default_rng(seed)
    which = np.minimum(rng.geometric(0.15, n), 15) - 1
    made: Matrix = rng.standard_normal((15, width))[which] + 0.35 * rng.standard_normal((n, width))
    return made


def edges(x: Matrix, y: Matrix, delta: float) -> Any:
    """(n, m) whether two rows are closer than δ once they have a length of 1."""
    a, b = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    return 2 - 2 * a @ b.T < delta**2


def loop(x: Matrix, labelled: Matrix, n: int, d: float | None, price: Matrix, delta: float = DELTA) -> list[int]:
    """Picks until all is covered, n at most."""
    near = edges(x, x, delta)
    uncovered = ~edges(x, labelled, delta).any(axis=1)
    chosen: list[int] = []
    while uncovered.any() and len(chosen) < n:
        degrees = (near & uncovered).sum(axis=1)
        worth = degrees / degrees.max() if d is None else (1 + degrees / degrees.max()) ** d / price
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
        uncovered &= ~near[chosen[-1]]
    return chosen


def method(d: float | None, **settings: Any) -> ProbCover | CostAware:
    inner = ProbCover(**{"delta": DELTA, **settings})
    return inner if d is None else CostAware(inner, d=d)


def select(
    backend: Backend, x: Matrix, labelled: Matrix, d: float | None, n: int = N, seed: int = 0, **settings: Any
) -> list[int]:
    picks = method(d, **settings).select(
        None,
        n=n,
        rng=np.random.default_rng(seed),
        features=backend(x),
        labelled_features=backend(labelled) if len(labelled) else None,
        price=backend(prices(len(x))),
    )
    return [int(i) for i in picks]


def prices(n: int = N) -> Matrix:
    return np.random.default_rng(9).uniform(1, 4, n)


each_d = pytest.mark.parametrize("d", [None, 0.0, 0.3, 1.2])


@each_backend
@each_d
@pytest.mark.parametrize("n_labelled", [0, 6])
def test_as_a_loop_over_the_whole_matrix_would(backend: Backend, d: float | None, n_labelled: int) -> None:
    for seed in range(4):
        x, labelled = features(seed=seed), features(n_labelled, seed + 100)
        expected = loop(x, labelled, N, d, prices())
        assert len(expected) > 10  # a run worth comparing
        picks = select(backend, x, labelled, d)
        assert picks[: len(expected)] == expected
        rest = [i for i in np.argsort(prices(), kind="stable").tolist() if i not in expected]
        assert picks[len(expected) :] == rest if d is not None else sorted(picks) == list(range(N))


@each_backend
@each_d
@pytest.mark.parametrize("tile", [40, 1 << 19])
def test_lists_or_no_lists_the_picks_are_the_same(
    backend: Backend, d: float | None, tile: int, tiles_of: Callable[[int], None]
) -> None:
    x, labelled = features(seed=1), features(6, seed=7)
    usual = select(backend, x, labelled, d)
    tiles_of(tile)
    for memory in (0, 1 << 11, 1 << 30):  # no list is kept, or some until they are too long, or all
        assert select(backend, x, labelled, d, memory=memory) == usual


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@each_d
@pytest.mark.parametrize("memory", [0, 1 << 30])
def test_looking_for_neighbours_in_16_bits_as_on_a_gpu(
    d: float | None, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, labelled, backend = features(400), features(6, seed=7), Backend("torch", "float32")
    usual = select(backend, x, labelled, d)
    monkeypatch.setattr("shortlist.acquisition.geometry.neighbours.on_cuda", lambda array: True)
    assert select(backend, x, labelled, d, memory=memory) == usual


@each_backend
def test_what_is_left_when_all_is_covered_is_drawn(backend: Backend) -> None:
    x, labelled = features(), features(6, seed=7)
    n = len(loop(x, labelled, N, None, prices()))
    one, other = (select(backend, x, labelled, None, seed=s) for s in (0, 1))
    assert one[:n] == other[:n]
    assert one[n:] != other[n:]
    assert sorted(one) == sorted(other) == list(range(N))


@each_d
def test_a_permuted_pool_covers_the_same(d: float | None) -> None:
    """Where degrees tie the position decides, so only prices make the picks themselves the same."""
    x, labelled = features(), features(6, seed=7)
    price = prices()
    usual = method(d).select(
        None, n=8, rng=np.random.default_rng(0), features=x, labelled_features=labelled, price=price
    )
    for seed in range(5):
        places = np.random.default_rng(seed).permutation(N)
        picks = places[
            method(d).select(
                None,
                n=8,
                rng=np.random.default_rng(0),
                features=x[places],
                labelled_features=labelled,
                price=price[places],
            )
        ]
        degrees = edges(x, x, DELTA)[:, ~edges(x, labelled, DELTA).any(axis=1)].sum(axis=1)
        assert degrees[picks[0]] == degrees[usual[0]]
        assert d is None or picks.tolist() == usual.tolist()


def test_equal_prices_change_nothing_until_all_is_covered() -> None:
    x = features()
    n = len(loop(x, x[:0], N, None, prices()))
    plain = ProbCover(DELTA).select(None, n=n, rng=np.random.default_rng(0), features=x)
    for d in (0.3, 1.2):
        picks = CostAware(ProbCover(DELTA), d=d).select(
            None, n=n, rng=np.random.default_rng(0), features=x, price=np.full(N, 2.5)
        )
        assert picks.tolist() == plain.tolist()


# --- awkward features ------------------------------------------------------------------------------------------


@each_backend
def test_twins_are_covered_together_at_any_delta(backend: Backend) -> None:
    x = np.repeat(features(10, width=40), [1, 1, 5, 1, 3, 1, 1, 1, 4, 1], axis=0) * np.linspace(0.5, 9, 19)[:, None]
    twins = np.cumsum([0, 1, 1, 5, 1, 3, 1, 1, 1, 4])
    for delta in (1e-3, 1e-2):
        picks = select(backend, x, x[:0], None, n=10, delta=delta)
        assert picks == [*twins[[2, 8, 4]], *twins[[0, 1, 3, 5, 6, 7, 9]]]


@each_backend
@each_d
def test_rows_of_zeros_point_nowhere_and_are_left_to_the_filler(backend: Backend, d: float | None) -> None:
    x = features(30)
    x[[3, 8, 20]] = 0
    picks = select(backend, x, np.zeros((2, 5)), d, n=30)
    assert sorted(picks) == list(range(30))
    if d is None:
        assert not {3, 8, 20} & set(picks[:5])
    assert sorted(select(backend, np.zeros((6, 3)), np.zeros((0, 3)), d, n=6)) == list(range(6))


@each_backend
@each_d
def test_one_item_all_twins_and_everything_in_one_ball(backend: Backend, d: float | None) -> None:
    assert select(backend, features(1), features(0), d, n=1) == [0]
    assert select(backend, np.ones((4, 3)), np.ones((0, 3)), d, n=1) == (
        [0] if d is None else [int(prices(4).argmin())]
    )
    assert sorted(select(backend, features(), features(3, seed=5), d, delta=2.5)) == list(range(N))
    assert sorted(select(backend, features(), features(3, seed=5), d, delta=2.5, memory=0)) == list(range(N))


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_numbers_of_16_bits_are_taken_as_they_are() -> None:
    import torch

    x = torch.from_numpy(features()).to(torch.bfloat16)
    narrow, wide = (
        ProbCover(DELTA).select(None, features=f, n=30, rng=np.random.default_rng(0)) for f in (x, x.to(torch.float64))
    )
    assert narrow.tolist() == wide.tolist()


# --- a radius from the features --------------------------------------------------------------------------------


@each_backend
def test_without_delta_the_features_give_one(backend: Backend) -> None:
    x, labelled = features(), features(6, seed=7)
    delta = purity_radius(np.concatenate([x, labelled]), 4, np.random.default_rng(0), 0.9)
    fields = {"features": backend(x), "labelled_features": backend(labelled)}
    for pool in (Pool(n_classes=4, **fields), Pool(probs=backend(softmax(N, 4)), **fields)):
        picks = ProbCover(purity=0.9).select(pool, n=5, rng=np.random.default_rng(0))
        assert picks.tolist() == loop(x, labelled, 5, None, prices(), delta)


def test_without_delta_the_number_of_classes_is_needed() -> None:
    with pytest.raises(ShortlistError, match=r"^ProbCover needs delta=…, or .* n_classes in a Pool"):
        ProbCover().select(None, features=features(), n=3, rng=np.random.default_rng(0))


def test_without_delta_any_kind_of_prediction_gives_the_number_of_classes() -> None:
    x, z = np.random.default_rng(0).standard_normal((40, 6)), np.log(softmax(40, 3))
    whole = ProbCover().select(softmax(40, 3), features=x, n=9, rng=np.random.default_rng(0))
    for pool in (Logits(z), Predictions(softmax(40, 3)), [Logits(z[:9]), Logits(z[9:])]):
        assert ProbCover().select(pool, features=x, n=9, rng=np.random.default_rng(0)).tolist() == whole.tolist()


@each_backend
def test_one_class_and_no_delta_is_one_ball(backend: Backend) -> None:
    x = backend(features())
    picks = ProbCover().select(Pool(n_classes=1), features=x, n=N, rng=np.random.default_rng(0))
    assert sorted(picks.tolist()) == list(range(N))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delta": 0.0}, "delta must be above 0, got 0.0"),
        ({"delta": float("nan")}, "delta must be above 0, got nan"),
        ({"purity": 0.0}, "purity must be above 0 and at most 1, got 0.0"),
        ({"purity": 1.1}, "purity must be above 0 and at most 1, got 1.1"),
        ({"memory": -1}, "memory must be at least 0 bytes, got -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^prob_cover: {message}"):
        ProbCover(**settings)


# --- memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.3, 1.6], ids=["sparse", "dense"])
@pytest.mark.parametrize("memory", [0, 1 << 24])
def test_never_the_whole_matrix(delta: float, memory: int, tiles_of: Callable[[int], None]) -> None:
    tiles_of(1 << 14)
    n = 4000  # the matrix would have 64 MB; at 1.6 most of it is close
    x = features(n).astype(np.float32)
    tracemalloc.start()
    ProbCover(delta, memory=memory).select(None, features=x, n=20, rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < memory + (4 << 20)
