"""From a Plan to questions that can be kept, and their answers: checked, charged, in the campaign's own numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from shortlist.campaign.accounting import ledger
from shortlist.campaign.questions.resolution import standing
from shortlist.campaign.storage.folder import Identities
from shortlist.campaign.storage.store import Entry, QuestionRow, Reader
from shortlist.plans import Plan, conventional
from shortlist.types import NONE, Answer, CostModel, Ints, Purpose, ShortlistError

Rows: TypeAlias = Iterator[dict[str, Any]]  # for `Writer.ask`
NONE_REJECTED: Mapping[int, set[int]] = {}


def conventional_rows(items: Ints, n_classes: int, round: int, purpose: Purpose, state: str = "open") -> Rows:
    """Questions about all classes at once."""
    plan = conventional(np.empty((len(items), n_classes)))
    return question_rows(plan, items, round, purpose, state=state)


def question_rows(
    plan: Plan,
    items: Ints,
    round: int,
    purpose: Purpose,
    rejected: Mapping[int, set[int]] = NONE_REJECTED,
    state: str = "open",
) -> Rows:
    """One question per planned item."""
    all_cuts, classes, offsets = np.asarray(plan.cuts).tolist(), np.asarray(plan.classes, "<i4"), plan.offsets.tolist()
    for row, item in enumerate(items.tolist()):
        cuts = [c for c in all_cuts[row] if c < plan.n_classes]
        gone = sorted(rejected.get(item, ()))
        yield {
            "round": round,
            "item": item,
            "purpose": purpose,
            "classes": classes[offsets[row] : offsets[row + 1]].tobytes(),
            "cuts": cuts,
            "size": cuts[0] if cuts else plan.n_classes - len(gone),
            "n_classes": plan.n_classes,
            "exhaustive": plan.exhaustive,
            "rejected": gone,
            "state": state,
        }


# --- answers, checked against their questions ---------------------------------------------------------------------


def sifted(
    answers: Sequence[Answer], reader: Reader, known: Identities, cost: CostModel
) -> Iterator[Entry | ShortlistError]:
    """For each answer what can be written down, or why it cannot be taken."""
    asked = reader.questions_by_id({a.question for a in answers})
    kept = standing(reader.answers_to(asked))
    latest: dict[tuple[int, str], int | None] = {(a.question, a.person): a.id for a in kept}
    for answer in answers:
        try:
            question = asked.get(answer.question)
            if question is None or question.state != "open":
                raise ShortlistError(f"answer: question {answer.question} is not open")
            _check_turn(answer, latest.get((question.id, answer.person)))
            own = replace(answer, path=tuple(p if p == NONE else known.own_class(p) for p in answer.path))
            if not answer.final:  # an owner may decide what the question did not ask
                check_path(question, own)
            check_seconds(own)
        except ShortlistError as error:
            yield error
            continue
        latest[question.id, answer.person] = 0  # no answer has this number: a person answers once in one go
        yield Entry(own, question.item, ledger.charge(question, own, cost), question)


def check_seconds(answer: Answer) -> None:
    """Times are finite and not negative, one for every stage that was on the screen."""
    stages = answer.stage_seconds or ()
    times = [*stages, *(t for t in (answer.active_seconds, answer.wall_seconds) if t is not None)]
    if not all(math.isfinite(t) and t >= 0 for t in times):
        raise ShortlistError(f"answer: question {answer.question} cannot have taken {times} seconds")
    seen = answer.stages_seen
    least = 1 if answer.kind == "none" else seen  # "not any class" can be answered without looking at every stage
    if answer.stage_seconds is not None and not least <= len(stages) <= seen:
        raise ShortlistError(f"answer: question {answer.question} was answered in {seen} stages, not {len(stages)}")


def check_path(question: QuestionRow, answer: Answer) -> None:
    """An answer walks through the stages in order: "None" at each but the last, then a class shown there."""
    wrong = f"answer: question {question.id} cannot be answered with {answer.kind} {list(answer.path)}"
    if not question.can_end(answer.kind, answer.path):
        raise ShortlistError(wrong)
    if answer.label is not None and not question.shows(len(answer.path) - 1, answer.label):
        raise ShortlistError(f"{wrong}: that class is not shown there")


def _check_turn(answer: Answer, standing: int | None) -> None:
    """A person answers a question once; after that, an answer says which one of theirs it supersedes.

    Two that arrive together are told apart by the index `first_answers` of the database.
    """
    if answer.supersedes == standing:
        return
    if standing is None:
        raise ShortlistError(
            f"answer: {answer.person} has no answer {answer.supersedes} to question {answer.question} to supersede"
        )
    raise ShortlistError(
        f"answer: {answer.person} has answered question {answer.question} before; say which answer this supersedes"
    )
