"""What a user study says: how long people take with so many options, how often they are right, and what it costs.

All of it is arithmetic on sessions: one person, one number of options, so many answers.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortlist.costs import Seconds
from shortlist.types import Floats

FEWEST = 3  # people in a group from which one is left out


@dataclass(frozen=True)
class Session:
    """What one person did from beginning to end."""

    person: int
    options: int  # how many were shown with every item
    seconds: tuple[float, ...]  # of every answer
    correct: int

    @property
    def total(self) -> float:
        return sum(self.seconds)

    @property
    def accuracy(self) -> float:
        return 100 * self.correct / len(self.seconds)


@dataclass(frozen=True)
class Group:
    """A line of the table. A spread is a sample standard deviation, and there is none of a single person."""

    options: int
    people: int
    total: float  # seconds for all items
    total_sd: float | None
    per_question: float
    accuracy: float  # %
    accuracy_sd: float | None


PAPER = (  # 20 images; printed seconds per query disagree with total / 20, which is what stands here
    Group(4, 10, 69.4, 13.8, 69.4 / 20, 100.0, 0.0),
    Group(8, 10, 91.5, 27.3, 91.5 / 20, 98.5, 3.2),
    Group(16, 10, 116.9, 29.6, 116.9 / 20, 99.5, 1.5),
    Group(32, 10, 166.9, 30.8, 166.9 / 20, 95.5, 5.2),
)


@dataclass(frozen=True)
class Fit:
    """The cost model a + b·log2(options), by least squares over single answers."""

    cost: Seconds
    answers: int
    people: int
    r_squared: float | None  # of single answers
    error: float | None  # standard error of b, over people: answers of one person are not independent


@dataclass(frozen=True)
class Table:
    groups: tuple[Group, ...]
    left_out: tuple[int, ...]  # people, by the outlier rule
    correlation_people: float | None  # of total time with log2 of the options, over single people
    correlation_means: float | None  # over the means of the groups, which is the paper's 0.97
    fit: Fit | None


def tabulate(sessions: Sequence[Session], *, outlier_rule: bool = True) -> Table:
    """With the paper's rule, the person furthest from the mean time of their group is left out.

    >>> people = [Session(i, k, (s, s), 2) for i, (k, s) in enumerate([(4, 2.0), (4, 2.2), (4, 9.0), (8, 3.0)])]
    >>> table = tabulate(people)
    >>> [(g.options, g.people, round(g.total, 1)) for g in table.groups], table.left_out
    ([(4, 2, 4.2), (8, 1, 6.0)], (2,))
    """
    out = outliers(sessions) if outlier_rule else set()
    kept = [s for s in sessions if s.person not in out]
    groups = tuple(_group(k, [s for s in kept if s.options == k]) for k in sorted({s.options for s in kept}))
    return Table(
        groups=groups,
        left_out=tuple(sorted(out)),
        correlation_people=correlation([s.options for s in kept], [s.total for s in kept]),
        correlation_means=correlation([g.options for g in groups], [g.total for g in groups]),
        fit=fit(kept),
    )


def outliers(sessions: Sequence[Session]) -> set[int]:
    """The one furthest from the mean of each group of at least three; of several, the first to have come."""
    found = set()
    for k in {s.options for s in sessions}:
        group = sorted((s for s in sessions if s.options == k), key=lambda s: s.person)
        if len(group) >= FEWEST:
            mean = statistics.fmean(s.total for s in group)
            found.add(max(group, key=lambda s: abs(s.total - mean)).person)
    return found


def _group(options: int, sessions: Sequence[Session]) -> Group:
    totals, accuracies = [s.total for s in sessions], [s.accuracy for s in sessions]
    answers = sum(len(s.seconds) for s in sessions)
    return Group(
        options=options,
        people=len(sessions),
        total=statistics.fmean(totals),
        total_sd=_spread(totals),
        per_question=sum(totals) / answers,
        accuracy=100 * sum(s.correct for s in sessions) / answers,
        accuracy_sd=_spread(accuracies),
    )


def _spread(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def correlation(options: Sequence[int], seconds: Sequence[float]) -> float | None:
    """Pearson's, of seconds with log2 of the options; None where either does not vary.

    >>> round(correlation([g.options for g in PAPER], [g.total for g in PAPER]), 3)
    0.979
    """
    x, y = np.log2(options), np.asarray(seconds, np.float64)
    if len(set(options)) < 2 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def fit(sessions: Sequence[Session]) -> Fit | None:
    """
    >>> paper = fit([Session(i, g.options, (g.per_question,) * 20, 20) for i, g in enumerate(PAPER)])
    >>> round(paper.cost.a, 3), round(paper.cost.b, 2), paper.answers
    (-0.005, 1.59, 80)
    """
    if len({s.options for s in sessions}) < 2:  # one number of options says nothing of any other
        return None
    options = np.repeat([s.options for s in sessions], [len(s.seconds) for s in sessions])
    seconds = np.concatenate([s.seconds for s in sessions])
    cost = Seconds.fit(options, seconds)
    return Fit(
        cost=cost,
        answers=len(seconds),
        people=len(sessions),
        r_squared=_r_squared(cost, np.log2(options), seconds),
        error=_error(cost, sessions),
    )


def _r_squared(cost: Seconds, bits: Floats, seconds: Floats) -> float | None:
    total = float(((seconds - seconds.mean()) ** 2).sum())
    left = float(((seconds - cost.a - cost.b * bits) ** 2).sum())
    return 1 - left / total if total > 0 else None


def _error(cost: Seconds, sessions: Sequence[Session]) -> float | None:
    """Of the slope through people's mean times: the same slope, as all answer the same number of questions."""
    if len(sessions) < FEWEST:
        return None
    bits = np.log2([s.options for s in sessions])
    left = np.array([s.total / len(s.seconds) for s in sessions]) - cost.a - cost.b * bits
    variance = float((left**2).sum()) / (len(sessions) - 2)
    return float(np.sqrt(variance / ((bits - bits.mean()) ** 2).sum()))
