"""What the paper's text charges, one item at a time in plain Python: slow, and easy to check by eye."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

Cost: TypeAlias = Callable[[float], float]


def bits(options: float) -> float:
    return math.log2(options)


def asked(options: int, cost: Cost, classes_left: int) -> float:
    """A stage with one class left is not asked and costs 0 in every cost model."""
    return 0.0 if classes_left <= 1 else float(cost(options))


def conventional(n_classes: int, cost: Cost) -> float:
    return asked(n_classes, cost, n_classes)


def shortlist(members: Sequence[int], truth: int, n_classes: int, cost: Cost) -> float:
    """log2(k+1) when the label is in the set, plus log2(L−k) when it is not; empty and full sets cost log2 L."""
    k = len(members)
    if k in (0, n_classes):
        return conventional(n_classes, cost)
    first = asked(k + 1, cost, n_classes)
    return first if truth in members else first + asked(n_classes - k, cost, n_classes - k)


def candidate_set(row: Sequence[float], truth: int, threshold: float, cost: Cost) -> float:
    """{y : P(y|x) ≥ t}."""
    return shortlist([y for y, p in enumerate(row) if p >= threshold], truth, len(row), cost)


def order(row: Sequence[float]) -> list[int]:
    """Most probable first, ties by class index."""
    return sorted(range(len(row)), key=lambda y: (-row[y], y))


def top_k(row: Sequence[float], truth: int, k: int, cost: Cost) -> float:
    return shortlist(order(row)[:k], truth, len(row), cost)


def one_bit(row: Sequence[float], cost: Cost) -> float:
    """One cut at 1 and no second stage."""
    return asked(2, cost, len(row))


def oracle(row: Sequence[float], truth: int, cost: Cost, none_option: bool) -> float:
    """One cut at the rank of the truth; the authors charge no "None"."""
    rank = order(row).index(truth) + 1
    if rank == len(row):
        return conventional(len(row), cost)
    return asked(rank + int(none_option), cost, len(row))


def nested(row: Sequence[float], truth: int, cuts: Sequence[int], cost: Cost) -> float:
    """A stage that shows m of R remaining classes costs log2(m+1) if m < R, else log2 R."""
    place, total, start, n_classes = order(row).index(truth), 0.0, 0, len(row)
    for end in (*cuts, n_classes):
        shown, left = end - start, n_classes - start
        total += asked(shown + 1 if shown < left else left, cost, left)
        if place < end:
            break
        start = end
    return total


def total(rows: Sequence[Sequence[float]], truths: Sequence[int], threshold: float, cost: Cost) -> float:
    """The summed charge of a calibration set."""
    return math.fsum(candidate_set(row, y, threshold, cost) for row, y in zip(rows, truths, strict=True))
