"""Every acquisition function, found by walking the package, meets the same list of checks, plain and cost-aware."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import shortlist.acquisition
from shortlist.acquisition.badge import Badge
from shortlist.acquisition.core_set import CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.least_confident import LeastConfident
from shortlist.acquisition.margin import Margin
from shortlist.acquisition.method import Method, Scored
from shortlist.acquisition.prob_cover import ProbCover
from shortlist.acquisition.random import Random
from shortlist.acquisition.saal import Saal
from shortlist.acquisition.typi_clust import TypiClust
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Acquisition, Ints, Pool, Predictions, ShortlistError
from tests.backends import Backend, each_backend, host, softmax
from tests.contracts.classes import classes_of


@dataclass(frozen=True)
class DiverseSaal(Saal):
    """A setting that makes another method of one: a class of its own here, so that it meets every check too."""

    diversity: bool = True


# A method without a builder here fails `test_every_method_has_a_builder`.
BUILDERS: dict[type, Callable[[], Method]] = {
    Random: Random,
    Entropy: Entropy,
    Margin: Margin,
    LeastConfident: LeastConfident,
    CoreSet: CoreSet,
    Badge: Badge,
    Saal: Saal,
    DiverseSaal: DiverseSaal,
    ProbCover: lambda: ProbCover(delta=0.4),
    TypiClust: TypiClust,
}
# The methods that draw; all others must give the same picks whatever the seed.
RANDOM = {Random, Badge, DiverseSaal, TypiClust}
# Its items come by the turn of their cluster, whose number depends on n, before any price is looked at; ties inside a
# cluster go by position. tests/acquisition/test_typi_clust.py has the same checks for the items of one cluster.
BY_CLUSTER = {TypiClust}
# Its gains are whole numbers, and ties go by position; once all is covered, a random filler has no gains at all.
# tests/acquisition/test_prob_cover.py has the same checks where nothing ties, and up to the filler.
BY_COUNT = {ProbCover}
PER_ITEM = ("probs", "embeddings", "features", "losses")


def each(among: Callable[[type], bool]) -> pytest.MarkDecorator:
    chosen = [pytest.param(cls, id=cls.__name__) for cls in BUILDERS if among(cls)]
    return pytest.mark.parametrize("cls", chosen)


each_method = each(lambda cls: True)
each_score = each(lambda cls: issubclass(cls, Scored))
each_draw = each(lambda cls: cls in RANDOM)
each_rule = each(lambda cls: cls not in RANDOM)
each_draw_of_items = each(lambda cls: cls in RANDOM - BY_CLUSTER)
each_of_items = each(lambda cls: cls not in BY_CLUSTER)
each_rule_without_ties = each(lambda cls: cls not in RANDOM | BY_COUNT)
LOOKING = [
    pytest.param(cls, costly, id=f"{cls.__name__}-{'cost-aware' if costly else 'plain'}")
    for cls in BUILDERS
    for costly in (False, True)
    if costly or "probs" in BUILDERS[cls]().needs
]
each_that_looks_at_probabilities = pytest.mark.parametrize(("cls", "costly"), LOOKING)
each_wrapping = pytest.mark.parametrize("costly", [False, True], ids=["plain", "cost-aware"])


def built(cls: type, costly: bool) -> Any:
    inner = BUILDERS[cls]()
    return CostAware(inner) if costly else inner


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@dataclass(frozen=True)
class Batches:
    """A pool as a stream that can be iterated again, in batches of unequal size."""

    probs: Any
    embeddings: Any
    sizes: tuple[int, ...] = (1, 7, 2, 64)

    def __iter__(self) -> Iterator[Predictions]:
        start, i = 0, 0
        while start < self.probs.shape[0]:
            part = slice(start, start + self.sizes[i % len(self.sizes)])
            yield Predictions(self.probs[part, :], self.embeddings[part, :])
            start, i = part.stop, i + 1


def a_pool(n: int = 40, n_classes: int = 6, seed: int = 3, backend: Backend | None = None) -> Pool:
    """Distinct items, distinct scores."""
    made = rng(seed)
    pool = Pool(
        probs=softmax(n, n_classes, seed=seed),
        embeddings=made.standard_normal((n, 5)),
        features=made.standard_normal((n, 4)),
        labelled_embeddings=made.standard_normal((3, 5)),
        labelled_features=made.standard_normal((3, 4)),
        losses=made.random(n),
    )
    if backend is None:
        return pool
    return Pool(**{f.name: backend(getattr(pool, f.name)) for f in fields(pool) if f.name not in ("size", "n_classes")})


def needed(method: Any, pool: Pool) -> Pool:
    """The pool with nothing but what the method needs, as the engine hands it over."""
    if not method.needs:
        return Pool(size=int(pool.probs.shape[0]))
    return Pool(**{name: getattr(pool, name) for name in method.needs})


def rearranged(pool: Pool, places: Ints) -> Pool:
    moved = {f: getattr(pool, f)[places] for f in PER_ITEM if getattr(pool, f) is not None}
    return replace(pool, **moved)


def prices(n: int, seed: int = 4) -> Any:
    return rng(seed).uniform(1, 3, n)


def test_every_method_has_a_builder() -> None:
    found = {c for c in classes_of(shortlist.acquisition) if hasattr(c, "select") and not inspect.isabstract(c)}
    theirs = {cls for cls in BUILDERS if cls.__module__ != __name__}
    assert found == {*theirs, CostAware}, "give every acquisition function a builder in this file"


@each_method
@each_wrapping
def test_is_frozen_meets_the_protocol_and_says_what_it_needs(cls: type, costly: bool) -> None:
    method = built(cls, costly)
    asked: Acquisition = method
    assert asked.needs <= {f.name for f in fields(Pool)} - {"size"}
    assert method == built(cls, costly)
    with pytest.raises(FrozenInstanceError):
        method.d = 2.0


@each_method
@each_wrapping
@pytest.mark.parametrize("n", [1, 13, 40])
def test_positions_of_the_pool_each_at_most_once(cls: type, costly: bool, n: int) -> None:
    picks = built(cls, costly).select(a_pool(), n=n, rng=rng(), price=prices(40))
    assert isinstance(picks, np.ndarray)
    assert picks.dtype == np.int64
    assert picks.shape == (n,)
    assert len(set(picks.tolist())) == n
    assert picks.min() >= 0
    assert picks.max() < 40


@each_of_items
@each_wrapping
def test_best_first_so_fewer_is_a_beginning_of_more(cls: type, costly: bool) -> None:
    method, pool = built(cls, costly), a_pool()
    many = method.select(pool, n=40, rng=rng(), price=prices(40))
    for n in (0, 1, 5, 39):
        assert method.select(pool, n=n, rng=rng(), price=prices(40)).tolist() == many[:n].tolist()


@each_score
@each_wrapping
def test_best_first_by_what_a_gain_is_worth(cls: type, costly: bool) -> None:
    method, inner, pool = built(cls, costly), BUILDERS[cls](), a_pool()
    assert isinstance(inner, Scored)
    gains = inner.gains(Predictions(pool.probs))
    assert (gains >= 0).all()
    worth = (1 + gains) ** method.d / prices(40) if costly else gains
    picks = method.select(pool, n=40, rng=rng(), price=prices(40))
    assert picks.tolist() == np.argsort(-worth, kind="stable").tolist()


@each_method
@each_wrapping
def test_same_seed_same_picks(cls: type, costly: bool) -> None:
    method, pool = built(cls, costly), a_pool()
    picks = [method.select(pool, n=9, rng=rng(seed), price=prices(40)).tolist() for seed in (1, 1, 2)]
    assert picks[0] == picks[1]
    assert (picks[0] == picks[2]) == (cls not in RANDOM)


@each_method
@each_wrapping
@each_backend
def test_a_pool_smaller_than_n_and_none_at_all(cls: type, costly: bool, backend: Backend) -> None:
    method, pool = built(cls, costly), a_pool(backend=backend)
    price = backend(prices(40))
    with pytest.warns(UserWarning, match=f"^{cls.__name__}: 99 picks are asked of a pool of 40 items; it picks all"):
        assert sorted(method.select(pool, n=99, rng=rng(), price=price).tolist()) == list(range(40))
    assert method.select(pool, n=0, rng=rng(), price=price).tolist() == []
    empty = rearranged(pool, np.empty(0, np.int64))
    for nothing, given in ((empty, price[:0]), (empty, lambda p: p[:, 0]), ([], lambda p: p[:, 0])):
        with pytest.warns(UserWarning, match=f"^{cls.__name__}: 3 picks are asked of a pool of 0 items"):
            assert method.select(nothing, n=3, rng=rng(), price=given).tolist() == []


@each_method
@each_wrapping
def test_a_negative_n_is_refused(cls: type, costly: bool) -> None:
    with pytest.raises(ShortlistError, match=f"^{cls.__name__}: n must be at least 0, got -1"):
        built(cls, costly).select(a_pool(), n=-1, rng=rng(), price=prices(40))


@each_method
@each_wrapping
def test_one_class_is_nothing_to_ask_about_and_still_no_error(cls: type, costly: bool) -> None:
    pool = replace(a_pool(8), probs=np.ones((8, 1)))
    picks = built(cls, costly).select(pool, n=5, rng=rng(), price=CandidateSet().price)
    assert len(set(picks.tolist())) == 5


@each_method
@each_wrapping
@each_backend
def test_duplicates_zero_norms_and_certain_rows(cls: type, costly: bool, backend: Backend) -> None:
    twins = rearranged(a_pool(4), np.repeat(np.arange(4), 3))
    certain = replace(twins, probs=np.eye(6)[np.zeros(12, int)])
    zeros = {f: np.zeros_like(getattr(twins, f)) for f in PER_ITEM[1:]}
    for pool in (twins, certain, replace(twins, **zeros), replace(certain, **zeros)):
        there = Pool(
            **{f.name: backend(getattr(pool, f.name)) for f in fields(pool) if f.name not in ("size", "n_classes")}
        )
        picks = built(cls, costly).select(there, n=12, rng=rng(), price=backend(np.ones(12)))
        assert sorted(picks.tolist()) == list(range(12))


@each_method
@each_wrapping
@each_backend
def test_array_stream_record_and_keywords_are_one(cls: type, costly: bool, backend: Backend) -> None:
    method, pool = built(cls, costly), a_pool(backend=backend)
    price = CandidateSet(alpha=0.1).at(0.1, 0.2).price
    whole = method.select(pool, n=11, rng=rng(), price=price)
    loose = {f.name: getattr(pool, f.name) for f in fields(pool) if f.name not in ("probs", "size")}
    streamed = replace(pool, probs=Batches(pool.probs, pool.embeddings), embeddings=None)
    once = replace(pool, probs=iter(Batches(pool.probs, pool.embeddings)), embeddings=None)  # a generator serves once
    for other in (
        method.select(streamed, n=11, rng=rng(), price=price),
        method.select(once, n=11, rng=rng(), price=price),
        method.select(pool.probs, n=11, rng=rng(), price=price, **loose),
        method.select(None, n=11, rng=rng(), price=price, probs=pool.probs, **loose),
        method.select(replace(pool, embeddings=None), n=11, rng=rng(), price=price, embeddings=pool.embeddings),
        method.select(needed(method, pool), n=11, rng=rng(), price=price(pool.probs)),
        method.select(pool, n=11, rng=rng(), price=price(pool.probs)),
    ):
        assert other.tolist() == whole.tolist()


@each_method
@each_wrapping
def test_blocks_make_no_difference(cls: type, costly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    method, pool = built(cls, costly), a_pool()
    whole = method.select(pool, n=11, rng=rng(), price=lambda p: p[:, 0])
    monkeypatch.setattr("shortlist.acquisition.scan.BLOCK", 18)
    assert method.select(pool, n=11, rng=rng(), price=lambda p: p[:, 0]).tolist() == whole.tolist()


@each_method
@each_wrapping
@each_backend
def test_every_array_kind_gives_the_same_picks(cls: type, costly: bool, backend: Backend) -> None:
    method = built(cls, costly)
    usual = method.select(a_pool(), n=20, rng=rng(), price=prices(40))
    pool = a_pool(backend=backend)
    for price in (backend(prices(40)), prices(40)):  # prices may live elsewhere than the pool
        assert method.select(pool, n=20, rng=rng(), price=price).tolist() == usual.tolist()


@each_method
@each_wrapping
def test_the_pool_is_left_as_it_was(cls: type, costly: bool) -> None:
    pool, price = a_pool(), prices(40)
    for array in [price, *(getattr(pool, f.name) for f in fields(pool) if f.name not in ("size", "n_classes"))]:
        array.setflags(write=False)
    built(cls, costly).select(pool, n=20, rng=rng(), price=price)


@each_rule_without_ties
@each_wrapping
def test_a_permuted_pool_gives_permuted_picks(cls: type, costly: bool) -> None:
    method, pool, price = built(cls, costly), a_pool(), prices(40)
    usual = method.select(pool, n=15, rng=rng(), price=price)
    for seed in range(5):
        places = rng(seed).permutation(40)
        picks = method.select(rearranged(pool, places), n=15, rng=rng(), price=price[places])
        assert places[picks].tolist() == usual.tolist()


@each_draw_of_items
@each_wrapping
def test_a_permuted_pool_is_drawn_from_as_often(cls: type, costly: bool) -> None:
    method, pool, price = built(cls, costly), a_pool(10), np.linspace(1, 4, 10)
    places = rng(99).permutation(10)
    counts = np.zeros((2, 10), np.int64)
    for seed in range(2000):
        counts[0, method.select(pool, n=3, rng=rng(seed), price=price)] += 1
        picks = method.select(rearranged(pool, places), n=3, rng=rng(10_000 + seed), price=price[places])
        counts[1, places[picks]] += 1
    assert chi2_contingency(counts).pvalue > 1e-3


@each_rule_without_ties
def test_equal_prices_change_nothing_for_scores(cls: type) -> None:
    pool = a_pool()
    plain = BUILDERS[cls]().select(pool, n=40, rng=rng())
    for d in (0.3, 1.2):
        picks = CostAware(BUILDERS[cls](), d=d).select(pool, n=40, rng=rng(), price=np.full(40, 2.5))
        assert picks.tolist() == plain.tolist()


@each_method
def test_of_two_twins_the_cheaper_is_preferred(cls: type) -> None:
    pool = rearranged(a_pool(10), np.repeat(np.arange(10), 2))
    price = np.tile([3.0, 1.0], 10)
    cheap_first = 0
    for seed in range(200):
        picks = CostAware(BUILDERS[cls]()).select(pool, n=20, rng=rng(seed), price=price)
        place = np.argsort(picks)
        cheap_first += int((place[1::2] < place[0::2]).sum())
    share = cheap_first / 2000
    assert share > 0.7 if cls in RANDOM else share == 1.0  # a draw with odds 3 : 1, and a rule


@each_rule
def test_the_price_alone_decides_where_d_is_zero(cls: type) -> None:
    price = prices(40)
    picks = CostAware(BUILDERS[cls](), d=0).select(a_pool(), n=40, rng=rng(), price=price)
    assert picks.tolist() == np.argsort(price, kind="stable").tolist()


@each_of_items
def test_free_items_come_first(cls: type) -> None:
    price = prices(40)
    price[[5, 17]] = 0
    picks = CostAware(BUILDERS[cls]()).select(a_pool(), n=2, rng=rng(), price=price)
    assert sorted(picks.tolist()) == [5, 17]


@each_method
@each_wrapping
def test_a_missing_field_is_refused_by_name(cls: type, costly: bool) -> None:
    inner = BUILDERS[cls]()
    for field in sorted(inner.needs & set(PER_ITEM)):
        with pytest.raises(ShortlistError, match=f"^{cls.__name__} needs {field}, and the pool has none"):
            built(cls, costly).select(replace(a_pool(), **{field: None}), n=3, rng=rng(), price=prices(40))
    bare = Batches(a_pool().probs, np.empty((40, 0)))
    stream = [Predictions(batch.probs) for batch in bare]
    if "embeddings" in inner.needs:
        with pytest.raises(ShortlistError, match=f"^{cls.__name__} needs embeddings"):
            built(cls, costly).select(stream, n=3, rng=rng(), price=prices(40))


@each_method
@each_wrapping
def test_labelled_rows_may_be_missing_in_the_first_round(cls: type, costly: bool) -> None:
    pool = replace(a_pool(), labelled_embeddings=None, labelled_features=None)
    missing = built(cls, costly).select(pool, n=3, rng=rng(), price=prices(40))
    assert len(missing) == 3
    none = replace(pool, labelled_embeddings=np.empty((0, 5)), labelled_features=np.empty((0, 4)))
    assert built(cls, costly).select(none, n=3, rng=rng(), price=prices(40)).tolist() == missing.tolist()


@each_method
@each_wrapping
def test_an_unknown_field_is_refused_by_name(cls: type, costly: bool) -> None:
    with pytest.raises(ShortlistError, match=r"^select: no field 'embedding' in a pool; there are probs, embeddings"):
        built(cls, costly).select(a_pool().probs, n=3, rng=rng(), price=prices(40), embedding=np.ones((40, 2)))


@each_method
@each_wrapping
@each_backend
def test_rows_that_are_not_finite_are_refused_by_name(cls: type, costly: bool, backend: Backend) -> None:
    inner = BUILDERS[cls]()
    for field in sorted(inner.needs - {"probs"}):
        rows = np.array(getattr(a_pool(), field))
        rows[(2,) * rows.ndim] = np.nan
        pool = replace(a_pool(backend=backend), **{field: backend(rows)})
        with pytest.raises(ShortlistError, match=f"^{cls.__name__}: {field} row 2 is not finite"):
            built(cls, costly).select(pool, n=3, rng=rng(), price=backend(prices(40)))


@each_method
@each_wrapping
def test_wrong_shapes_are_refused_by_name(cls: type, costly: bool) -> None:
    inner = BUILDERS[cls]()
    for field in sorted(inner.needs - {"probs"}):
        rows = getattr(a_pool(), field)
        for wrong in (rows[..., None], rows.tolist()):
            with pytest.raises(ShortlistError, match=f"{cls.__name__}: {field} must be an array of {rows.ndim} dim"):
                built(cls, costly).select(replace(a_pool(), **{field: wrong}), n=3, rng=rng(), price=prices(40))
        if not field.startswith("labelled") and len(inner.needs) > 1:
            with pytest.raises(ShortlistError, match=r"fields of different lengths: .*39"):
                built(cls, costly).select(replace(a_pool(), **{field: rows[1:]}), n=3, rng=rng(), price=prices(40))
        if field.startswith("labelled"):
            with pytest.raises(ShortlistError, match="must have as many columns as each other"):
                built(cls, costly).select(replace(a_pool(), **{field: rows[:, 1:]}), n=3, rng=rng(), price=prices(40))


@each_that_looks_at_probabilities
@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (np.full(40, 0.5), r"^probs: need a matrix \(items, classes\)"),
        (np.full((40, 3), 0.5), "^probs: row 0 sums to 1.5"),
        (np.where(np.arange(40)[:, None] == 30, np.nan, 0.5) + np.zeros((40, 2)), "^probs: row 30 holds NaN"),
        ([[0.5, 0.5]] * 40, "^pool: need an array .* got a stream of list"),
        (7, "^pool: need an array .* got int"),
        ([Predictions(np.ones((20, 1))), Predictions(softmax(20, 2))], "^pool: 1 classes up to item 20, 2 from"),
    ],
)
def test_wrong_probabilities_are_refused_by_name(cls: type, costly: bool, probs: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=message):
        built(cls, costly).select(replace(a_pool(), probs=probs), n=3, rng=rng(), price=lambda p: p[:, 0] + 1)


@each_that_looks_at_probabilities
def test_the_row_of_a_stream_is_counted_over_all_batches(cls: type, costly: bool) -> None:
    probs = np.array(a_pool().probs)
    probs[33, 2] = np.nan
    stream = Batches(probs, a_pool().embeddings)
    with pytest.raises(ShortlistError, match=r"^probs: row 33 holds NaN"):
        built(cls, costly).select(replace(a_pool(), probs=stream), n=3, rng=rng(), price=lambda p: p[:, 0] + 1)


@each_method
def test_probabilities_given_twice_are_refused(cls: type) -> None:
    with pytest.raises(ShortlistError, match=r"^select: probs are given twice"):
        BUILDERS[cls]().select(a_pool().probs, n=3, rng=rng(), probs=a_pool().probs)


@each_method
def test_cost_aware_needs_a_price(cls: type) -> None:
    with pytest.raises(ShortlistError, match=r"^CostAware needs price: pass price=query\.price"):
        CostAware(BUILDERS[cls]()).select(a_pool(), n=3, rng=rng())


@each_method
def test_cost_aware_needs_probabilities_to_make_prices_from(cls: type) -> None:
    pool = replace(a_pool(), probs=None, size=40)
    with pytest.raises(ShortlistError, match=f"^{cls.__name__} needs probs"):
        CostAware(BUILDERS[cls]()).select(pool, n=3, rng=rng(), price=CandidateSet().price)


@each_method
@pytest.mark.parametrize(
    ("price", "message"),
    [
        (np.ones(39), r"price must be an array of one number per item, \(40,\), got shape \(39,\)"),
        (np.ones((40, 1)), r"got shape \(40, 1\)"),
        ([1.0] * 40, "got list"),
        (np.full(40, -1.0), "every price must be a finite number of at least 0"),
        (np.full(40, np.nan), "every price must be a finite number"),
        (np.full(40, np.inf), "every price must be a finite number"),
    ],
)
def test_wrong_prices_are_refused_by_name(cls: type, price: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^{cls.__name__}: .*{message}"):
        CostAware(BUILDERS[cls]()).select(a_pool(), n=3, rng=rng(), price=price)


@each_method
def test_a_plain_method_takes_no_notice_of_prices(cls: type) -> None:
    pool, method = a_pool(), BUILDERS[cls]()
    usual = method.select(pool, n=9, rng=rng())
    assert method.select(pool, n=9, rng=rng(), price=prices(40)).tolist() == usual.tolist()


@each_score
@each_backend
def test_gains_stay_where_the_probabilities_are(cls: type, backend: Backend) -> None:
    method = BUILDERS[cls]()
    assert isinstance(method, Scored)
    pool = a_pool(backend=backend)
    gains = method.gains(Predictions(pool.probs))
    assert backend.owns(gains)
    np.testing.assert_allclose(host(gains), method.gains(Predictions(a_pool().probs)), rtol=1e-4, atol=1e-6)
