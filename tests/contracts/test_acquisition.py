"""Every acquisition function, found by walking the package, meets the same list of checks, plain and cost-aware."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import shortlist.acquisition
from shortlist.acquisition.badge import Badge
from shortlist.acquisition.bald import Bald
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
from shortlist.checks import Check, yield_checks
from shortlist.types import Ints, Pool, Predictions, ShortlistError
from tests.backends import Backend, each_backend, softmax
from tests.cases import torture
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
    Bald: Bald,
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
PER_ITEM = ("probs", "embeddings", "features", "losses", "samples")


def each(among: Callable[[type], bool]) -> pytest.MarkDecorator:
    chosen = [pytest.param(cls, id=cls.__name__) for cls in BUILDERS if among(cls)]
    return pytest.mark.parametrize("cls", chosen)


each_method = each(lambda cls: True)
each_rule = each(lambda cls: cls not in RANDOM)
each_draw_of_items = each(lambda cls: cls in RANDOM - BY_CLUSTER)
each_of_items = each(lambda cls: cls not in BY_CLUSTER)
each_rule_without_ties = each(lambda cls: cls not in RANDOM | BY_COUNT)
# What every scored method meets stands in shortlist.checks.
each_sequence_of_items = each(lambda cls: not issubclass(cls, Scored) and cls not in BY_CLUSTER)
each_sequence_without_ties = each(lambda cls: not issubclass(cls, Scored) and cls not in RANDOM | BY_COUNT)
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
    samples: Any = None
    sizes: tuple[int, ...] = (1, 7, 2, 64)

    def __iter__(self) -> Iterator[Predictions]:
        start, i = 0, 0
        while start < self.probs.shape[0]:
            part = slice(start, start + self.sizes[i % len(self.sizes)])
            samples = None if self.samples is None else self.samples[part, :, :]
            yield Predictions(self.probs[part, :], self.embeddings[part, :], samples)
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
        samples=softmax(3 * n, n_classes, seed=seed + 1).reshape(n, 3, n_classes),
    )
    if backend is None:
        return pool
    return Pool(**{f.name: backend(getattr(pool, f.name)) for f in fields(pool) if f.name not in ("size", "n_classes")})


def rearranged(pool: Pool, places: Ints) -> Pool:
    moved = {f: getattr(pool, f)[places] for f in PER_ITEM if getattr(pool, f) is not None}
    return replace(pool, **moved)


def prices(n: int, seed: int = 4) -> Any:
    return rng(seed).uniform(1, 3, n)


def test_every_method_has_a_builder() -> None:
    found = {c for c in classes_of(shortlist.acquisition) if hasattr(c, "select") and not inspect.isabstract(c)}
    theirs = {cls for cls in BUILDERS if cls.__module__ != __name__}
    assert found == {*theirs, CostAware}, "give every acquisition function a builder in this file"


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{cls.__name__}-{name}")
        for cls, build in BUILDERS.items()
        for name, check in yield_checks(build())
    ],
)
def test_meets_the_checks_that_are_shipped(name: str, check: Check) -> None:
    check()


@each_sequence_of_items
@each_wrapping
def test_best_first_so_fewer_is_a_beginning_of_more(cls: type, costly: bool) -> None:
    method, pool = built(cls, costly), a_pool()
    many = method.select(pool, n=40, rng=rng(), price=prices(40))
    for n in (0, 1, 5, 39):
        assert method.select(pool, n=n, rng=rng(), price=prices(40)).tolist() == many[:n].tolist()


@each_method
@each_wrapping
def test_another_seed_gives_other_picks_just_where_something_is_drawn(cls: type, costly: bool) -> None:
    method, pool = built(cls, costly), a_pool()
    picks = [method.select(pool, n=9, rng=rng(seed), price=prices(40)).tolist() for seed in (1, 2)]
    assert (picks[0] == picks[1]) == (cls not in RANDOM)


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
def test_blocks_make_no_difference(cls: type, costly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    method, pool = built(cls, costly), a_pool()
    whole = method.select(pool, n=11, rng=rng(), price=lambda p: p[:, 0])
    monkeypatch.setattr("shortlist.acquisition.scan.BLOCK", 18)
    assert method.select(pool, n=11, rng=rng(), price=lambda p: p[:, 0]).tolist() == whole.tolist()


@each_sequence_without_ties
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
@pytest.mark.parametrize("draws", [1000, pytest.param(2000, marks=torture)])
def test_a_permuted_pool_is_drawn_from_as_often(cls: type, costly: bool, draws: int) -> None:
    method, pool, price = built(cls, costly), a_pool(10), np.linspace(1, 4, 10)
    places = rng(99).permutation(10)
    counts = np.zeros((2, 10), np.int64)
    for seed in range(draws):
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
    begins = cls is Badge  # with the largest norm, whatever it costs
    picks = CostAware(BUILDERS[cls]()).select(a_pool(), n=2 + begins, rng=rng(), price=price)
    assert sorted(picks[int(begins) :].tolist()) == [5, 17]


@each_method
@each_wrapping
def test_wrong_shapes_are_refused_by_name(cls: type, costly: bool) -> None:
    inner = BUILDERS[cls]()
    for field in sorted(inner.needs - {"probs"}):
        rows = getattr(a_pool(), field)
        text: Any = "rows"
        with pytest.raises(ShortlistError, match=f"{cls.__name__}: {field} must be an array of {rows.ndim} dim"):
            built(cls, costly).select(replace(a_pool(), **{field: text}), n=3, rng=rng(), price=prices(40))
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
        ([["a", "b"]] * 40, "^probs: need floating point numbers"),
        (iter([[0.5, 0.5]] * 40), "^pool: need an array .* got a stream of list"),
        (7, "^pool: need an array .* got int"),
        ([Predictions(np.ones((20, 1))), Predictions(softmax(20, 2))], "^pool: 1 classes up to item 20, 2 from"),
    ],
)
def test_wrong_probabilities_are_refused_by_name(cls: type, costly: bool, probs: Any, message: str) -> None:
    pool = replace(a_pool(), probs=probs, samples=np.asarray(a_pool().samples)[..., :1])
    with pytest.raises(ShortlistError, match=message):
        built(cls, costly).select(pool, n=3, rng=rng(), price=lambda p: p[:, 0] + 1)


@each_that_looks_at_probabilities
def test_the_row_of_a_stream_is_counted_over_all_batches(cls: type, costly: bool) -> None:
    probs = np.array(a_pool().probs)
    probs[33, 2] = np.nan
    stream = Batches(probs, a_pool().embeddings)
    with pytest.raises(ShortlistError, match=r"^probs: row 33 holds NaN"):
        built(cls, costly).select(replace(a_pool(), probs=stream), n=3, rng=rng(), price=lambda p: p[:, 0] + 1)


@each_method
@pytest.mark.parametrize(
    ("price", "message"),
    [
        (np.ones(39), r"price must be an array of one number per item, \(40,\), got shape \(39,\)"),
        (np.ones((40, 1)), r"got shape \(40, 1\)"),
        ("1", "got str"),
        (np.full(40, -1.0), "every price must be a finite number of at least 0"),
        (np.full(40, np.nan), "every price must be a finite number"),
        (np.full(40, np.inf), "every price must be a finite number"),
    ],
)
def test_wrong_prices_are_refused_by_name(cls: type, price: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^{cls.__name__}: .*{message}"):
        CostAware(BUILDERS[cls]()).select(a_pool(), n=3, rng=rng(), price=price)


@each_method
def test_fields_that_no_pool_has_are_refused(cls: type) -> None:
    for unknown in ({"embedding": np.ones((40, 2))}, {"probs": a_pool().probs}):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            BUILDERS[cls]().select(a_pool().probs, n=3, rng=rng(), **unknown)
