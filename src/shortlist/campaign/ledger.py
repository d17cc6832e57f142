"""What was paid: every answer is charged for the stages it went through."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from shortlist.campaign.store import QuestionRow, Store
from shortlist.plans import stage_cost
from shortlist.types import Answer, CostModel


@dataclass(frozen=True)
class Line:
    round: int
    purpose: str
    answers: int
    cost: float


def lines(store: Store) -> list[Line]:
    """The ledger: one line per round and purpose. Exact sums, so the order of the answers leaves no trace."""
    paid: dict[tuple[int, str], list[float]] = defaultdict(list)
    for round, purpose, cost in store.costs():
        paid[round, purpose].append(cost)
    return [Line(*key, len(costs), math.fsum(costs)) for key, costs in sorted(paid.items())]


def spent(lines: Iterable[Line]) -> float:
    """What the labels cost; the holdout, which only measures, is left out."""
    return math.fsum(line.cost for line in lines if line.purpose != "holdout")


def charge(question: QuestionRow, answer: Answer, cost: CostModel) -> float:
    """What an answer cost: every stage it passed through, and for a skip the stage that was on the screen."""
    open_ = question.n_classes - len(question.rejected)
    stages = stage_charges(open_, question.cuts, question.exhaustive, cost)
    return sum(stages[: stages_seen(answer)])


def stages_seen(answer: Answer) -> int:
    """How many stages were on the screen before this was said."""
    return len(answer.path) + (answer.kind in ("skip", "unreadable"))


@lru_cache(maxsize=4096)
def shown_options(open_: int, cuts: tuple[int, ...], exhaustive: bool) -> list[int]:
    """How many options each stage of a question about `open_` classes shows, "None of the above" among them.

    >>> shown_options(9, (1,), True), shown_options(9, (), True)
    ([2, 8], [9])
    """
    edges = [0, *cuts, *([open_] if exhaustive else [])]
    return [b - a + (b < open_) for a, b in pairwise(edges)]


@lru_cache(maxsize=4096)
def stage_charges(open_: int, cuts: tuple[int, ...], exhaustive: bool, cost: CostModel) -> list[float]:
    """The cost of each stage of a question about `open_` classes.

    >>> from shortlist.costs import Bits
    >>> stage_charges(9, (1,), True, Bits())
    [1.0, 3.0]
    """
    edges = [0, *cuts, *([open_] if exhaustive else [])]
    shown = np.diff(np.asarray(edges, np.int64))
    left = open_ - np.asarray(edges[:-1], np.int64)
    return [float(c) for c in stage_cost(shown, left, cost)]
