"""Control questions are made of what is sure, half of them with a list that lacks the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.storage.store import QuestionRow
from shortlist.datasets.arrays import Arrays
from shortlist.types import Answer
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from shortlist.web.service.controls import KEPT, Controls, control_list, sure_labels
from tests.campaign.toys import campaign, data
from tests.web.serving import FAST


@given(st.integers(2, 12), st.data())
def test_a_list_holds_the_truth_or_lacks_it_and_is_never_empty(n_classes: int, drawn: st.DataObject) -> None:
    truth = drawn.draw(st.integers(0, n_classes - 1))
    wrong = drawn.draw(st.booleans())
    shown = tuple(drawn.draw(st.lists(st.integers(0, n_classes - 1), unique=True, max_size=n_classes - 1)))
    cuts = (len(shown),) if shown else ()
    question = QuestionRow(1, 2, 3, "query", shown, cuts, n_classes, True, (), "open", 1)
    listed = control_list(question, truth, wrong, n_classes, np.random.default_rng(0))
    assert (truth in listed) != wrong
    assert len(set(listed)) == len(listed) > 0
    assert shown == () or len(listed) == len(shown)


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
        people = People(tmp_path / "run", passwords=Passwords(**FAST))
        assert Controls(going, people, 0.1).top_up(np.random.default_rng(0)) == 3
        assert Controls(going, people, 0.1).top_up(np.random.default_rng(0)) == 0
        assert {c.item: c.truth for c in people.every_control()} == sure_labels(going)


def test_known_labels_of_the_dataset_are_sure(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", data(100)) as going:
        people = People(tmp_path / "run", passwords=Passwords(**FAST))
        assert Controls(going, people, 0.1).top_up(np.random.default_rng(0)) == KEPT
        wrong = [control.wrong for control in people.every_control()]
        assert 15 < sum(wrong) < 45


def _any_model() -> object:
    from tests.campaign.toys import Fixed

    return Fixed(np.full((40, 5), 0.2))
