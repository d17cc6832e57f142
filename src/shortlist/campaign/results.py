"""What a finished round came to."""

from __future__ import annotations

import math

from shortlist.campaign import ledger
from shortlist.campaign.evaluation import Score
from shortlist.campaign.store import RoundRow, Store
from shortlist.types import Round


def summarise(
    store: Store, round: RoundRow, *, labelled: int, n_items: int, one: float, score: Score | None, seconds: float
) -> Round:
    """The round in numbers. `one` is what an item costs conventionally."""
    lines = [line for line in ledger.lines(store) if line.round <= round.number]
    cost = ledger.spent(lines)
    size, held = store.lists(round.number)
    asked = labelled + store.asked_again(round.number) - store.imported(round.number)
    return Round(
        number=round.number,
        labelled=labelled,
        asked=len(store.asked_items(round.number)),
        cost=cost,
        relative_cost=100 * cost / (n_items * one),
        conventional_cost=asked * one,
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
