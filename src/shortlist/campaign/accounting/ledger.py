"""What was paid: every answer is charged for the stages it went through."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shortlist.plans import stage_cost
from shortlist.types import Answer, CostModel, Stages


@dataclass(frozen=True)
class Line:
    round: int
    purpose: str
    answers: int
    cost: float


def lines(costs: Iterable[tuple[int, str, float]]) -> list[Line]:
    """One line per round and purpose, from every answer's. Exact sums, so the order of the answers leaves no trace."""
    paid: dict[tuple[int, str], list[float]] = defaultdict(list)
    for round, purpose, cost in costs:
        paid[round, purpose].append(cost)
    return [Line(*key, len(costs), math.fsum(costs)) for key, costs in sorted(paid.items())]


def spent(lines: Iterable[Line]) -> float:
    """What the labels cost; the holdout, which only measures, is left out."""
    return math.fsum(line.cost for line in lines if line.purpose != "holdout")


def charge(question: Stages, answer: Answer, cost: CostModel) -> float:
    """What an answer cost: every stage it passed through, and for a skip the stage that was on the screen.

    A stage costs what choosing one of its options does (`plans.stage_cost`); `Plan.charge` does so for a known truth.
    """
    return sum(stage_charges(question.edges, question.n_left, cost)[: answer.stages_seen])


def conventional_item_cost(n_classes: int, cost: CostModel) -> float:
    """What it costs to ask about one item with all classes at once.

    >>> from shortlist.costs import Bits
    >>> conventional_item_cost(8, Bits())
    3.0
    """
    return stage_charges((0, n_classes), n_classes, cost)[0]


@lru_cache(maxsize=4096)
def stage_charges(edges: tuple[int, ...], n_left: int, cost: CostModel) -> list[float]:
    """The cost of each stage of a question about `n_left` classes, which begin and end at `edges`.

    >>> from shortlist.costs import Bits
    >>> stage_charges((0, 1, 9), 9, Bits())
    [1.0, 3.0]
    """
    shown = np.diff(np.asarray(edges, np.int64))
    left = n_left - np.asarray(edges[:-1], np.int64)
    return [float(c) for c in stage_cost(shown, left, cost)]
