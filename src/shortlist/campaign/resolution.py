"""What the answers given so far come to: an item's label is a resolution of its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from shortlist.campaign.overlap import Rule
from shortlist.campaign.store import AnswerRow, Heard, QuestionRow

A = TypeVar("A", AnswerRow, Heard)


@dataclass
class Resolution:
    labels: dict[int, int] = field(default_factory=dict)  # item -> class
    rejected: dict[int, set[int]] = field(default_factory=dict)  # item -> classes ruled out, while it has no label
    set_aside: set[int] = field(default_factory=set)  # items that belong to no class or cannot be read
    disputed: set[int] = field(default_factory=set)  # items that people differ about, until somebody decides


def live(answers: Iterable[A]) -> list[A]:
    """Answers that no later one has taken back."""
    listed = list(answers)
    gone = {a.supersedes for a in listed if a.supersedes is not None}
    return [a for a in listed if a.id not in gone]


def resolve(answers: Iterable[A], questions: Mapping[int, QuestionRow], rule: Rule = "majority") -> Resolution:
    """Read what counts of the live answers in the order it was said: the last word about an item is its label.

    `questions` has at least those whose answers cannot be read one by one (`Store.resolved_together`): a "none" to one
    that is not exhaustive leaves a partial label, and one that several people answer is settled by `rule`.
    """
    found = Resolution()
    counting, found.disputed = settled(live(answers), questions, rule)
    for answer in counting:
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
    found.disputed -= found.labels.keys() | found.set_aside
    _label_last_class_left(found, questions)
    return found


def settled(answers: Iterable[A], questions: Mapping[int, QuestionRow], rule: Rule) -> tuple[list[A], set[int]]:
    """The answers that count, decisions last, and the items whose question is left open by what people said."""
    alone: list[A] = []
    together: dict[int, list[A]] = defaultdict(list)
    for answer in answers:
        question = questions.get(answer.question)
        (together[answer.question] if question and question.wanted > 1 else alone).append(answer)
    disputed = set()
    for votes in together.values():
        if (last := verdict(votes, rule)) is None:
            disputed.add(votes[0].item)
        else:
            alone.append(last)
    alone.sort(key=lambda answer: (answer.final, answer.id))
    return alone, disputed


def verdict(votes: Sequence[A], rule: Rule) -> A | None:
    """The answer that several answers to one question come to; None where they are left to whoever decides."""
    if decided := [vote for vote in votes if vote.final]:
        return decided[-1]
    said = [vote for vote in votes if vote.kind != "skip"]
    if not said:
        return votes[-1]
    first, *others = Counter((vote.kind, vote.label) for vote in said).most_common()
    if others and (rule == "adjudication" or others[0][1] == first[1]):
        return None
    return [vote for vote in said if (vote.kind, vote.label) == first[0]][-1]


def _label_last_class_left(found: Resolution, questions: Mapping[int, QuestionRow]) -> None:
    """All classes but one ruled out: the item is labelled without asking."""
    n_classes = {q.item: q.n_classes for q in questions.values() if not q.exhaustive}
    for item in list(found.rejected):
        if item in found.labels or item in found.set_aside:
            del found.rejected[item]
        elif len(found.rejected[item]) == n_classes[item] - 1:
            (found.labels[item],) = set(range(n_classes[item])) - found.rejected.pop(item)
