"""What a finished round came to."""

from __future__ import annotations

import math
from collections.abc import Collection

from shortlist.campaign import ledger
from shortlist.campaign.evaluation import Score
from shortlist.campaign.store import RoundRow, Store
from shortlist.types import Round


def summarise(
    store: Store,
    round: RoundRow,
    *,
    labels: Collection[int],  # items that have one
    n_items: int,
    one: float,
    score: Score | None,
    seconds: float,
) -> Round:
    """The round in numbers. `one` is what an item costs conventionally."""
    lines = [line for line in ledger.lines(store) if line.round <= round.number]
    cost = ledger.spent(lines)
    size, held = store.lists(round.number)
    return Round(
        number=round.number,
        labelled=len(labels),
        asked=len(store.asked_items(round.number)),
        cost=cost,
        relative_cost=100 * cost / (n_items * one),
        conventional_cost=_conventionally(store, round.number, labels) * one,
        holdout_cost=math.fsum(line.cost for line in lines if line.purpose == "holdout"),
        accuracy=score.accuracy if score else None,
        interval=score.interval if score else None,
        macro_f1=score.macro_f1 if score else None,
        alpha=round.alpha,
        threshold=round.threshold,
        mean_set_size=size,
        coverage=None if held is None else 100 * held,
        seconds=seconds,
    )


def _conventionally(store: Store, round: int, labels: Collection[int]) -> int:
    """How many conventional questions bring the same: one for every label that somebody gave, also where several gave
    one, and one for every item that others ruled out all classes of but one. Imports would have cost nothing either."""
    given = store.labels_given(round)
    return len(given) + len(set(labels) - set(given) - store.imported(round))
