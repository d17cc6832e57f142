"""The parts every method is made of: what a gain is worth, the best, the race, the scan."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from shortlist.acquisition.badge import Badge
from shortlist.acquisition.core_set import CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.method import FREE, Scored, Sequential, Value, _settled, best, race
from shortlist.acquisition.random import Random
from shortlist.acquisition.scan import BLOCK, scan
from shortlist.system.arrays import to_numpy
from shortlist.types import Array, Ints, Pool, Predictions, Rng, ShortlistError
from tests.backends import HAS_TORCH, Backend, each_backend, host, softmax


@each_backend
def test_a_gain_is_worth_itself_or_its_share_of_the_price(backend: Backend) -> None:
    gains, price = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0])
    assert host(Value()(backend(gains))).tolist() == [0, 1, 3]
    worth = Value(backend(price), d=0.5)(backend(gains))
    assert backend.owns(worth)
    np.testing.assert_allclose(host(worth), [1, 2**0.5 / 2, 0.5])


def test_small_gains_in_float32_still_differ() -> None:
    gains = np.array([1e-9, 2e-9], np.float32)
    worth = Value(np.ones(2, np.float32), d=0.3)(gains)
    assert worth[1] > worth[0]


def test_cost_aware_is_checked_when_it_is_made() -> None:
    with pytest.raises(ShortlistError, match=r"^cost_aware: d must be from 0 to 100, got -1"):
        CostAware(Entropy(), d=-1)
    with pytest.raises(ShortlistError, match=r"^cost_aware: d must be from 0 to 100, got nan"):
        CostAware(Entropy(), d=float("nan"))
    for wrong in (CostAware(Random()), Entropy, "entropy"):
        with pytest.raises(ShortlistError, match=r"^cost_aware: needs a method to wrap"):
            CostAware(wrong)  # type: ignore[arg-type]


@each_backend
def test_the_best_come_first_and_ties_go_to_the_lowest_position(backend: Backend) -> None:
    worth = backend(np.array([1.0, 3.0, 2.0, 3.0, 1.0]))
    assert best(worth, 4).tolist() == [1, 3, 2, 0]
    assert best(worth, 99).tolist() == [1, 3, 2, 0, 4]
    assert best(worth, 0).tolist() == []


def test_a_race_is_a_draw_without_replacement() -> None:
    weights = np.array([1.0, 2.0, 3.0, 0.0])
    pairs = np.zeros((3, 3))
    for seed in range(6000):
        first, second, third, fourth = race(weights, 4, np.random.default_rng(seed))
        assert fourth == 3  # no weight, no chance while others are left
        assert len({first, second, third}) == 3
        pairs[first, second] += 1
    p = weights[:3] / 6
    expected = np.array([[p[i] * p[j] / (1 - p[i]) if i != j else 0 for j in range(3)] for i in range(3)])
    off = ~np.eye(3, dtype=bool)
    assert chisquare(pairs[off], 6000 * expected[off]).pvalue > 1e-3


class Broken(Scored):
    """A score of somebody's own that can not score every item."""

    def gains(self, batch: Predictions) -> Array:
        return np.where(np.arange(batch.probs.shape[0]) == 2, np.nan, 1.0)


class First(Sequential):
    """A sequential method of somebody's own, such as BADGE will be: it needs the whole of the probabilities."""

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        return best(value(pool.probs[:, 0]), n)


def test_a_score_that_is_no_number_is_refused_by_item() -> None:
    with pytest.raises(ShortlistError, match=r"^Broken: item 2 has no finite score"):
        Broken().select(softmax(4, 3), n=1, rng=np.random.default_rng(0))


def test_a_sequential_method_gets_the_whole_of_what_it_needs() -> None:
    probs, rng = softmax(20, 3), np.random.default_rng(0)
    order = np.argsort(-probs[:, 0], kind="stable")
    stream = [Predictions(probs[:7]), Predictions(probs[7:])]
    assert First().select(probs, n=5, rng=rng).tolist() == order[:5].tolist()
    assert First().select(stream, n=5, rng=rng).tolist() == order[:5].tolist()
    by_price = CostAware(First(), d=0).select(stream, n=5, rng=rng, price=lambda p: 1 / p[:, 0])
    assert by_price.tolist() == order[:5].tolist()
    with pytest.raises(ShortlistError, match=r"^First needs probs"):
        First().select(Pool(size=20), n=5, rng=rng)
    with pytest.raises(ShortlistError, match=r"^probs: row 0 sums to 2"):
        First().select(probs * 2, n=5, rng=rng)


def test_an_empty_record_is_refused() -> None:
    with pytest.raises(ShortlistError, match=r"^Random: an empty pool record; give at least probs or size"):
        Random().select(Pool(), n=1, rng=np.random.default_rng(0))


class Watched:
    """A stream that counts how often it is gone through."""

    def __init__(self, batches: int, rows: int, n_classes: int) -> None:
        self.batches, self.probs, self.passes = batches, softmax(rows, n_classes), 0

    def __iter__(self) -> Iterator[Predictions]:
        self.passes += 1
        for _ in range(self.batches):
            yield Predictions(self.probs.copy())


def test_a_score_method_looks_once_at_a_stream() -> None:
    stream = Watched(5, 20, 3)
    CostAware(Entropy()).select(stream, n=7, rng=np.random.default_rng(0), price=lambda p: p[:, 0])
    assert stream.passes == 1


def test_a_stream_is_let_go_batch_by_batch() -> None:
    stream = Watched(40, 500, 200)  # 800 KB each
    tracemalloc.start()
    CostAware(Entropy()).select(stream, n=7, rng=np.random.default_rng(0), price=lambda p: p.max(axis=1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * 500 * 200 * 8 / 5  # far from the whole pool


def test_a_scan_works_in_blocks_and_keeps_the_order() -> None:
    rows = 2 * BLOCK // 1000 + 5
    probs = softmax(rows, 1000)
    seen: list[int] = []

    def first(batch: Predictions) -> object:
        seen.append(batch.probs.shape[0])
        return batch.probs[:, 0]

    (kept, nothing) = scan(Pool(probs), first, None)
    assert nothing is None
    assert np.array_equal(kept, probs[:, 0])  # type: ignore[arg-type]
    assert sorted(seen) == [rows - 2 * 701, 701, 701]  # equal ones, as few as fit


def test_results_come_to_the_host_from_half_precision_and_from_the_middle_of_a_graph() -> None:
    torch = pytest.importorskip("torch")
    given = torch.tensor([1.0, 0.5], dtype=torch.bfloat16)
    assert to_numpy(given).tolist() == [1.0, 0.5]
    assert to_numpy(given.float().requires_grad_() * 2).tolist() == [2.0, 1.0]


# --- what a method of one's own may give -----------------------------------------------------------------------


class Given(Scored):
    """Gains that are a function of the probabilities."""

    def __init__(self, gains: Callable[[Array], Array]) -> None:
        self.made = gains

    def gains(self, batch: Predictions) -> Array:
        return self.made(batch.probs)


@pytest.mark.parametrize(
    ("gains", "message"),
    [
        (
            lambda p: p,
            r"gains has to give one number an item, an array of shape \(9,\), got an array of shape \(9, 4\)",
        ),
        (lambda p: p[:, :1], r"got an array of shape \(9, 1\)"),
        (lambda p: p.sum(), r"got an array of shape \(\)|got float64"),
        (lambda p: "much", "got str"),
        (lambda p: p[:, 0] - 2, "gains have to be at least 0, and item 0 has -1"),
        (lambda p: np.where(p[:, 0] == p[3, 0], np.nan, 1.0), "item 3 has no finite score"),
    ],
)
def test_gains_are_one_number_an_item_and_none_below_0(gains: Callable[[Array], Array], message: str) -> None:
    for method in (Given(gains), CostAware(Given(gains))):
        with pytest.raises(ShortlistError, match=f"^Given: .*({message})"):
            method.select(softmax(9, 4), n=2, rng=0, price=np.ones(9))


def test_gains_may_be_a_list_and_a_hair_below_0() -> None:
    sure = np.eye(4)[[0, 1, 2]]
    assert Given(lambda p: (1 - 1.0000001 * p.max(axis=1)).tolist()).select(sure, n=3, rng=0).tolist() == [0, 1, 2]


@each_backend
def test_a_seed_stands_for_its_generator(backend: Backend) -> None:
    probs = backend(softmax(30, 4))
    usual = Random().select(probs, n=9, rng=np.random.default_rng(3)).tolist()
    seeds: list[Any] = [3, np.int64(3)]
    assert [Random().select(probs, n=9, rng=seed).tolist() for seed in seeds] == [usual, usual]
    for wrong in (None, "3", -1, True):
        with pytest.raises(ShortlistError, match=r"^rng: need np\.random\.default_rng\(seed\), or a whole number"):
            Random().select(probs, n=9, rng=wrong)  # type: ignore[arg-type]


def test_how_many_is_a_whole_number() -> None:
    with pytest.raises(ShortlistError, match=r"^n: need a whole number of items, got 0\.1; .* round\(share \* len"):
        Entropy().select(softmax(30, 4), n=0.1, rng=0)  # type: ignore[arg-type]


@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_tensors_that_learn_and_tensors_beside_arrays_are_taken() -> None:
    import torch

    probs, points = softmax(30, 4), np.random.default_rng(0).normal(size=(30, 5))
    learning, there = torch.tensor(probs, requires_grad=True), torch.tensor(points, requires_grad=True)
    for method in (Badge(), CoreSet(), CostAware(Badge())):
        usual = method.select(probs, embeddings=points, labelled_embeddings=points[:3], price=probs[:, 0], n=5, rng=0)
        for p, e, old in product((probs, learning), (points, there), (points[:3], there[:3])):
            picks = method.select(p, embeddings=e, labelled_embeddings=old, price=learning[:, 0], n=5, rng=0)
            assert picks.tolist() == usual.tolist()


# --- prices ----------------------------------------------------------------------------------------------------


def test_what_costs_nothing_costs_a_millionth_of_the_dearest() -> None:
    def settled(*price: float) -> list[float]:
        found = _settled(Value(np.array(price)), None, "Mine", len(price))
        assert found is not None
        return [float(p) for p in found]

    assert settled(2.0, 0.5) == [2.0, 0.5]
    assert settled(2.0, 0.0) == [2.0, 2.0 * FREE]
    assert settled(0.0, 0.0) == [1.0, 1.0]
    assert settled() == []
    assert _settled(Value(), None, "Mine", 3) is None
    for wrong, words in (
        ([-0.1, 1.0], "every price must be a finite number of at least 0"),
        ([np.nan, 1.0], "every price must be a finite number"),
        ([np.inf, 1.0], "every price must be a finite number"),
        ([1.0], r"one number per item, \(2,\), got shape \(1,\)"),
        ([[1.0, 1.0]], r"got shape \(1, 2\)"),
        ("dear", "got str"),
    ):
        with pytest.raises(ShortlistError, match=f"Mine: .*{words}"):
            _settled(Value(wrong), None, "Mine", 2)


def test_the_rest_is_filled_at_random_or_cheapest_first_and_ties_by_place() -> None:
    open_ = np.array([True, False, True, True, True])
    rng = np.random.default_rng(0)
    assert Value(np.array([3.0, 0.0, 1.0, 3.0, 1.0])).filler(open_, rng).tolist() == [2, 4, 0, 3]
    found = [tuple(Value().filler(open_, rng).tolist()) for _ in range(50)]
    assert {tuple(sorted(order)) for order in found} == {(0, 2, 3, 4)}
    assert len(set(found)) > 5


def test_a_share_is_what_is_left_of_a_worth() -> None:
    assert [Value().share(gain, 2.0) for gain in (0.0, 0.5, 2.0)] == [0, 0.25, 1]
    assert Value().share(0.0, 0.0) == 0
    priced = Value(np.ones(1), d=0.5)
    assert [priced.share(gain, 3.0) for gain in (0.0, 3.0)] == [0.5, 1]


# --- what a pool has to be -------------------------------------------------------------------------------------


class Takes(Sequential):
    """The first ones, of a pool of which it needs these fields."""

    needs = frozenset({"embeddings", "labelled_embeddings"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        return np.arange(n)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"embeddings": np.ones((3, 2))}, None),
        ({"embeddings": np.ones((3, 2)), "labelled_embeddings": np.ones((1, 2))}, None),
        ({"embeddings": np.ones((3, 2)), "labelled_embeddings": np.ones((0, 2))}, None),
        ({"embeddings": np.ones((3, 0))}, None),
        ({}, "Takes needs embeddings, and the pool has none: pass embeddings=…"),
        ({"embeddings": np.ones(3)}, r"embeddings must be an array of 2 dimensions, got shape \(3,\)"),
        ({"embeddings": np.ones((3, 2), int)}, "embeddings must be floating point numbers, got int64"),
        ({"embeddings": np.array([[1, 1], [1, np.inf], [1, 1]])}, "embeddings row 1 is not finite"),
        ({"embeddings": np.array([[1, 1], [1, 1], [-np.inf, 1]])}, "embeddings row 2 is not finite"),
        ({"embeddings": np.array([[np.nan, 1], [1, 1], [1, 1]])}, "embeddings row 0 is not finite"),
        (
            {"embeddings": np.ones((3, 2)), "labelled_embeddings": np.ones((1, 3))},
            r"labelled_embeddings \(1, 3\) and embeddings \(3, 2\) must have as many columns",
        ),
        (
            {"embeddings": np.ones((3, 2)), "labelled_embeddings": np.array([[1, np.nan]])},
            "labelled_embeddings row 0 is not finite",
        ),
        ({"embeddings": np.ones((3, 2)), "losses": np.ones(2)}, "fields of different lengths: embeddings 3, losses 2"),
    ],
)
def test_fields_are_there_finite_and_of_one_length(fields: dict[str, Any], words: str | None) -> None:
    if words is None:
        assert Takes().select(None, n=2, rng=0, **fields).tolist() == [0, 1]
    else:
        with pytest.raises(ShortlistError, match=words):
            Takes().select(None, n=2, rng=0, **fields)


def test_more_than_there_are_is_told_and_fewer_than_none_refused() -> None:
    with pytest.warns(UserWarning, match="Takes: 4 picks are asked of a pool of 3 items; it picks all of them") as told:
        assert Takes().select(None, embeddings=np.ones((3, 2)), n=4, rng=0).tolist() == [0, 1, 2]
    assert told[0].filename == __file__  # the line that called select
    assert Takes().select(None, embeddings=np.ones((3, 2)), n=3, rng=0).tolist() == [0, 1, 2]
    assert Takes().select(None, embeddings=np.ones((3, 2)), n=0, rng=0).tolist() == []
    with pytest.raises(ShortlistError, match="Takes: n must be at least 0, got -1"):
        Takes().select(None, embeddings=np.ones((3, 2)), n=-1, rng=0)
    with pytest.raises(ShortlistError, match="fields of different lengths: embeddings 3, size 4"):
        Takes().select(Pool(embeddings=np.ones((3, 2)), size=4), n=1, rng=0)


def test_gains_a_hair_below_0_are_0_and_not_further() -> None:
    class Mine(Scored):
        def gains(self, batch: Predictions) -> Array:
            return np.asarray(found)

    probs = np.full((3, 2), 0.5)
    found = [-1e-6, 0.0, 0.5]
    assert Mine().select(probs, n=3, rng=0).tolist() == [2, 0, 1]
    found = [0.0, -1.1e-6, 0.5]
    with pytest.raises(ShortlistError, match=r"Mine: gains have to be at least 0, and item 1 has -1\.1e-06"):
        Mine().select(probs, n=3, rng=0)


def test_nothing_is_picked_where_nothing_is_asked_for() -> None:
    """Nor is a method bothered with it."""

    class Never(Takes):
        def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
            raise AssertionError("n is above 0 for those who pick")

    assert Never().select(None, embeddings=np.ones((3, 2)), n=0, rng=0).tolist() == []
    assert Never().select(Pool(size=0, embeddings=np.ones((0, 2))), n=0, rng=0).tolist() == []


def test_an_exponent_has_its_bounds() -> None:
    assert [CostAware(Entropy(), d=d).d for d in (0, 100)] == [0, 100]
    with pytest.raises(ShortlistError, match=r"d must be from 0 to 100, got 100\.5"):
        CostAware(Entropy(), d=100.5)
    for share, told in ((0.5, True), (1.5, False), (0.0, False)):
        with pytest.raises(ShortlistError) as refused:
            Entropy().select(softmax(3, 4), n=share, rng=0)  # type: ignore[arg-type]
        assert ("of a share of the pool give" in str(refused.value)) is told
