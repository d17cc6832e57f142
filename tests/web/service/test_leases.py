"""Each open question is with one person at a time, comes back when abandoned, and is never answered twice."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shortlist.campaign.storage.store import QuestionRow
from shortlist.web.service.leases import Closed, Leases

PEOPLE = ("ana", "ben", "cem", "dee")


def row(id: int, wanted: int = 1, round: int = 1) -> QuestionRow:
    return QuestionRow(id, round, id, "query", (), (), 5, True, (), "open", wanted)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def leases(n: int = 5, wanted: int = 1) -> tuple[Leases, Clock]:
    clock = Clock()
    made = Leases(lease_seconds=60, clock=clock)
    made.set_open([row(i + 1, wanted) for i in range(n)], {})
    return made, clock


def ids(rows: list[QuestionRow]) -> list[int]:
    return [r.id for r in rows]


def test_people_get_different_questions_in_order_and_their_own_again() -> None:
    made, _ = leases()
    assert ids(made.take("ana", 2)) == [1, 2]
    assert ids(made.take("ben", 2)) == [3, 4]
    assert ids(made.take("ana", 2)) == [1, 2]  # a reload shows what one had
    assert ids(made.take("ana", 1, holding=[1, 2])) == [5]
    assert ids(made.take("cem", 3)) == []


def test_what_is_abandoned_comes_back_and_what_is_held_stays() -> None:
    made, clock = leases(2)
    made.take("ana", 2)
    clock.now += 50
    made.renew("ana", [1])
    clock.now += 20
    assert ids(made.take("ben", 2)) == [2]
    made.release("ana", [1])
    assert ids(made.take("cem", 2)) == [1]


def test_who_comes_back_too_late_is_refused_only_if_somebody_else_has_it() -> None:
    made, clock = leases(2)
    made.take("ana", 2)
    clock.now += 61
    made.take("ben", 1)
    with pytest.raises(Closed, match="with another person"):
        made.claim(1, "ana")
    assert made.claim(2, "ana").id == 2
    made.answered(1, "ben")
    with pytest.raises(Closed, match="has been answered"):
        made.claim(1, "ana")


def test_a_question_for_several_is_lent_to_as_many_different_people() -> None:
    made, _ = leases(1, wanted=2)
    assert ids(made.take("ana", 1)) == ids(made.take("ben", 1)) == [1]
    assert ids(made.take("cem", 1)) == []
    made.answered(1, "ana")
    assert (ids(made.take("ana", 1)), ids(made.take("cem", 1))) == ([], [])
    made.release("ben", [1])
    assert ids(made.take("cem", 1)) == [1]
    made.answered(1, "cem")
    assert len(made) == 0


def test_a_decision_takes_a_question_out_of_everybodys_hands() -> None:
    made, _ = leases(1, wanted=3)
    made.take("ana", 1)
    made.answered(1, "owner", final=True)
    with pytest.raises(Closed):
        made.claim(1, "ana")


def test_looking_again_keeps_leases_and_counts_rounds() -> None:
    made, _ = leases(3)
    made.take("ana", 1)
    made.set_open([row(1), row(2), row(9, round=2)], {}, [(2, "ben", 2000.0)])
    assert ids(made.take("cem", 5)) == [9]
    assert (made.left(1), made.left(2), len(made)) == (2, 1, 3)
    made.answered(9, "cem")
    assert (made.left(2), len(made)) == (0, 2)


class Lending(RuleBasedStateMachine):
    """Whatever people do in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.leases = Leases(lease_seconds=60, clock=self.clock)
        self.wanted = {id: 1 + id % 2 for id in range(1, 9)}
        self.said: dict[int, set[str]] = defaultdict(set)
        self.look()

    @rule()
    def look(self) -> None:
        rows = [row(id, wanted) for id, wanted in self.wanted.items() if len(self.said[id]) < wanted]
        self.leases.set_open(rows, self.said)

    @rule(person=st.sampled_from(PEOPLE), n=st.integers(1, 3))
    def take(self, person: str, n: int) -> None:
        for taken in self.leases.take(person, n):
            assert person not in self.said[taken.id]

    @rule(person=st.sampled_from(PEOPLE), id=st.integers(1, 8))
    def answer(self, person: str, id: int) -> None:
        try:
            self.leases.claim(id, person)
        except Closed:
            return
        assert person not in self.said[id]
        self.said[id].add(person)
        self.leases.answered(id, person)

    @rule(person=st.sampled_from(PEOPLE), id=st.integers(1, 8))
    def release(self, person: str, id: int) -> None:
        self.leases.release(person, [id])

    @rule(seconds=st.sampled_from([1.0, 30.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def nobody_has_what_others_have(self) -> None:
        for id, wanted in self.wanted.items():
            assert len(self.said[id]) <= wanted
            ticket = self.leases._tickets.get(id)
            if ticket:
                lent = {p for p, until in ticket.lent.items() if until > self.clock.now}
                assert len(lent | ticket.answered) <= wanted
        open_ = [id for id, wanted in self.wanted.items() if len(self.said[id]) < wanted]
        assert len(self.leases) == len(open_) == self.leases.left(1)


TestLending: Any = Lending.TestCase
TestLending.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.integers(1, 40), st.integers(1, 6))
def test_everything_is_answered_once_however_many_people(n: int, people: int) -> None:
    made, _ = leases(n)
    names = [f"p{i}" for i in range(people)]
    answered = []
    while len(made):
        for name in names:
            for taken in made.take(name, 2):
                made.claim(taken.id, name)
                made.answered(taken.id, name)
                answered.append(taken.id)
    assert sorted(answered) == list(range(1, n + 1))


# --- to the second ---------------------------------------------------------------------------------------------


def test_a_lease_ends_at_its_time_and_not_before() -> None:
    made, clock = leases(1)
    made.take("ana", 1)
    clock.now += 59.9
    assert made.is_with(1, "ana")
    assert made.take("ben", 1) == []
    clock.now += 0.1
    assert not made.is_with(1, "ana")
    assert ids(made.take("ben", 1)) == [1]
    assert not made.is_with(2, "ana")  # there is no such question


def test_who_has_answered_gets_it_no_more_and_others_do_while_answers_are_wanted() -> None:
    made, _ = leases(1, wanted=2)
    made.claim(1, "ana")
    made.answered(1, "ana")
    assert (len(made), made.left(1), made.left(2)) == (1, 1, 0)
    with pytest.raises(Closed, match="question 1 has been answered"):
        made.claim(1, "ana")
    assert made.take("ana", 1) == []
    assert made.renew("ana", [1, 7]) == []
    assert ids(made.take("ben", 1)) == [1]
    assert made.take("cem", 1) == []  # nobody else is needed
    with pytest.raises(Closed, match="question 1 is with another person now"):
        made.claim(1, "cem")
    made.leave("ben")
    assert made.claim(1, "cem") == row(1, wanted=2)
    made.answered(1, "cem")
    assert (len(made), made.left(1)) == (0, 0)
    with pytest.raises(Closed, match="question 1 has been answered"):
        made.claim(1, "dee")
    made.answered(1, "dee")  # what came too late to be refused changes nothing
    assert made.left(1) == 0


def test_more_questions_come_behind_and_none_twice() -> None:
    made, _ = leases(2)
    made.add([row(2), row(9, round=2), row(8, wanted=2)], {8: ["ana", "ben"]})
    assert ids(made.take("ana", 9)) == [1, 2, 9]
    assert (len(made), made.left(1), made.left(2)) == (3, 2, 1)


def test_kept_leases_are_given_again_but_for_those_who_have_answered() -> None:
    clock = Clock()
    made = Leases(lease_seconds=60, clock=clock)
    kept = [(1, "ana", 1050.0), (2, "ben", 1000.0), (3, "ana", 1050.0), (7, "ana", 1050.0)]
    made.set_open([row(1), row(2), row(3, wanted=2)], {3: {"ana"}}, kept)
    assert [made.is_with(id, "ana") for id in (1, 2, 3, 7)] == [True, False, False, False]
    assert not made.is_with(2, "ben")  # its time is over
    assert ids(made.take("ana", 9)) == [1, 2]
    made.set_open([row(1), row(3, wanted=2)], {})
    assert made.is_with(1, "ana")  # looking again takes nothing from anybody
    assert ids(made.take("ana", 9)) == [1, 3]
