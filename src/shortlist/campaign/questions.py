"""From a Plan to questions that can be kept, and from those to questions that can be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from shortlist.campaign.asked import Asked
from shortlist.campaign.identity import Identities
from shortlist.campaign.resolution import Resolution
from shortlist.campaign.store import QuestionRow
from shortlist.plans import Plan, QueryDesign, conventional
from shortlist.types import Ints, Purpose, Question

Rows: TypeAlias = Iterator[dict[str, Any]]  # for `Writer.ask`


def conventional_rows(items: Ints, n_classes: int, round: int, purpose: Purpose, state: str = "open") -> Rows:
    """Questions about all classes at once."""
    plan = conventional(np.empty((len(items), n_classes)))
    return question_rows(plan, items, round=round, purpose=purpose, rejected={}, state=state)


def planned_rows(query: QueryDesign, asked: Asked, which: Any, round: int, purpose: Purpose, found: Resolution) -> Rows:
    """Questions about the round's items where `which` (n,) is true, as the query plans them."""
    plan, items = query.plan(asked.probs[which]), asked.items[which]
    return question_rows(plan, items, round=round, purpose=purpose, rejected=found.rejected)


def ahead_rows(query: QueryDesign, asked: Asked, round: int, found: Resolution) -> Rows:
    """Questions about the next-ranked items, kept until somebody would wait."""
    plan, items = query.plan(asked.ahead_probs), asked.ahead_items
    return question_rows(plan, items, round=round, purpose="ahead", rejected=found.rejected, state="reserved")


def question_rows(
    plan: Plan,
    items: Ints,
    *,
    round: int,
    purpose: Purpose,
    rejected: Mapping[int, set[int]],
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


def shown(row: QuestionRow, known: Identities) -> Question:
    """A question in the dataset's own numbers."""
    cls = known.dataset_class
    return Question(
        id=row.id,
        round=row.round,
        item=int(known.positions[row.item]),
        key=known.keys[row.item],
        purpose=row.purpose,
        classes=tuple(cls[list(row.classes)].tolist()),
        cuts=row.cuts,
        n_classes=row.n_classes,
        exhaustive=row.exhaustive,
        rejected=tuple(cls[list(row.rejected)].tolist()),
    )
