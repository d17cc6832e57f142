"""The table on numbers worked out by hand, and on the paper's own."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.campaign.config import from_toml
from shortlist.costs import Seconds
from shortlist.study.results import (
    PAPER,
    Results,
    cells,
    correlation,
    cost_toml,
    figure,
    fit,
    is_guessing,
    outliers,
    paper_cells,
    sentences,
    tabulate,
    who,
)
from shortlist.study.store import Session


def person(number: int, options: int, total: float, correct: int = 2, n: int = 2) -> Session:
    return Session(number, options, (total / n,) * n, correct)


# totals 10, 14, 30 with 4 options (mean 18: 30 is furthest); 20 and 40 with 8: two people, so nobody is left out
HAND = [person(1, 4, 10.0), person(2, 4, 14.0, 1), person(3, 4, 30.0, 0), person(4, 8, 20.0), person(5, 8, 40.0, 1)]


def test_the_rule_worked_by_hand() -> None:
    table = tabulate(HAND)
    four, eight = table.groups
    assert table.left_out == (3,)
    assert (four.options, four.people, four.total, four.per_question, four.accuracy) == (4, 2, 12.0, 6.0, 0.75)
    assert four.total_sd == pytest.approx(8**0.5)  # of 10 and 14
    assert four.accuracy_sd == pytest.approx(0.5 / 2**0.5)
    assert (eight.people, eight.total) == (2, 30.0)
    assert eight.total_sd == pytest.approx(200**0.5)
    assert table.correlation_means == pytest.approx(1.0)  # two means lie on a line
    # bits 2, 2, 3, 3 against 10, 14, 20, 40: sums of products 18, of squares 1 and 532
    assert table.correlation_people == pytest.approx(18 / 532**0.5)


def test_without_the_rule_everybody_counts() -> None:
    table = tabulate(HAND, outlier_rule=False)
    assert table.left_out == ()
    assert [(g.people, g.total) for g in table.groups] == [(3, 18.0), (2, 30.0)]


def test_the_fit_worked_by_hand() -> None:
    """Seconds a question 5, 7 at 2 bits and 10, 20 at 3 bits, each twice: b = 15 - 6 = 9, a = 6 - 18."""
    found = tabulate(HAND).fit
    assert found is not None
    assert [found.cost.a, found.cost.b] == pytest.approx([-12, 9])
    assert (found.answers, found.people) == (8, 4)
    left, total = 2 * (1 + 1 + 25 + 25), 2 * ((5.5**2) + (3.5**2) + 0.5**2 + 9.5**2)
    assert found.r_squared == pytest.approx(1 - left / total)
    # people: 4 - 2 degrees of freedom, residuals ±1 and ±5, spread of the bits 4 · 0.25
    assert found.error == pytest.approx((52 / 2 / 1) ** 0.5)


def test_the_fit_is_over_single_answers() -> None:
    sessions = [Session(1, 4, (1.0, 3.0), 2), Session(2, 32, (4.0, 8.0), 2), Session(3, 32, (2.0, 6.0), 2)]
    found = fit(sessions)
    assert found is not None
    assert found.cost == Seconds.fit([4, 4, 32, 32, 32, 32], [1, 3, 4, 8, 2, 6])


def test_the_papers_own_groups() -> None:
    sessions = [person(i, g.options, g.total, 20, n=20) for i, g in enumerate(PAPER)]
    table = tabulate(sessions)
    assert table.correlation_means == pytest.approx(0.979, abs=0.0005)
    assert table.fit is not None
    assert table.fit.cost.b == pytest.approx(1.59, abs=0.005)
    assert table.fit.cost.a == pytest.approx(-0.005, abs=0.0005)
    assert [g.per_question for g in table.groups] == pytest.approx([3.47, 4.575, 5.845, 8.345])


def test_forty_four_people_like_the_papers_leave_forty() -> None:
    rng, sessions = np.random.default_rng(0), list[Session]()
    for g in PAPER:
        totals = rng.normal(g.total, g.total_sd or 0, 10)
        totals += g.total - totals.mean()
        sessions += [person(len(sessions) + i, g.options, float(t), 20, n=20) for i, t in enumerate([*totals, 900.0])]
    table = tabulate(sessions)
    assert table.left_out == (10, 21, 32, 43)
    assert [g.people for g in table.groups] == [10] * 4
    assert [g.total for g in table.groups] == pytest.approx([g.total for g in PAPER])
    assert table.correlation_means == pytest.approx(0.979, abs=0.0005)
    assert table.fit is not None
    assert table.fit.cost.b == pytest.approx(1.59, abs=0.005)
    assert table.fit.people == 40


def test_no_cost_is_fitted_to_people_who_guess() -> None:
    careful = [person(i, g.options, g.total, 19, n=20) for i, g in enumerate(PAPER)]
    guessing = [person(10 + i, g.options, 6.0, 20 // g.options, n=20) for i, g in enumerate(PAPER)]
    table = tabulate(careful + guessing)
    assert table.guessing == (10, 11, 12, 13)
    assert table.fit == tabulate(careful).fit
    assert [group.people for group in table.groups] == [2] * 4  # they took part all the same
    assert "4 people were right no oftener than by guessing: no cost is fitted to that." in sentences(table)
    assert tabulate(guessing).fit is None


def test_small_groups_lose_nobody_and_of_equals_the_first_goes() -> None:
    assert outliers([person(1, 4, 1.0), person(2, 4, 99.0)]) == set()
    assert outliers([person(1, 4, 1.0), person(2, 4, 2.0), person(3, 4, 3.0)]) == {1}


def test_where_there_is_nothing_to_say_nothing_is_said() -> None:
    empty, one = tabulate([]), tabulate([person(1, 4, 10.0)])
    assert (empty.groups, empty.fit, empty.correlation_means) == ((), None, None)
    assert (one.fit, one.correlation_people, one.groups[0].total_sd) == (None, None, None)
    assert correlation([person(1, 4, 5.0), person(2, 8, 5.0)]) is None
    assert figure(Results(2, (), 0, 0, empty, empty)) is None


def test_the_figure_has_everybody_on_it() -> None:
    shown = figure(Results(2, tuple(HAND), 0, 0, tabulate(HAND), tabulate(HAND, outlier_rule=False)))
    assert shown is not None
    people = [(point["x"], point["y"], point["left_out"]) for point in shown["people"]]
    assert people == [(4, 5.0, False), (4, 7.0, False), (4, 15.0, True), (8, 10.0, False), (8, 20.0, False)]
    assert [(point["x"], point["y"], point["n"]) for point in shown["means"]] == [(4, 6.0, 2), (8, 15.0, 2)]
    assert [(point["x"], point["y"]) for point in shown["paper"]] == [(g.options, g.per_question) for g in PAPER]
    assert shown["fit"] == pytest.approx({"a": -12, "b": 9})


def test_a_fit_says_its_error_where_there_are_people_enough_to_have_one() -> None:
    three, two = fit(HAND[:2] + HAND[3:4]), fit(HAND[1:4:2])
    assert three is not None
    assert three.error is not None
    assert "(standard error, over 3 people), the paper's 1.59" in sentences(tabulate(HAND[:2] + HAND[3:4]))[-1]
    assert two is not None
    assert two.error is None
    assert "standard error" not in sentences(tabulate(HAND[1:4:2]))[-1]
    assert fit([person(1, 4, 6.0), person(2, 8, 6.0)]).r_squared is None  # type: ignore[union-attr] # nothing varies


def test_who_guesses_is_said_only_where_chance_can_tell() -> None:
    """At a hundredth: 1 of 100 options once, right or wrong."""
    assert is_guessing(Session(1, 100, (1.0,), 0))
    assert not is_guessing(Session(1, 100, (1.0,), 1))
    assert not is_guessing(Session(1, 99, (1.0,), 0))  # one answer of so few options may be right by chance


def test_numbers_of_people_are_words() -> None:
    def told(n: int, under_way: int = 0, given_up: int = 0) -> str:
        sessions = tuple(person(i, 4, 10.0) for i in range(n))
        return who(Results(2, sessions, under_way, given_up, tabulate([]), tabulate([])))

    assert told(1) == "1 person has finished; 0 under way"
    assert told(2, 3, 1) == ("2 people have finished; 3 under way; 1 began more than an hour ago and did not finish")
    guessing = tabulate([person(1, 4, 10.0, 0, n=20)])
    assert "1 person was right no oftener than by guessing: no cost is fitted to that." in sentences(guessing)


def test_a_line_of_the_table_and_the_papers_beside_it() -> None:
    (four, _) = tabulate(HAND).groups
    assert cells(four) == ("4", "2", "12.0 ± 2.8", "6.00", "75.0 ± 35.4")
    assert paper_cells(4) == ("69.4 ± 13.8", "3.47", "100.0 ± 0.0")
    assert paper_cells(5) == ("–", "–", "–")


def test_what_was_fitted_can_be_priced_with() -> None:
    found = tabulate(HAND).fit
    assert found is not None
    text = cost_toml(found)
    assert text.startswith("# Measured by a user study: 4 people, 8 answers. Goes under [query]")
    assert from_toml(text)["cost"] == {"name": "seconds", "a": -12.0, "b": 9.0}


@pytest.mark.parametrize(("options", "most"), [(4, 10), (8, 6), (32, 3)])
def test_as_many_right_of_twenty_are_a_guess(options: int, most: int) -> None:
    """Whoever presses any key is right that often or oftener more than once in a hundred times."""
    told = [is_guessing(Session(1, options, (1.0,) * 20, right)) for right in range(21)]
    assert told == [right <= most for right in range(21)]
