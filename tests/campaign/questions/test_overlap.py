"""Some items are asked of several people: what counts, who decides, and what is waited for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.annotators.simulated import Simulated, noisy
from shortlist.campaign.engine import Campaign, Recorded
from shortlist.campaign.questions.resolution import Overlap, Rule, resolve, verdict
from shortlist.campaign.storage.schema import LATER
from shortlist.campaign.storage.store import Heard, Store
from shortlist.queries.conventional import Conventional
from shortlist.types import Answer, AnswerKind, Question, ShortlistError
from tests.campaign.toys import campaign, data, snapshot

DATA = data()
ALL = Overlap(answers=2, share=1.0)


def vote(id: int, person: str, label: int | None, kind: AnswerKind = "label", *, final: bool = False) -> Heard:
    return Heard(id, 1, 7, person, kind, label, None, final)


def settled_label(votes: list[Heard], rule: Rule) -> int | str | None:
    found = verdict(votes, rule)
    return "disputed" if found is None else found.label


def test_most_votes_win_and_ties_are_left_to_whoever_decides() -> None:
    two, three = [vote(1, "a", 4), vote(2, "b", 5)], [vote(1, "a", 4), vote(2, "b", 5), vote(3, "c", 4)]
    assert settled_label(two, "majority") == "disputed"
    assert settled_label(three, "majority") == 4
    assert settled_label(three, "adjudication") == "disputed"
    assert settled_label([vote(1, "a", 4), vote(2, "b", 4)], "adjudication") == 4
    decided = [*three, vote(4, "owner", 9, final=True), vote(5, "d", 4)]
    assert [settled_label(decided, rule) for rule in ("majority", "adjudication")] == [9, 9]


def test_a_skip_is_no_vote_and_not_any_class_is_one() -> None:
    assert settled_label([vote(1, "a", None, "skip"), vote(2, "b", 5)], "adjudication") == 5
    assert settled_label([vote(1, "a", None, "none"), vote(2, "b", 5)], "majority") == "disputed"
    assert settled_label([vote(1, "a", None, "skip"), vote(2, "b", None, "skip")], "majority") is None


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.randoms())
def test_who_voted_first_decides_nothing(labels: list[int], random: Any) -> None:
    votes = [vote(i, f"p{i}", label) for i, label in enumerate(labels)]
    shuffled = [v._replace(id=i) for i, v in enumerate(random.sample(votes, len(votes)))]
    for rule in ("majority", "adjudication"):
        assert settled_label(votes, rule) == settled_label(shuffled, rule)


@pytest.fixture
def shared(tmp_path: Path) -> Any:
    with campaign(tmp_path / "run", DATA, overlap=ALL, initial=6, budget=4) as going:
        yield going


def truth(question: Question) -> int:
    return int(DATA.labels[question.item])


def say(going: Campaign, question: Question, person: str, label: int, **more: Any) -> int:
    (number,) = going.record([Answer(question.id, "label", question.path_to(label), person, **more)])
    return number


def test_a_question_stays_open_until_as_many_people_have_answered(shared: Campaign) -> None:
    asked = shared.questions()
    assert len(asked) == 6
    for question in asked:
        say(shared, question, "ana", truth(question))
    assert [q.id for q in shared.open_questions()] == [q.id for q in asked]
    assert not shared.advance()
    first = say(shared, asked[0], "ben", truth(asked[0]))
    say(shared, asked[0], "ben", truth(asked[0]), supersedes=first)  # a correction is not another person
    assert [q.id for q in shared.open_questions()] == [q.id for q in asked[1:]]
    for question in asked[1:]:
        say(shared, question, "ben", truth(question))
    assert shared.advance()
    assert shared.finished_rounds()[0].labelled == 6


def test_a_disputed_item_has_no_label_and_is_not_asked_again_until_decided(shared: Campaign) -> None:
    asked = shared.questions()
    odd = asked[2]
    for question in asked:
        say(shared, question, "ana", truth(question))
        wrong = (truth(question) + 1) % 5
        say(shared, question, "ben", wrong if question is odd else truth(question))
    while shared.advance():
        pass
    assert shared.finished_rounds()[0].labelled == 5
    found = resolve(shared.store.heard(0), shared.store.resolved_together())
    assert found.disputed == {odd.item}
    asked_again = {q.item for q in shared.open_questions()}
    while open_ := shared.questions():
        assert odd.item not in {q.item for q in open_}
        for question in open_:
            for person in ("ana", "ben"):
                say(shared, question, person, truth(question))
    assert odd.item not in asked_again
    say(shared, odd, "owner", truth(odd), final=True)
    found = resolve(shared.store.heard(0), shared.store.resolved_together())
    assert found.disputed == set()
    assert found.labels[odd.item] == truth(odd)


def test_a_decision_closes_a_question_that_waits_for_more_answers(shared: Campaign) -> None:
    question = shared.questions()[0]
    say(shared, question, "owner", truth(question), final=True)
    assert question.id not in {q.id for q in shared.open_questions()}


def test_a_decision_stands_against_later_answers(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA) as going:
        question = going.questions()[0]
        say(going, question, "owner", 3, final=True)
        say(going, question, "ana", 1)
        assert resolve(going.store.heard(0), going.store.resolved_together()).labels == {question.item: 3}


def test_only_a_share_is_shared_and_the_seed_says_which(tmp_path: Path) -> None:
    wanted = []
    for name in ("one", "two"):
        with campaign(tmp_path / name, data(200), overlap=Overlap(3, 0.25), initial=120) as going:
            going.advance()
            wanted.append([q.wanted for q in going.store.questions()])
    assert wanted[0] == wanted[1]
    assert set(wanted[0]) == {1, 3}
    assert 15 <= sum(w == 3 for w in wanted[0]) <= 45  # 30 expected


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"answers": 1}, "at least 2 people"),
        ({"share": 0.0}, "a share above 0"),
        ({"share": np.nan}, "a share above 0"),
        ({"rule": "loudest"}, "none of majority, adjudication"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ShortlistError, match=told):
        Overlap(**settings)


# --- answers of several people at once -------------------------------------------------------------------------


def test_one_bad_answer_does_not_hold_up_the_others(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA) as going:
        a, b, c = going.questions()[:3]
        given_ = [
            Answer(a.id, "label", (2,), "ana", stage_seconds=(1.5,), wall_seconds=2.0, note="blurred"),
            Answer(b.id, "label", (99,), "ben"),
            Answer(a.id, "label", (3,), "ana"),
            Answer(c.id, "label", (1,), "ben", stage_seconds=(1.0, 2.0)),
            Answer(c.id, "skip", (), "ben", stage_seconds=(float("nan"),)),
            Answer(c.id, "label", (1,), "cem"),
        ]
        told = going.record_each(given_)
        assert [isinstance(one, Recorded) for one in told] == [True, False, False, False, False, True]
        one, two = [each for each in told if isinstance(each, Recorded)]
        assert one.entry.cost == two.entry.cost == going.item_cost
        assert [str(error).split(";")[0] for error in told[1:5]] == [
            "answer: there is no class 99",
            f"answer: ana has answered question {a.id} before",
            f"answer: question {c.id} was answered in 1 stages, not 2",
            f"answer: question {c.id} cannot have taken [nan] seconds",
        ]
        kept = going.store.answers()
        assert [(k.id, k.person) for k in kept] == [(one.number, "ana"), (two.number, "cem")]
        assert (kept[0].stage_seconds, kept[0].wall_seconds, kept[0].note) == ([1.5], 2.0, "blurred")


# --- databases of the version before ---------------------------------------------------------------------------


def test_what_it_saves_is_against_as_many_answers(tmp_path: Path) -> None:
    """Two people who are asked conventionally cost twice as much as one."""
    with campaign(tmp_path / "run", DATA, query=Conventional(), overlap=Overlap(2, 0.5)) as going:
        while questions := going.questions():
            for question in questions:
                for person in ("ana", "ben"):
                    if going.store.questions_by_id([question.id])[question.id].wanted > (person == "ben"):
                        say(going, question, person, truth(question))
        last = going.finished_rounds()[-1]
        assert last.cost > last.labelled * going.item_cost
        assert last.conventional_cost == pytest.approx(last.cost)


def test_not_any_class_is_on_both_sides_of_the_bill(tmp_path: Path) -> None:
    """Asked conventionally, who finds that an item is of no class has read all of them, too."""
    with campaign(tmp_path / "run", DATA, query=Conventional(), ahead=0) as going:
        for number, question in enumerate(going.questions()):
            if number < 3:
                going.record([Answer(question.id, "none", (-1,), "ana")])
            else:
                say(going, question, "ana", truth(question))
        while going.advance():
            pass
        first = going.finished_rounds()[0]
        assert first.labelled == 5
        assert first.conventional_cost == pytest.approx(first.cost)


def test_a_database_of_version_1_gets_what_it_lacks_and_loses_nothing(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA) as going:
        for question in going.questions():
            say(going, question, "ana", truth(question))
        before = [(a.id, a.person, a.label, a.cost) for a in going.store.answers()]
    path = tmp_path / "run" / "campaign.db"
    with sqlite3.connect(path) as c:
        for column in LATER[2]:
            c.execute(f"alter table {column.table.name} drop column {column.name}")
        c.execute("update meta set value = '1' where key = 'schema_version'")
    c.close()
    with Store(path, read_only=True) as store:
        assert [(a.id, a.person, a.label, a.cost) for a in store.answers()] == before
        assert {(a.note, a.final) for a in store.answers()} == {(None, False)}
        assert {q.wanted for q in store.questions()} == {1}
    with campaign(tmp_path / "run", DATA) as going:
        assert going.advance()


# --- simulated people --------------------------------------------------------------------------------------------

CROWD = [noisy(DATA.labels, 0.3, 5, seed) for seed in (1, 2, 3)]


class Leaving(Simulated):
    """Simulated people of whom one goes home in the middle of an answer, and an owner who goes before a decision."""

    patience = 0

    def _leave(self, answers: Iterator[Answer]) -> Iterator[Answer]:
        for answer in answers:
            if self.patience == 0:
                raise KeyboardInterrupt
            self.patience -= 1
            yield answer

    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
        return self._leave(super().answer(questions))

    def decide(self, questions: Sequence[Question]) -> Iterator[Answer]:
        return self._leave(super().decide(questions))


@pytest.mark.parametrize("rule", ["majority", "adjudication"])
def test_simulated_people_take_turns_and_the_owner_decides(tmp_path: Path, rule: Rule) -> None:
    with campaign(tmp_path, DATA, overlap=Overlap(2, 0.5, rule)) as going:
        list(going.run(Simulated(CROWD, owner=DATA.labels)))
        given = going.view.answers()
        assert {answer.person for answer in given} == {"simulated 1", "simulated 2", "simulated 3", "owner"}
        assert all(answer.label == DATA.labels[answer.item] for answer in given if answer.final)
        assert not going.view.disputed_questions()
        wanted = {q.id: q.wanted for q in going.view.questions()}
        for question, n in wanted.items():
            people = [answer.person for answer in given if answer.question == question and not answer.final]
            assert len(people) == len(set(people)) == n


def test_without_an_owner_differences_stay_open(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA, overlap=ALL) as going:
        list(going.run(Simulated(CROWD)))
        assert len(going.view.disputed_questions()) > 3


def test_too_few_simulated_people_are_refused_by_name(tmp_path: Path) -> None:
    with (
        campaign(tmp_path, DATA, overlap=ALL) as going,
        pytest.raises(ShortlistError, match=r"2 people are to answer, and there are labels of 1; give labels \(P, N\)"),
    ):
        list(going.run(Simulated(DATA.labels)))


def test_simulated_people_who_are_interrupted_end_as_others_do(tmp_path: Path) -> None:
    with campaign(tmp_path / "whole", DATA, overlap=ALL) as going:
        list(going.run(Simulated(CROWD, owner=DATA.labels)))
    people = Leaving(CROWD, owner=DATA.labels)
    for _ in range(99):
        people.patience = 7
        with campaign(tmp_path / "run", DATA, overlap=ALL) as going:
            try:
                list(going.run(people))
                break
            except KeyboardInterrupt:
                continue
    assert snapshot(tmp_path / "run") == snapshot(tmp_path / "whole")


def test_what_people_differ_about_in_the_holdout_is_decided_too(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, overlap=ALL, holdout=3) as going:
        asked = going.questions()
        for question in asked:
            say(going, question, "ana", truth(question))
            say(going, question, "ben", (truth(question) + (question is asked[1])) % 5)
        assert [q.id for q in going.view.disputed_questions()] == [asked[1].id]
        say(going, asked[1], "olga", truth(asked[1]), final=True)
        assert going.view.disputed_questions() == []


def test_an_overlap_is_of_two_people_at_least_and_of_all_items_at_most() -> None:
    assert (Overlap(2, 1.0).answers, Overlap(9, 1e-9).share) == (2, 1e-9)
    for wrong, words in (
        ((1, 0.5), "an overlap is of at least 2 people"),
        ((2, 0.0), "a share above 0 and up to 1"),
        ((2, -0.1), "a share above 0 and up to 1"),
        ((2, 1.1), "a share above 0 and up to 1"),
    ):
        with pytest.raises(ShortlistError, match=words):
            Overlap(*wrong)
    with pytest.raises(ShortlistError, match=r"overlap\.rule: 'first' is none of majority, adjudication"):
        Overlap(rule="first")  # type: ignore[arg-type]
