"""How long answers took, and what that says about the price of a list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from shortlist.costs import Seconds
from shortlist.plans import QueryDesign
from shortlist.types import Floats, Ints, Stages

ENOUGH = 30  # stages before a line is fitted to them
TIMED = ("label", "none")  # kinds of answers for which all options were read
Pricing: TypeAlias = Literal["cost", "measured"]  # by the query's own cost, or by the seconds that people take


@dataclass
class Timed:
    """Stages whose active time was measured, in the order they were answered."""

    options: list[int] = field(default_factory=list)  # how many each showed, "None of the above" among them
    seconds: list[float] = field(default_factory=list)

    def add(self, question: Stages, seconds: Iterable[float]) -> None:
        """The stages of an answer."""
        for options, stage in zip(question.options, seconds, strict=False):
            self.options.append(options)
            self.seconds.append(float(stage))

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


def priced(query: QueryDesign, times: Timed) -> QueryDesign:
    """The query with its lists priced by the seconds that people took; until enough were timed, by those of the paper's
    user study."""
    return cast(QueryDesign, replace(cast(Any, query), cost=times.fitted() or Seconds()))
