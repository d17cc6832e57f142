"""How long answers took, and what that says about the price of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
class Taken:
    """How many answers there are, and how long they took in all."""

    answers: int = 0
    seconds: float = 0.0

    def add(self, stages: Sequence[float]) -> None:
        self.answers += 1
        self.seconds += math.fsum(stages)

    @property
    def mean(self) -> float:
        return self.seconds / self.answers if self.answers else math.nan


@dataclass
class Timed:
    """Stages whose active time was measured, in the order they were answered."""

    options: list[int] = field(default_factory=list)  # how many each showed, "None of the above" among them
    seconds: list[float] = field(default_factory=list)
    whole: Taken = field(default_factory=Taken)  # answers to questions that showed all classes at once
    listed: Taken = field(default_factory=Taken)  # answers to questions that began with a list

    def add(self, question: Stages, seconds: Iterable[float]) -> None:
        """The stages of an answer."""
        seconds = list(seconds)
        (self.listed if question.cuts else self.whole).add(seconds)
        for options, stage in zip(question.options, seconds, strict=False):
            self.options.append(options)
            self.seconds.append(float(stage))

    @property
    def arrays(self) -> tuple[Ints, Floats]:
        """(n,) options and (n,) seconds, also while another thread adds to them."""
        seconds = np.asarray(list(self.seconds), np.float64)
        return np.asarray(self.options[: len(seconds)], np.int64), seconds

    @property
    def saved(self) -> float | None:
        """The seconds that lists have saved: what as many answers with all classes would have taken, by the mean of
        those that were given so, less what these took. None until there are enough of both to say.

        >>> times = Timed(whole=Taken(40, 240.0), listed=Taken(100, 250.0))
        >>> times.saved, Timed().saved
        (350.0, None)
        """
        if min(self.whole.answers, self.listed.answers) < ENOUGH:
            return None
        return self.listed.answers * self.whole.mean - self.listed.seconds

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
