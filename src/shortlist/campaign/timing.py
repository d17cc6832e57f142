"""How long answers took, and what that says about the price of a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.ledger import shown_options
from shortlist.campaign.schema import answers, questions
from shortlist.campaign.store import Store
from shortlist.costs import Seconds
from shortlist.plans import QueryDesign
from shortlist.types import Floats, Ints

ENOUGH = 30  # stages before a line is fitted to them
TIMED = ("label", "none")  # kinds of answers for which all options were read
Pricing: TypeAlias = Literal["cost", "measured"]  # by the query's own cost, or by the seconds that people take


@dataclass
class Timed:
    """Stages whose active time was measured, in the order they were answered."""

    options: list[int] = field(default_factory=list)  # how many each showed, "None of the above" among them
    seconds: list[float] = field(default_factory=list)

    def add(self, question: Asked, took: Iterable[float]) -> None:
        """The stages of an answer."""
        left = question.n_classes - len(question.rejected)
        for n, seconds in zip(shown_options(left, tuple(question.cuts), question.exhaustive), took, strict=False):
            self.options.append(n)
            self.seconds.append(float(seconds))

    @property
    def arrays(self) -> tuple[Ints, Floats]:
        """(n,) options and (n,) seconds, also while another thread adds to them."""
        seconds = np.asarray(list(self.seconds), np.float64)
        return np.asarray(self.options[: len(seconds)], np.int64), seconds

    def fitted(self) -> Seconds | None:
        """a + b·log2(options), once there are enough stages to say; the slowest hundredth is left out."""
        options, seconds = self.arrays
        if len(seconds) < ENOUGH or len(np.unique(options)) < 2:
            return None
        kept = seconds <= np.quantile(seconds, 0.99)
        return Seconds.fit(options[kept], seconds[kept])


class Asked(Protocol):
    """As much of a question as it takes to know what its stages show."""

    @property
    def cuts(self) -> Sequence[int]: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def exhaustive(self) -> bool: ...
    @property
    def rejected(self) -> Sequence[int]: ...


def priced(query: QueryDesign, store: Store, through: int | None) -> QueryDesign:
    """The query with its lists priced by the seconds that people took, up to the answer `through`.

    Until enough were timed, by those of the paper's user study.
    """
    seconds = timed(store, through).fitted() or Seconds()
    return cast(QueryDesign, replace(cast(Any, query), cost=seconds))


def timed(store: Store, through: int | None = None) -> Timed:
    """Every stage of an answer of a kind that is TIMED, up to the answer `through`."""
    asked = (questions.c[name] for name in ("cuts", "n_classes", "rejected", "exhaustive"))
    chosen = (
        sa.select(answers.c.stage_seconds, *asked)
        .join_from(answers, questions)
        .where(answers.c.kind.in_(TIMED), answers.c.stage_seconds.is_not(None))
        .order_by(answers.c.id)
    )
    if through is not None:
        chosen = chosen.where(answers.c.id <= through)
    found = Timed()
    with store.engine.connect() as c:
        for row in c.execute(chosen):
            found.add(cast(Asked, row), row.stage_seconds)
    return found
