"""Control questions from items whose class is sure: half of the lists hold it, half lack it.

They are asked like any other question and tell how far people trust a list that is wrong. They label nothing and
cost the campaign nothing on its ledger.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import numpy as np

from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.resolution import verdict
from shortlist.campaign.storage.store import AnswerRow, QuestionRow
from shortlist.types import Answer, Question, Rng
from shortlist.web.people.people import People
from shortlist.web.service.leases import Closed

KEPT = 60  # control questions a campaign has
LISTED = 4  # classes, where the item was asked about without a list


class Controls:
    """The control questions of a campaign: made, asked, answered. All of it goes to the disk: not for an event loop."""

    def __init__(self, campaign: Campaign, people: People, share: float) -> None:
        self.campaign, self.people, self.share = campaign, people, share

    def top_up(self, rng: Rng) -> int:
        """Make control questions of items that are sure now, up to a number; how many are new."""
        made = {control.item for control in self.people.every_control()} if self.share else set()
        if not self.share or len(made) >= KEPT:
            return 0
        sure = {item: cls for item, cls in sure_labels(self.campaign).items() if item not in made}
        chosen = rng.permutation(sorted(sure))[: KEPT - len(made)].tolist()
        asked = {q.item: q for q in self.campaign.view.questions_about(chosen)}
        for item in chosen:
            wrong = bool(rng.random() < 0.5)
            listed = control_list(asked.get(item), sure[item], wrong, len(self.campaign.view.ids.classes), rng)
            self.people.add_control(item, listed, sure[item], wrong)
        return len(chosen)

    def draw(self, person: str, holding: Collection[int] = ()) -> Question | None:
        """One that this person has neither answered nor has on the page."""
        control = self.people.next_control(person)
        return None if control is None or -control.id in holding else self._question(control)

    def _question(self, control: Any) -> Question:
        """Looks like any other: a list, and all other classes behind "None of the above"."""
        view, classes = self.campaign.view, tuple(control.classes)
        last = view.last_round()
        number, n_classes = last.number if last else 0, len(view.ids.classes)
        listed = (classes, (len(classes),), n_classes, True, ())
        return view.shown(QuestionRow(-control.id, number, control.item, "query", *listed, state="open", wanted=1))

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


def control_list(question: QuestionRow | None, truth: int, wrong: bool, n_classes: int, rng: Rng) -> list[int]:
    """The list the item was asked with, or as long a one, with the truth or without it.

    >>> control_list(None, 2, True, 5, np.random.default_rng(0))
    [4, 3, 0, 1]
    """
    shown = list((question and question.shortlist) or ())
    if not shown:
        shown = rng.permutation(n_classes)[: min(LISTED, n_classes - 1)].tolist()
    others = [cls for cls in shown if cls != truth]
    if not wrong:
        return shown if truth in shown else [truth, *others][: len(shown)]
    spare = [cls for cls in rng.permutation(n_classes).tolist() if cls != truth and cls not in others]
    return (others + spare)[: len(shown)]


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
