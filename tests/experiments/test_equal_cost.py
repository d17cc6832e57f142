from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from shortlist.experiments.paper import CONVENTIONALLY, accuracy_at
from tests.experiments.rows import row

costs = st.lists(st.floats(0.1, 20), min_size=2, max_size=8)


@given(costs, st.floats(0, 1), st.data())
def test_between_two_rounds_lies_between_their_accuracies(
    steps: list[float], share: float, data: st.DataObject
) -> None:
    paid = list(accumulate(steps))
    reached = data.draw(st.lists(st.floats(0, 100), min_size=len(paid), max_size=len(paid)))
    rounds = [row(round=i + 1, relative_cost=c, accuracy=a) for i, (c, a) in enumerate(zip(paid, reached, strict=True))]
    i = data.draw(st.integers(0, len(paid) - 2))
    found = accuracy_at(rounds, min(paid[i + 1], paid[i] + share * (paid[i + 1] - paid[i])))
    low, high = sorted(reached[i : i + 2])
    assert found is not None
    assert low - 1e-6 <= found <= high + 1e-6
    assert accuracy_at(list(reversed(rounds)), paid[i]) == accuracy_at(rounds, paid[i])


def test_nothing_is_guessed_outside_what_was_paid() -> None:
    rounds = [row(round=n) for n in (1, 2, 3)]  # 5, 11 and 17% of the cost
    assert accuracy_at(rounds, 5.0) == 35.0
    assert accuracy_at(rounds, 17.0) == 45.0
    assert accuracy_at(rounds, 4.9) is None
    assert accuracy_at(rounds, 17.1) is None
    assert accuracy_at(rounds[:1], 5.0) is None
    assert accuracy_at([], 5.0) is None


def test_a_round_that_cost_nothing_or_has_no_accuracy_is_passed_over() -> None:
    free = [row(round=1), row(round=2, relative_cost=5.0, accuracy=90.0), row(round=3, accuracy=100.0)]
    assert accuracy_at(free, 11.0) == 95.0
    unmeasured = [row(round=1), row(round=2) | {"accuracy": None}, row(round=3)]
    assert accuracy_at(unmeasured, 11.0) == 40.0


def test_the_same_campaign_at_its_conventional_cost() -> None:
    rounds = [row(round=n) for n in (1, 2)]
    assert accuracy_at(rounds, 16.0, CONVENTIONALLY) == 37.5
