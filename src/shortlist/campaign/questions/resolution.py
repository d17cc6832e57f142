"""What the answers given so far come to: an item's label, also where several people answer (overlap) and differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from shortlist.campaign.storage.store import AnswerRow, Heard, QuestionRow
from shortlist.types import Ints, Rng, ShortlistError

Rule: TypeAlias = Literal["majority", "adjudication"]
A = TypeVar("A", AnswerRow, Heard)


@dataclass
class Resolution:
    labels: dict[int, int] = field(default_factory=dict)  # item -> class
    rejected: dict[int, set[int]] = field(default_factory=dict)  # item -> classes ruled out, while it has no label
    set_aside: set[int] = field(default_factory=set)  # items that belong to no class or cannot be read
    disputed: set[int] = field(default_factory=set)  # items that people differ about, until the owner decides


def standing(answers: Iterable[A]) -> list[A]:
    """Answers that no later one has taken back."""
    listed = list(answers)
    gone = {a.supersedes for a in listed}
    return [a for a in listed if a.id not in gone]


def resolve(answers: Iterable[A], questions: Mapping[int, QuestionRow], rule: Rule = "majority") -> Resolution:
    """Read the answers that stand in the order they were given: the last about an item is its label.

    `questions` has at least those whose answers cannot be read one by one (`Store.resolved_together`): a "none" to one
    that is not exhaustive leaves a partial label, and one that several people answer is settled by `rule`.
    """
    resolution = Resolution()
    counting, resolution.disputed = settled(standing(answers), questions, rule)
    for answer in counting:
        if answer.label is not None:
            resolution.labels[answer.item] = answer.label
            resolution.set_aside.discard(answer.item)
        elif answer.kind == "skip":
            continue  # the item stays in the pool
        elif answer.kind == "none" and (question := questions.get(answer.question)) and not question.exhaustive:
            resolution.rejected.setdefault(answer.item, set()).update(question.classes)
        else:
            resolution.labels.pop(answer.item, None)
            resolution.set_aside.add(answer.item)
    resolution.disputed -= resolution.labels.keys() | resolution.set_aside
    _label_last_class_left(resolution, questions)
    return resolution


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
    """The answer that several answers to one question come to; None where the owner has to decide."""
    if decided := [vote for vote in votes if vote.final]:
        return decided[-1]
    counted = [vote for vote in votes if vote.kind != "skip"]
    if not counted:
        return votes[-1]
    first, *others = Counter((vote.kind, vote.label) for vote in counted).most_common()
    if others and (rule == "adjudication" or others[0][1] == first[1]):
        return None
    return [vote for vote in counted if (vote.kind, vote.label) == first[0]][-1]


def _label_last_class_left(resolution: Resolution, questions: Mapping[int, QuestionRow]) -> None:
    """All classes but one ruled out: the item is labelled without asking."""
    n_classes = {q.item: q.n_classes for q in questions.values() if not q.exhaustive}
    for item in list(resolution.rejected):
        if item in resolution.labels or item in resolution.set_aside:
            del resolution.rejected[item]
        elif len(resolution.rejected[item]) == n_classes[item] - 1:
            (resolution.labels[item],) = set(range(n_classes[item])) - resolution.rejected.pop(item)


# --- several people about one item -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Overlap:
    """A fraction `share` of the items is answered by `answers` people.

    Where people differ, `majority` takes what most of them say and leaves ties to the owner; `adjudication` leaves
    every difference to the owner. Until the owner has decided, such an item has no label and is not asked again.
    """

    answers: int = 2
    share: float = 0.1
    rule: Rule = "majority"

    def __post_init__(self) -> None:
        if self.answers < 2:
            raise ShortlistError(f"overlap.answers: {self.answers}; an overlap is of at least 2 people")
        if not 0 < self.share <= 1:
            raise ShortlistError(f"overlap.share: {self.share}; it has to be a share above 0 and up to 1")
        if self.rule not in ("majority", "adjudication"):
            raise ShortlistError(f"overlap.rule: {self.rule!r} is none of majority, adjudication")

    def wanted(self, n: int, rng: Rng) -> Ints:
        """(n,) how many answers each of n questions is to get.

        >>> import numpy as np
        >>> Overlap(3, 0.5).wanted(6, np.random.default_rng(0)).tolist()
        [1, 3, 3, 3, 1, 1]
        """
        chosen: Ints = 1 + (self.answers - 1) * (rng.random(n) < self.share)
        return chosen


def rule_of(config: Mapping[str, Any]) -> Rule:
    """The rule of a campaign, read from what it was asked for."""
    rule: Rule = config.get("overlap", {}).get("rule", "majority")
    return rule
