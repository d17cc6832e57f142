"""Answers are append-only: corrections supersede, skips return, and what cannot be is refused whole."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.resolution import Resolution, resolve
from shortlist.campaign.storage.store import AnswerRow, Entry
from shortlist.queries.one_bit import OneBit
from shortlist.queries.top_k import TopK
from shortlist.types import NONE, Answer, ShortlistError
from tests.campaign.toys import Fixed, answers, campaign, data, hashes, learning, work

DATA = data()


def resolution(going: Campaign) -> Resolution:
    return resolve(going.store.heard(0), going.store.partly_answered())


def last(going: Campaign, question: int) -> AnswerRow:
    return going.store.answers_to([question])[-1]


@pytest.fixture
def going(tmp_path: Path) -> Any:
    with campaign(tmp_path / "run", DATA, query=TopK(2)) as going:
        work(going)
        yield going


@pytest.fixture
def second(going: Campaign) -> Campaign:
    """In round 2, where questions have two stages."""
    going.record(answers(going.open_questions(), DATA.labels))
    work(going)
    return going


def test_an_undo_is_a_new_answer_and_the_old_one_stays(going: Campaign) -> None:
    question = going.open_questions()[0]
    going.record([Answer(question.id, "label", (1,), person="ann")])
    first = last(going, question.id)
    going.record([Answer(question.id, "label", (3,), person="ann", supersedes=first.id)])
    assert resolution(going).labels == {question.item: 3}
    assert [a.label for a in going.store.answers()] == [1, 3]


def test_taking_an_answer_back_leaves_the_item_without_a_label(going: Campaign) -> None:
    question = going.open_questions()[0]
    going.record([Answer(question.id, "label", (1,), person="ann")])
    going.record([Answer(question.id, "skip", person="ann", supersedes=last(going, question.id).id)])
    assert resolution(going).labels == {}


def test_an_undo_after_training_corrects_later_rounds_only(tmp_path: Path) -> None:
    def model() -> Fixed:
        return Fixed(learning(DATA.labels, 5), np.full((20, 5), 0.2))

    one = model()
    with campaign(tmp_path, DATA, model=one) as going:
        work(going)
        asked = going.open_questions()
        going.record(answers(asked, DATA.labels))
        work(going)
        before = going.finished_rounds()
        wrong = (int(DATA.labels[asked[0].item]) + 1) % 5
        going.record([Answer(asked[0].id, "label", (wrong,), supersedes=last(going, asked[0].id).id)])
        assert going.finished_rounds() == before
    again = model()
    with campaign(tmp_path, DATA, model=again) as going:  # round 1 is fitted again as it was
        while len(going.finished_rounds()) < 2:
            going.record(answers(going.open_questions(), DATA.labels))
            work(going)
    corrected = again.taught[-1]
    assert asked[0].item in corrected.items
    assert corrected.labels[list(corrected.items).index(asked[0].item)] == wrong
    assert one.taught[0].labels[list(one.taught[0].items).index(asked[0].item)] != wrong


def test_a_restored_model_has_learnt_what_it_had_learnt(tmp_path: Path) -> None:
    model = Fixed(learning(DATA.labels, 5), np.full((20, 5), 0.2))
    with campaign(tmp_path, DATA, model=model, rounds=1) as going:
        list(going.run(_Simulated()))
        first = going.store.answers()[0]
        wrong = (int(DATA.labels[first.item]) + 1) % 5
        going.record([Answer(first.question, "label", (wrong,), supersedes=first.id)])
    again = Fixed(learning(DATA.labels, 5), np.full((20, 5), 0.2))
    with campaign(tmp_path, DATA, model=again, rounds=2) as going:
        work(going)
    assert np.array_equal(again.taught[0].labels, model.taught[0].labels)


def test_a_skipped_item_returns_to_the_pool(going: Campaign) -> None:
    first, *rest = going.open_questions()
    going.record([Answer(first.id, "skip", person="ann"), *answers(rest, DATA.labels)])
    assert going.store.answers()[0].cost == pytest.approx(np.log2(5))  # it was read all the same
    while not any(q.item == first.item for q in going.open_questions()):
        going.record(answers(going.open_questions(), DATA.labels))
        assert going.advance()
        work(going)
    assert going.ending is None


@pytest.mark.parametrize("kind", ["unreadable", "none"])
def test_items_of_no_class_are_set_aside(going: Campaign, kind: Any) -> None:
    first, *rest = going.open_questions()
    path = (NONE,) if kind == "none" else ()
    going.record([Answer(first.id, kind, path), *answers(rest, DATA.labels)])
    assert resolution(going).set_aside == {first.item}
    asked = set()
    work(going)
    while waiting := going.open_questions():
        asked |= {q.item for q in waiting}
        going.record(answers(waiting, DATA.labels))
        work(going)
    assert first.item not in asked
    assert going.finished_rounds()[0].labelled == 7


def test_where_two_people_differ_the_later_one_counts(going: Campaign) -> None:
    question = going.open_questions()[0]
    going.record([Answer(question.id, "label", (1,), person="ann")])
    going.record([Answer(question.id, "label", (2,), person="bob")])
    assert resolution(going).labels == {question.item: 2}
    going.record([Answer(question.id, "skip", person="bob", supersedes=last(going, question.id).id)])
    assert resolution(going).labels == {question.item: 1}


def test_a_label_brings_back_what_was_set_aside(going: Campaign) -> None:
    question = going.open_questions()[0]
    going.record([Answer(question.id, "unreadable", person="ann"), Answer(question.id, "label", (2,), person="bob")])
    assert resolution(going) == Resolution(labels={question.item: 2})


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("label", ()),
        ("label", (7,)),  # no such class
        ("label", (-2,)),
        ("label", (NONE,)),
        ("label", (NONE, NONE, 1)),
        ("label", (NONE, "first")),  # shown in the stage before
        ("label", ("last",)),  # shown in the stage after
        ("label", ("first", NONE)),
        ("label", ("first", "first")),
        ("none", ()),
        ("none", (NONE,)),  # the second stage is still to come
        ("none", (NONE, NONE, NONE)),
        ("none", ("first",)),
        ("skip", ("first",)),
        ("skip", (NONE, NONE)),
        ("unreadable", (NONE, NONE)),
        ("perhaps", ()),
    ],
)
def test_answers_that_cannot_be_are_refused_and_nothing_is_written(
    second: Campaign, kind: Any, path: tuple[Any, ...]
) -> None:
    right, wrong, *_ = second.open_questions()
    names = {"first": wrong.stages[0][0], "last": wrong.stages[1][-1]}
    given = [*answers([right], DATA.labels), Answer(wrong.id, kind, tuple(names.get(p, p) for p in path))]
    before = hashes(second.folder.path)
    with pytest.raises(ShortlistError, match="answer: "):
        second.record(given)
    assert hashes(second.folder.path) == before
    assert len(second.store.answers()) == 8


@pytest.mark.parametrize(
    ("kind", "path", "cost"),
    [
        ("label", ("first",), np.log2(3)),
        ("label", (NONE, "last"), 2 * np.log2(3)),
        ("none", (NONE, NONE), 2 * np.log2(3)),
        ("skip", (), np.log2(3)),
        ("skip", (NONE,), 2 * np.log2(3)),
        ("unreadable", (), np.log2(3)),
    ],
)
def test_an_answer_pays_for_the_stages_it_saw(second: Campaign, kind: Any, path: tuple[Any, ...], cost: float) -> None:
    question = second.open_questions()[0]
    names = {"first": question.stages[0][0], "last": question.stages[1][-1]}
    second.record([Answer(question.id, kind, tuple(names.get(p, p) for p in path))])
    assert last(second, question.id).cost == pytest.approx(cost)
    assert last(second, question.id).path == tuple(names.get(p, p) for p in path)


def test_answering_twice_needs_to_say_what_it_supersedes(going: Campaign) -> None:
    question = going.open_questions()[0]
    answer = Answer(question.id, "label", (1,), person="ann")
    with pytest.raises(ShortlistError, match=r"ann has answered question .* before"):
        going.record([answer, answer])
    assert going.store.answers() == []
    going.record([answer])
    with pytest.raises(ShortlistError, match="say which answer this supersedes"):
        going.record([answer])


def test_only_ones_own_latest_answer_can_be_superseded(going: Campaign) -> None:
    one, two, *_ = going.open_questions()
    going.record([Answer(one.id, "label", (1,), person="ann"), Answer(two.id, "label", (1,), person="bob")])
    ann, bob = going.store.answers()
    changed = Answer(one.id, "label", (2,), person="ann")
    for wrong in (bob.id, 99):
        with pytest.raises(ShortlistError, match="ann has answered question"):
            going.record([replace(changed, supersedes=wrong)])
    with pytest.raises(ShortlistError, match="bob has no answer 1 to question 1"):
        going.record([Answer(one.id, "label", (2,), person="bob", supersedes=ann.id)])
    going.record([replace(changed, supersedes=ann.id)])
    with pytest.raises(ShortlistError, match="ann has answered"):
        going.record([replace(changed, supersedes=ann.id)])  # no longer the latest


def test_the_database_itself_refuses_two_first_answers(going: Campaign) -> None:
    """Two requests at the same moment pass the checks together; one of them wins."""
    question = going.open_questions()[0]
    answer = Answer(question.id, "label", (1,), person="ann")
    going.record([answer])
    with pytest.raises(ShortlistError, match="just answered this elsewhere"), going.store.writing() as w:
        w.answer([Entry(answer, question.item, 1.0)])
    assert len(going.store.answers()) == 1


def test_a_question_that_is_not_there_is_refused(going: Campaign) -> None:
    with pytest.raises(ShortlistError, match="question 999 is not open"):
        going.record([Answer(999, "skip")])


def test_more_questions_at_once_than_sqlite_takes_parameters(going: Campaign) -> None:
    assert len(going.store.questions_by_id(range(300_000))) == 8
    assert going.store.answers_to(range(300_000)) == []


def test_times_and_people_are_kept(going: Campaign) -> None:
    question = going.open_questions()[0]
    going.record([Answer(question.id, "label", (1,), person="ann", active_seconds=1.5, wall_seconds=9.0)])
    kept = last(going, question.id)
    assert (kept.person, kept.active_seconds, kept.wall_seconds) == ("ann", 1.5, 9.0)
    with sqlite3.connect(going.folder.database) as raw:
        assert raw.execute("select at from answers").fetchone()[0].startswith("20")
    raw.close()


class _Simulated:
    def answer(self, questions: Any) -> Any:
        return iter(answers(questions, DATA.labels))


def test_an_owner_may_decide_what_the_question_did_not_ask(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, query=OneBit()) as going:
        work(going)
        going.record(answers(going.open_questions(), DATA.labels))
        work(going)
        question = going.open_questions()[0]
        other = next(cls for cls in range(5) if cls not in question.classes)
        decided = question.path_to(other, decided=True)
        with pytest.raises(ShortlistError, match="cannot be answered with label"):
            going.record([Answer(question.id, "label", decided, "olga")])
        going.record([Answer(question.id, "label", decided, "olga", final=True)])
        assert resolution(going).labels[question.item] == other
