"""How long answers took, and what that says about the price of a list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.ledger import shown_options
from shortlist.campaign.schema import answers, questions
from shortlist.campaign.store import Store
from shortlist.costs import Seconds
from shortlist.plans import QueryDesign
from shortlist.types import Floats, Ints

ENOUGH = 30  # stages before a line is fitted to them
Pricing: TypeAlias = Literal["cost", "measured"]  # by the query's own cost, or by the seconds that people take


@dataclass(frozen=True)
class Timed:
    """Stages whose active time was measured, in the order they were answered."""

    options: Ints  # (n,) how many options each showed, "None of the above" among them
    seconds: Floats  # (n,)
    people: list[str]  # (n,)

    def fitted(self) -> Seconds | None:
        """a + b·log2(options), once there are enough stages to say; the slowest hundredth is left out."""
        if len(self.seconds) < ENOUGH or len(np.unique(self.options)) < 2:
            return None
        kept = self.seconds <= np.quantile(self.seconds, 0.99)
        return Seconds.fit(self.options[kept], self.seconds[kept])


def priced(query: QueryDesign, store: Store, through: int | None) -> QueryDesign:
    """The query with its lists priced by the seconds that people took, up to the answer `through`.

    Until enough were timed, by those of the paper's user study.
    """
    seconds = timed(store, through).fitted() or Seconds()
    return cast(QueryDesign, replace(cast(Any, query), cost=seconds))


def timed(store: Store, through: int | None = None) -> Timed:
    """Every stage of an answer that had one of its classes, or "None of the above", chosen."""
    asked = (questions.c[name] for name in ("cuts", "n_classes", "rejected", "exhaustive"))
    chosen = (
        sa.select(answers.c.person, answers.c.stage_seconds, *asked)
        .join_from(answers, questions)
        .where(answers.c.kind.in_(["label", "none"]), answers.c.stage_seconds.is_not(None))
        .order_by(answers.c.id)
    )
    if through is not None:
        chosen = chosen.where(answers.c.id <= through)
    options: list[int] = []
    seconds: list[float] = []
    people: list[str] = []
    with store.engine.connect() as c:
        for row in c.execute(chosen):
            shown = shown_options(row.n_classes - len(row.rejected), tuple(row.cuts), row.exhaustive)
            for n, took in zip(shown, row.stage_seconds, strict=False):
                options.append(n)
                seconds.append(float(took))
                people.append(row.person)
    return Timed(np.asarray(options, np.int64), np.asarray(seconds, np.float64), people)
