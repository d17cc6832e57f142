"""What the answers given so far come to: an item's label is a resolution of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from shortlist.campaign.store import AnswerRow, Heard, QuestionRow

A = TypeVar("A", AnswerRow, Heard)


@dataclass
class Resolution:
    labels: dict[int, int] = field(default_factory=dict)  # item -> class
    rejected: dict[int, set[int]] = field(default_factory=dict)  # item -> classes ruled out, while it has no label
    set_aside: set[int] = field(default_factory=set)  # items that belong to no class or cannot be read


def live(answers: Iterable[A]) -> list[A]:
    """Answers that no later one has taken back."""
    listed = list(answers)
    gone = {a.supersedes for a in listed if a.supersedes is not None}
    return [a for a in listed if a.id not in gone]


def resolve(answers: Iterable[A], questions: Mapping[int, QuestionRow]) -> Resolution:
    """Read the live answers in the order they were given; where two people differ the later one counts.

    `questions` has at least those that are not exhaustive: a "none" to such a one leaves a partial label.
    """
    found = Resolution()
    for answer in live(answers):
        if answer.label is not None:
            found.labels[answer.item] = answer.label
            found.set_aside.discard(answer.item)
        elif answer.kind == "skip":
            continue  # the item stays in the pool
        elif answer.kind == "none" and (question := questions.get(answer.question)) and not question.exhaustive:
            found.rejected.setdefault(answer.item, set()).update(question.classes)
        else:
            found.labels.pop(answer.item, None)
            found.set_aside.add(answer.item)
    _label_last_class_left(found, questions)
    return found


def _label_last_class_left(found: Resolution, questions: Mapping[int, QuestionRow]) -> None:
    """All classes but one ruled out: the item is labelled without asking."""
    n_classes = {q.item: q.n_classes for q in questions.values() if not q.exhaustive}
    for item in list(found.rejected):
        if item in found.labels or item in found.set_aside:
            del found.rejected[item]
        elif len(found.rejected[item]) == n_classes[item] - 1:
            (found.labels[item],) = set(range(n_classes[item])) - found.rejected.pop(item)
