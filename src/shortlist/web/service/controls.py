"""Control questions from items whose class is sure: half of the lists hold it, half lack it.

They are asked like any other question and tell how far people trust a list that is wrong. They label nothing and
cost the campaign nothing on its ledger.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.orders import Orders
from shortlist.campaign.questions.resolution import verdict
from shortlist.campaign.storage.store import AnswerRow, QuestionRow
from shortlist.types import NONE, Answer, Question, Rng
from shortlist.web.people.people import People
from shortlist.web.service.leases import Closed

KEPT = 60  # items that control questions may be about at a time


class Controls:
    """The control questions of a campaign: made, asked, answered. But for `due`, all of it goes to the disk: not for an
    event loop.

    Each comes with a question that shows a list, and has its shape: which questions, about which item and with which
    list follows from the campaign's seed, whoever asks when.
    """

    def __init__(self, campaign: Campaign, people: People, share: float) -> None:
        self.campaign, self.people, self.share = campaign, people, share
        self._draws = campaign.view.draws
        self._sure: dict[int, int] = {}  # item -> class
        self._made: dict[int, int] = {}  # question -> the control question that comes with it
        self._orders: dict[int, list[int] | None] = {}  # question -> the classes that it does not list, in their order

    def look(self) -> None:
        """See which items are sure now."""
        if self.share:
            sure, last = sure_labels(self.campaign), self.campaign.view.last_round()
            rng = self._draws.rng(last.number if last else 0, "control items")
            self._sure = {item: sure[item] for item in rng.permutation(sorted(sure))[:KEPT].tolist()}

    def due(self, row: QuestionRow) -> bool:
        """Whether a control question comes with this one. None does where all classes are shown: it would stand out."""
        return bool(row.cuts) and self._rng(row, "control").random() < self.share

    def beside(self, row: QuestionRow, person: str, holding: Collection[int] = ()) -> Question | None:
        """The one that comes with a question, unless this person has answered it or has it on the page."""
        made = self._made.get(row.id) or self._make(row, person)
        if made is None or -made in holding or self.people.control_answer(made, person) is not None:
            return None
        return self._question(self.people.control(made))

    def _make(self, row: QuestionRow, person: str) -> int | None:
        known = self.people.control_items(person) | {row.item}
        if not (items := sorted(self._sure.keys() - known)):
            return None
        rng = self._rng(row, "control question")
        item, n_classes = int(rng.choice(items)), len(self.campaign.view.ids.classes)
        truth, wrong = self._sure[item], bool(rng.random() < 0.5) and row.cuts[-1] < n_classes
        own = next(iter(self.campaign.view.questions_about([item])), None)
        classes = control_list(own.classes if own else (), row.cuts[-1], truth, wrong, n_classes, rng)
        listed = staged(classes, row.cuts, row.exhaustive)
        self._made[row.id] = self.people.add_control(item, listed, truth, wrong)
        return self._made[row.id]

    def _rng(self, row: QuestionRow, step: str) -> Rng:
        return self._draws.rng(row.round, f"{step} {row.id}")

    def order(self, id: int) -> list[int] | None:
        """In which order the classes come that a control question does not list, for one that has been shown."""
        return self._orders[id]

    def _question(self, control: Any) -> Question:
        """Looks like any other."""
        view, (classes, cuts, exhaustive) = self.campaign.view, shape(control.classes)
        last = view.last_round()
        number, n_classes = last.number if last else 0, len(view.ids.classes)
        listed = (classes, cuts, n_classes, exhaustive, ())
        row = QuestionRow(-control.id, number, control.item, "query", *listed, state="open", wanted=1)
        if row.id not in self._orders:  # gone back to after another round it is still the same question
            order = Orders(view).instead(row, control.truth)
            self._orders[row.id] = None if order is None else view.ids.dataset_class[order].tolist()
        return view.shown(row)

    def again(self, id: int, person: str) -> tuple[Question, dict[str, Any] | None]:
        """Gone back to like any other question; what is said then is taken, and the first answer counts."""
        control, answer = self.people.control(id), self.people.control_answer(id, person)
        if control is None:
            raise Closed(f"question {-id} is not yours")
        question = self._question(control)
        if answer is None:
            return question, None
        label = None if answer.said is None else int(self.campaign.view.ids.dataset_class[answer.said])
        path = list(question.decided_path(answer.kind, label))
        return question, {"id": -id, "question": -id, "kind": answer.kind, "path": path, "note": None}

    def answer(self, answer: Answer) -> None:
        if self.people.control_answer(-answer.question, answer.person) is None:
            chosen = answer.label if answer.path else None
            own = None if chosen is None else self.campaign.view.ids.own_class(chosen)
            seconds = answer.stage_seconds or ()
            self.people.answer_control(-answer.question, answer.person, own, answer.kind, seconds, time.time())


def control_list(own: Sequence[int], n: int, truth: int, wrong: bool, n_classes: int, rng: Rng) -> list[int]:
    """n classes with the truth or without it: those the item was asked with, as far as they go, and others.

    >>> control_list((3, 2), 4, truth=2, wrong=True, n_classes=6, rng=np.random.default_rng(0))
    [3, 5, 4, 0]
    """
    listed = list(dict.fromkeys((*own, *rng.permutation(n_classes).tolist())))
    if wrong:
        listed.remove(truth)
    elif truth not in listed[:n]:
        listed.insert(0, truth)
    return listed[:n]


def staged(classes: Sequence[int], cuts: Sequence[int], exhaustive: bool) -> list[int]:
    """A list as it is kept: `NONE` stands between its stages, and at its end where no other classes follow.

    >>> staged([3, 8, 1], cuts=(2, 3), exhaustive=True)
    [3, 8, -1, 1]
    """
    listed = [cls for start, end in pairwise((0, *cuts)) for cls in (*classes[start:end], NONE)]
    return listed[:-1] if exhaustive else listed


def shape(listed: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """Its classes, its cuts, and whether all other classes follow.

    >>> shape([3, 8, -1, 1])
    ((3, 8, 1), (2, 3), True)
    """
    exhaustive = listed[-1] != NONE
    ends = [at for at, cls in enumerate(listed) if cls == NONE] + ([len(listed)] if exhaustive else [])
    return tuple(cls for cls in listed if cls != NONE), tuple(end - at for at, end in enumerate(ends)), exhaustive


def sure_labels(campaign: Campaign) -> dict[int, int]:
    """Item → class where it is known: from the dataset, decided by an owner, or the same from several people."""
    ids, dataset = campaign.view.ids, campaign.settings.dataset
    known = ids.own_labels(np.asarray(dataset.labels)[ids.positions])
    sure = {item: int(cls) for item, cls in enumerate(known.tolist()) if cls >= 0}
    votes: dict[int, list[AnswerRow]] = defaultdict(list)
    for answer in campaign.view.standing():
        if answer.kind != "skip":
            votes[answer.item].append(answer)
    for item, answers in votes.items():
        last = verdict(answers, "adjudication")
        if last is not None and last.label is not None and (last.final or len(answers) > 1):
            sure[item] = last.label
    return sure
