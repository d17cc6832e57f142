"""What somebody said, checked against the question, in the campaign's own numbers and with its charge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from shortlist.campaign import ledger
from shortlist.campaign.identity import Identities
from shortlist.campaign.resolution import live
from shortlist.campaign.store import QuestionRow, Store
from shortlist.types import NONE, Answer, CostModel, ShortlistError

Taken: TypeAlias = tuple[Answer, int, float]  # an answer, its item, its charge


def checked(given: Sequence[Answer], store: Store, known: Identities, cost: CostModel) -> list[Taken]:
    """What can be written down; one that cannot be taken refuses them all."""
    taken = []
    for one in sifted(given, store, known, cost):
        if isinstance(one, ShortlistError):
            raise one
        taken.append(one)
    return taken


def sifted(
    given: Sequence[Answer], store: Store, known: Identities, cost: CostModel
) -> Iterator[Taken | ShortlistError]:
    """For each answer what can be written down, or why it cannot be taken."""
    asked = store.questions_by_id({a.question for a in given})
    standing: dict[tuple[int, str], int | None] = {(a.question, a.person): a.id for a in live(store.answers_to(asked))}
    for answer in given:
        try:
            row = asked.get(answer.question)
            if row is None or row.state != "open":
                raise ShortlistError(f"answer: question {answer.question} is not open")
            _check_turn(answer, standing.get((row.id, answer.person)))
            own = replace(answer, path=tuple(p if p == NONE else _own_class(p, known) for p in answer.path))
            if not answer.final:  # an owner may decide what the question did not ask
                check_path(row, own)
            check_seconds(own)
        except ShortlistError as error:
            yield error
            continue
        standing[row.id, answer.person] = 0  # no answer has this number: nobody answers twice in one go
        yield own, row.item, ledger.charge(row, own, cost)


def check_seconds(answer: Answer) -> None:
    """Times are finite and not negative, one for every stage that was on the screen."""
    stages = answer.stage_seconds or ()
    times = [*stages, *(t for t in (answer.active_seconds, answer.wall_seconds) if t is not None)]
    if not all(math.isfinite(t) and t >= 0 for t in times):
        raise ShortlistError(f"answer: question {answer.question} cannot have taken {times} seconds")
    seen = ledger.stages_seen(answer)
    least = 1 if answer.kind == "none" else seen  # whoever says "not any class" need not look at every stage
    if answer.stage_seconds is not None and not least <= len(stages) <= seen:
        raise ShortlistError(f"answer: question {answer.question} was answered in {seen} stages, not {len(stages)}")


def check_path(row: QuestionRow, answer: Answer) -> None:
    """An answer walks through the stages in order: "None" at each but the last, then a class shown there."""
    misses = answer.path.count(NONE)
    stages = len(row.cuts) + (1 if row.exhaustive else 0)
    ends = {"label": misses < stages, "none": misses == stages, "skip": misses < stages, "unreadable": misses < stages}
    said = list(answer.path[misses:])  # the class chosen, and nothing else
    wrong = f"answer: question {row.id} cannot be answered with {answer.kind} {list(answer.path)}"
    if not ends.get(answer.kind) or len(said) != (answer.kind == "label") or NONE in said:
        raise ShortlistError(wrong)
    if said and not _shows(row, misses, said[0]):
        raise ShortlistError(f"{wrong}: that class is not shown there")


def _check_turn(answer: Answer, standing: int | None) -> None:
    """A person answers a question once; after that, an answer says which one of theirs it supersedes."""
    if answer.supersedes == standing:
        return
    if standing is None:
        raise ShortlistError(
            f"answer: {answer.person} has no answer {answer.supersedes} to question {answer.question} to supersede"
        )
    raise ShortlistError(
        f"answer: {answer.person} has answered question {answer.question} before; say which answer this supersedes"
    )


def _own_class(cls: int, known: Identities) -> int:
    if not 0 <= cls < len(known.class_of):
        raise ShortlistError(f"answer: there is no class {cls}; there are {len(known.class_of)}")
    return int(known.class_of[cls])


def _shows(row: QuestionRow, stage: int, cls: int) -> bool:
    if stage < len(row.cuts):
        return cls in row.classes[(0, *row.cuts)[stage] : row.cuts[stage]]
    return 0 <= cls < row.n_classes and cls not in row.classes and cls not in row.rejected
