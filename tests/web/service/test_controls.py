"""Control questions are made of what is sure, half of them with a list that lacks the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.storage.store import QuestionRow
from shortlist.datasets.arrays import Arrays
from shortlist.types import Answer, Question
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from shortlist.web.service.controls import Controls, control_list, sure_labels
from shortlist.web.service.leases import Closed
from tests.campaign.toys import campaign, data
from tests.web.serving import FAST


@given(st.integers(2, 12), st.data())
def test_a_list_has_the_length_that_was_wanted_and_holds_the_truth_or_lacks_it(
    n_classes: int, drawn: st.DataObject
) -> None:
    truth = drawn.draw(st.integers(0, n_classes - 1))
    wrong = drawn.draw(st.booleans())
    own = drawn.draw(st.lists(st.integers(0, n_classes - 1), unique=True))
    n = drawn.draw(st.integers(1, n_classes - wrong))
    listed = control_list(own, n, truth, wrong, n_classes, np.random.default_rng(0))
    assert (truth in listed) != wrong
    assert len(set(listed)) == len(listed) == n


@pytest.mark.parametrize(("cuts", "exhaustive"), [((1,), True), ((3,), True), ((1, 3, 4), True), ((1,), False)])
def test_a_control_question_has_the_shape_of_the_one_it_comes_with(
    tmp_path: Path, cuts: tuple[int, ...], exhaustive: bool
) -> None:
    with campaign(tmp_path / "run", data()) as going:
        controls = with_people(going, share=1.0)
        row = question(7, cuts, exhaustive)
        control = controls.beside(row, "ana")
        assert control is not None
        assert (control.cuts, control.exhaustive, len(control.classes)) == (cuts, exhaustive, len(row.classes))
        assert control.item != row.item
        assert controls.again(-control.id, "ana") == (control, None)  # gone back to it looks the same
        assert controls.beside(row, "ben") == control  # who gets the question instead gets that one with it
        assert controls.beside(row, "ana", holding=[control.id]) is None
        controls.answer(Answer(control.id, "skip", (), "ana"))
        assert controls.beside(row, "ana") is None
        again = controls.again(-control.id, "ana")[1]
        assert again is not None
        assert again["kind"] == "skip"


def test_none_comes_with_a_question_that_shows_all_classes(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", data()) as going:
        controls = with_people(going, share=1.0)
        assert not any(controls.due(question(id, ())) for id in range(100))
        assert all(controls.due(question(id, (2,))) for id in range(100))


def test_which_come_follows_from_the_seed_whoever_asks_when(tmp_path: Path) -> None:
    with campaign(tmp_path / "one", data()) as one, campaign(tmp_path / "two", data()) as two:
        first, second = with_people(one, share=0.3), with_people(two, share=0.3)
        asked = [question(id, (2,)) for id in range(200)]
        due = [row for row in asked if first.due(row)]
        assert due == [row for row in asked if second.due(row)]
        assert 40 < len(due) < 80
        there = {row.id: first.beside(row, "ana") for row in due}
        back = {row.id: second.beside(row, "ben") for row in reversed(due)}
        assert {id: said(c) for id, c in there.items()} == {id: said(c) for id, c in back.items()}
        kept = first.people.every_control()
        assert len(kept) == len(due)
        assert 0.3 < sum(control.wrong for control in kept) / len(kept) < 0.7


def said(control: Question | None) -> tuple[str, tuple[int, ...]]:
    assert control is not None
    return control.key, control.classes


def question(id: int, cuts: tuple[int, ...], exhaustive: bool = True) -> QuestionRow:
    listed = (4, 2, 0, 1)[: cuts[-1] if cuts else 0]
    return QuestionRow(id, 2, 3, "query", listed, cuts, 5, exhaustive, (), "open", 1)


def with_people(going: Campaign, share: float) -> Controls:
    controls = Controls(going, People(going.folder.path, passwords=Passwords(**FAST)), share)
    controls.look()
    return controls


def unlabelled(n: int = 40) -> Arrays:
    known = data(n)
    return Arrays(known.inputs, np.full(n, -1), classes=known.classes, keys=known.keys)


def test_sure_is_what_people_agree_on_or_an_owner_has_decided(tmp_path: Path) -> None:
    given_ = unlabelled()
    with campaign(tmp_path / "run", given_, overlap=Overlap(2, 1.0), model=_any_model(), initial=5) as going:
        asked = going.questions()
        for person, labels in (("ana", (0, 1, 2, 3, 4)), ("ben", (0, 1, 0, 0, None))):
            for question, label in zip(asked, labels, strict=True):
                kind, path = ("skip", ()) if label is None else ("label", (label,))
                going.record([Answer(question.id, kind, path, person)])  # type: ignore[arg-type]
        going.record([Answer(asked[3].id, "label", (2,), "olga", final=True)])
        items = {q.key: int(np.flatnonzero(np.asarray(going.known.keys) == q.key)[0]) for q in asked}
        assert sure_labels(going) == {items[asked[0].key]: 0, items[asked[1].key]: 1, items[asked[3].key]: 2}


def _any_model() -> object:
    from tests.campaign.toys import Fixed

    return Fixed(np.full((40, 5), 0.2))


def test_they_are_about_so_many_sure_items_and_none_where_none_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shortlist.web.service.controls.KEPT", 3)
    with campaign(tmp_path / "run", data()) as going:
        controls = with_people(going, share=1.0)
        asked = [controls.beside(question(id, (2,)), "ana") for id in range(40)]
        assert len({control.item for control in asked if control}) == 3
        none = Controls(going, controls.people, 0.0)
        none.look()
        assert none.beside(question(1, (2,)), "ana") is None
        assert not any(none.due(question(id, (2,))) for id in range(100))


def test_a_list_of_all_classes_holds_the_truth(tmp_path: Path) -> None:
    """Nothing could be left out of it; of others half lack it."""
    with campaign(tmp_path / "run", data()) as going:
        controls = with_people(going, share=1.0)
        for id in range(40):
            row = QuestionRow(id, 2, 3, "query", (4, 2, 0, 1, 3), (2, 5), 5, True, (), "open", 1)
            assert controls.beside(row, "ana") is not None
        assert {control.wrong for control in controls.people.every_control()} == {False}


def test_the_first_answer_to_a_control_question_counts(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", data()) as going:
        controls = with_people(going, share=1.0)
        control = controls.beside(question(7, (2,)), "ana")
        assert control is not None
        first, second = control.classes
        controls.answer(Answer(control.id, "label", (first,), "ana", stage_seconds=(1.5,)))
        controls.answer(Answer(control.id, "label", (second,), "ana"))
        shown, said = controls.again(-control.id, "ana")
        assert said is not None
        assert (said["kind"], said["path"], said["id"]) == ("label", [first], control.id)
        assert shown == control
        (kept,) = [controls.people.control_answer(-control.id, "ana")]
        assert (kept.stage_seconds, kept.said) == ([1.5], going.view.ids.own_class(first))
        with pytest.raises(Closed, match="question -99 is not yours"):
            controls.again(99, "ana")


def test_one_person_alone_is_not_sure_nor_are_two_who_differ(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", unlabelled(), overlap=Overlap(2, 1.0), model=_any_model(), initial=3) as going:
        one, both, differ = going.questions()
        for person, asked, label in (
            ("ana", one, 1),
            ("ana", both, 2),
            ("ben", both, 2),
            ("ana", differ, 1),
            ("ben", differ, 2),
        ):
            going.record([Answer(asked.id, "label", (label,), person)])
        keys = [going.known.keys[item] for item in sure_labels(going)]
        assert keys == [both.key]


def test_nobody_is_asked_about_an_item_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor about the one that the control question comes with."""
    monkeypatch.setattr("shortlist.web.service.controls.KEPT", 3)
    with campaign(tmp_path / "run", data()) as going:
        controls = with_people(going, share=1.0)
        asked = []
        for id in range(10):
            if control := controls.beside(question(id, (2,)), "ana"):
                asked.append(control.item)
                controls.answer(Answer(control.id, "skip", (), "ana"))
        assert len(asked) == len(set(asked)) == 3
        controls._sure = {question(1, (2,)).item: 0}
        assert controls.beside(question(99, (2,)), "ben") is None
