from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.conformal import RAPS
from shortlist.costs import Bits, Linear, Seconds
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import CostModel, ShortlistError
from tests.backends import Backend, each_backend, host

COSTS: list[CostModel] = [Bits(), Linear(0.5, 1), Seconds(-0.5, 2)]
each_cost = pytest.mark.parametrize("cost", COSTS, ids=lambda c: type(c).__name__)


@each_cost
@each_backend
def test_a_number_for_every_option_count_where_it_lives(cost: CostModel, backend: Backend) -> None:
    options = np.array([[1, 2], [3, 1000]])
    for given in (options, options.astype(float)):
        told = cost(backend(given))
        assert backend.owns(told)
        assert told.shape == (2, 2)
        np.testing.assert_allclose(host(told), cost(given), rtol=1e-6)


@each_cost
def test_more_options_never_cost_less_and_none_is_negative(cost: CostModel) -> None:
    told = cost(np.arange(1, 3000))
    assert (np.diff(told) >= 0).all()
    assert (told >= 0).all()


def test_by_hand() -> None:
    assert Bits()(np.array([1, 2, 8])).tolist() == [0, 1, 3]
    assert Linear(2, start=3)(np.array([1, 5])).tolist() == [5, 13]
    assert Seconds(1, 2)(np.array([1, 4])).tolist() == [1, 5]
    assert Seconds(-3, 2)(np.array([1, 2, 4])).tolist() == [0, 0, 1]
    assert float(Bits()(4)) == float(Bits()(4.0)) == 2


def test_costs_are_values() -> None:
    assert Bits() == Bits()
    assert hash(Linear(1, 2)) == hash(Linear(1, 2))
    assert Seconds(1, 2) != Seconds(1, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear(-1), "cost linear: slope must be a finite number of at least 0, got -1"),
        (lambda: Linear(1, -1), "cost linear: start must be at least 0, got -1"),
        (lambda: Linear(float("nan")), "cost linear: slope must be a finite number"),
        (lambda: Linear(1, float("inf")), "cost linear: slope must be a finite number"),
        (lambda: Seconds(0, -1), "cost seconds: b must be a finite number of at least 0, got -1"),
        (lambda: Seconds(float("nan"), 1), "cost seconds"),
    ],
)
def test_a_cost_that_falls_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^{message}"):
        make()


def test_a_fit_finds_the_line() -> None:
    options = np.array([2, 4, 8, 16, 16])
    fitted = Seconds.fit(options, 1.5 + 0.7 * np.log2(options))
    assert fitted.a == pytest.approx(1.5)
    assert fitted.b == pytest.approx(0.7)


def test_a_fit_through_one_point_or_a_falling_line_is_the_mean() -> None:
    assert Seconds.fit([4], [3.0]) == Seconds(3, 0)
    assert Seconds.fit([4, 4], [3.0, 5.0]) == Seconds(4, 0)
    assert Seconds.fit([2, 4], [5.0, 3.0]) == Seconds(4, 0)


@pytest.mark.parametrize(
    ("options", "seconds", "message"),
    [
        ([4, 8], [1.0], "need as many times as option counts"),
        ([[4]], [[1.0]], "need as many times as option counts"),
        ([], [], "need at least one measured answer"),
        ([4], [float("nan")], "finite numbers only"),
        ([0], [1.0], "at least one option"),
        ([4], [-1.0], "no negative time"),
    ],
)
def test_a_fit_to_nonsense_is_refused(options: Any, seconds: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^seconds: .*{message}"):
        Seconds.fit(options, seconds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Seconds("a"), "cost seconds: a must be a number, got 'a'"),  # type: ignore[arg-type]
        (lambda: Linear(True), "cost linear: slope must be a number, got True"),
        (lambda: RAPS("a"), "score raps: penalty must be a number, got 'a'"),  # type: ignore[arg-type]
        (lambda: CostAware(Entropy(), d="1"), "cost_aware: d must be a number, got '1'"),  # type: ignore[arg-type]
        (lambda: CandidateSet(alpha="0.1"), "candidate_set: alpha must be a number, got '0.1'"),  # type: ignore[arg-type]
    ],
)
def test_a_text_is_no_number(make: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^{message}"):
        make()


def test_a_fit_takes_one_option_and_no_time() -> None:
    """The least there can be of both."""
    assert Seconds.fit([1, 2], [0.0, 1.0]) == Seconds(0.0, 1.0)
    assert Seconds.fit([4], [3.0]) == Seconds(3.0, 0.0)
    assert Seconds(-2.0, 1.0)(np.array([1.0, 4.0, 16.0])).tolist() == [0, 0, 2]  # time does not fall below none
