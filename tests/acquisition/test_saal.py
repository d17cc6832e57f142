from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.saal import Saal
from shortlist.types import ShortlistError
from tests.backends import BACKENDS, Backend, Matrix, each_backend
from tests.cases import half_of

each_wrapping = pytest.mark.parametrize("costly", [False, True], ids=["plain", "cost-aware"])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def some_losses(n: int) -> Matrix:
    return rng(1).exponential(size=n)


@each_backend
def test_the_highest_losses_first(backend: Backend) -> None:
    losses = some_losses(50)
    picks = Saal().select(None, losses=backend(losses), n=50, rng=rng())
    assert picks.tolist() == np.argsort(-losses).tolist()


@each_backend
@pytest.mark.parametrize("d", [0.3, 1.2])
def test_under_a_price_by_one_plus_the_loss_over_it(backend: Backend, d: float) -> None:
    losses, price = some_losses(50), rng(2).uniform(1, 5, 50)
    picks = CostAware(Saal(), d=d).select(None, losses=backend(losses), price=backend(price), n=50, rng=rng())
    assert picks.tolist() == np.argsort(-((1 + losses) ** d) / price).tolist()


@each_backend
@each_wrapping
def test_the_first_is_the_one_that_plain_saal_takes(backend: Backend, costly: bool) -> None:
    losses, price = some_losses(50), np.linspace(1, 9, 50)
    plain, diverse = Saal(), Saal(diversity=True)
    one, other = (CostAware(plain), CostAware(diverse)) if costly else (plain, diverse)
    usual = one.select(None, losses=backend(losses), price=price, n=1, rng=rng())
    for seed in range(5):
        assert other.select(None, losses=backend(losses), price=price, n=1, rng=rng(seed)).tolist() == usual.tolist()


@pytest.mark.parametrize(("backend", "costly"), half_of(BACKENDS, [False, True]))
def test_the_second_is_drawn_by_its_squared_difference_to_the_first(backend: Backend, costly: bool) -> None:
    losses, price, d = some_losses(8), np.linspace(1, 3, 8), 0.7
    first = int(((1 + losses) ** d / price).argmax()) if costly else int(losses.argmax())
    squared = (losses - losses[first]) ** 2
    gain = squared / squared.sum()
    weight = (1 + gain) ** d / price if costly else gain
    weight[first] = 0
    method = CostAware(Saal(diversity=True), d=d) if costly else Saal(diversity=True)
    counts = np.zeros(8)
    for seed in range(1000):
        picks = method.select(None, losses=backend(losses), price=price, n=2, rng=rng(seed))
        assert picks[0] == first
        counts[picks[1]] += 1
    others = np.arange(8) != first
    assert chisquare(counts[others], 1000 * weight[others] / weight.sum()).pvalue > 1e-3


def test_the_third_is_drawn_by_its_squared_difference_to_the_nearer_of_two() -> None:
    losses = np.array([0.0, 1.0, 4.0, 9.0])
    counts = np.zeros(4)
    for seed in range(4000):
        picks = Saal(diversity=True).select(None, losses=losses, n=3, rng=rng(seed))
        if picks[:2].tolist() == [3, 0]:
            counts[picks[2]] += 1
    assert counts.sum() > 1000
    assert chisquare(counts[[1, 2]], counts.sum() * np.array([1, 16]) / 17).pvalue > 1e-3


@each_backend
def test_as_lossy_as_a_chosen_one_comes_last(backend: Backend) -> None:
    losses = backend([2.0, 2.0, 1.0, 2.0, 0.0, 1.0])
    for seed in range(20):
        picks = Saal(diversity=True).select(None, losses=losses, n=6, rng=rng(seed)).tolist()
        assert picks[0] == 0
        assert set(picks[1:3]) in ({2, 4}, {5, 4})
        assert sorted(picks) == list(range(6))


def test_fewer_is_a_beginning_of_more_where_losses_repeat() -> None:
    losses = np.repeat([3.0, 1.0], 10)
    many = Saal(diversity=True).select(None, losses=losses, n=20, rng=rng())
    for n in range(20):
        assert Saal(diversity=True).select(None, losses=losses, n=n, rng=rng()).tolist() == many[:n].tolist()


@each_backend
def test_differences_too_small_to_square_in_float32(backend: Backend) -> None:
    picks = Saal(diversity=True).select(None, losses=backend([3e-30, 3e-30, 1e-30, 3e-30]), n=2, rng=rng())
    assert picks.tolist() == [0, 2]


@each_backend
@pytest.mark.parametrize("diversity", [False, True])
def test_a_loss_below_zero_is_refused(backend: Backend, diversity: bool) -> None:
    with pytest.raises(ShortlistError, match=r"^Saal: losses must be at least 0, got -0\.5 for item 1$"):
        Saal(diversity).select(None, losses=backend([1.0, -0.5, -1.0]), n=1, rng=rng())
