"""Control questions from items whose class is sure: half of the lists hold it, half lack it.

They are asked like any other question and tell how far somebody trusts a list that is wrong. They label nothing and
cost the campaign nothing on its ledger.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from shortlist.campaign.engine import Campaign
from shortlist.campaign.resolution import live
from shortlist.campaign.schema import questions
from shortlist.campaign.store import QuestionRow
from shortlist.types import NONE, Answer, Question, Rng, ShortlistError
from shortlist.web.desk import Closed
from shortlist.web.people.people import People
from shortlist.web.people.schema import Control, ControlAnswer

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
        asked = {q.item: q for q in self.campaign.store.questions(questions.c.item.in_(chosen))}
        for item in chosen:
            wrong = bool(rng.random() < 0.5)
            listed = control_list(asked.get(item), sure[item], wrong, len(self.campaign.known.classes), rng)
            self.people.add_control(item, listed, sure[item], wrong)
        return len(chosen)

    def is_due(self) -> bool:
        return random.random() < self.share

    def draw(self, person: str, holding: Collection[int] = ()) -> Question | None:
        """One that this person has neither answered nor has on the page."""
        control = self.people.next_control(person)
        return None if control is None or -control.id in holding else self._question(control)

    def _question(self, control: Control) -> Question:
        """Looks like any other: a list, and all other classes behind "None of the above"."""
        known = self.campaign.known
        classes = tuple(int(known.dataset_class[c]) for c in control.classes)
        return Question(
            id=-control.id,
            round=max((row.number for row in self.campaign.store.rounds()), default=0),
            item=int(known.positions[control.item]),
            key=known.keys[control.item],
            purpose="query",
            classes=classes,
            cuts=(len(classes),),
            n_classes=len(known.classes),
        )

    def again(self, id: int, person: str) -> tuple[Question, dict[str, Any] | None]:
        """Gone back to like any other question; what is said then is taken, and the first answer counts."""
        control, answer = self.people.control(id), self.people.control_answer(id, person)
        if control is None:
            raise Closed(f"question {-id} is not yours")
        return self._question(control), None if answer is None else self._said(control, answer)

    def _said(self, control: Control, answer: ControlAnswer) -> dict[str, Any]:
        misses = 0 if answer.kind in ("skip", "unreadable") or answer.said in control.classes else 1
        label = [] if answer.said is None else [int(self.campaign.known.dataset_class[answer.said])]
        path = [NONE] * (misses + (answer.kind == "none")) + label
        return {"id": -control.id, "question": -control.id, "kind": answer.kind, "path": path, "note": None}

    def answer(self, person: str, said: Answer) -> None:
        if self.people.control_answer(-said.question, person) is None:
            chosen = said.label if said.path else None
            own = None if chosen is None else self._own_class(chosen)
            seconds = said.stage_seconds or ()
            self.people.answer_control(-said.question, person, own, said.kind, seconds, time.time())

    def _own_class(self, cls: int) -> int:
        known = self.campaign.known
        if not 0 <= cls < len(known.class_of):
            raise ShortlistError(f"answer: there is no class {cls}; there are {len(known.class_of)}")
        return int(known.class_of[cls])


def control_list(question: QuestionRow | None, truth: int, wrong: bool, n_classes: int, rng: Rng) -> list[int]:
    """The list the item was asked with, or as long a one, with the truth or without it.

    >>> control_list(None, 2, True, 5, np.random.default_rng(0))
    [4, 3, 0, 1]
    """
    shown = list(question.classes[: question.cuts[0]]) if question and question.cuts else []
    if not shown:
        shown = rng.permutation(n_classes)[: min(LISTED, n_classes - 1)].tolist()
    others = [cls for cls in shown if cls != truth]
    if not wrong:
        return shown if truth in shown else [truth, *others][: len(shown)]
    spare = [cls for cls in rng.permutation(n_classes).tolist() if cls != truth and cls not in others]
    return (others + spare)[: len(shown)]


def sure_labels(campaign: Campaign) -> dict[int, int]:
    """Item → class where it is known: from the dataset, decided by an owner, or the same from several people."""
    known, dataset = campaign.known, campaign.learner.dataset
    given = known.own_labels(np.asarray(dataset.labels)[known.positions])
    sure = {item: int(cls) for item, cls in enumerate(given.tolist()) if cls >= 0}
    said: dict[int, list[tuple[int | None, bool]]] = {}
    for answer in live(campaign.store.answers()):
        if answer.kind != "skip":
            said.setdefault(answer.item, []).append((answer.label, answer.final))
    return sure | _agreed(said)


def _agreed(said: Mapping[int, list[tuple[int | None, bool]]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for item, votes in said.items():
        decided = [label for label, final in votes if final]
        labels = {label for label, _ in votes}
        if decided and decided[-1] is not None:
            found[item] = decided[-1]
        elif not decided and len(votes) > 1 and len(labels) == 1 and None not in labels:
            (found[item],) = {label for label in labels if label is not None}
    return found
