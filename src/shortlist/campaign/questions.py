"""From a Plan to questions that can be kept, and from those to questions that can be shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shortlist.campaign.identity import Identities
from shortlist.campaign.store import QuestionRow
from shortlist.plans import Plan
from shortlist.types import Ints, Purpose, Question


def question_rows(
    plan: Plan,
    items: Ints,
    *,
    round: int,
    purpose: Purpose,
    rejected: Mapping[int, set[int]],
    state: str = "open",
) -> Iterator[dict[str, Any]]:
    """Rows for `Writer.ask`: one question per planned item."""
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
