"""What methods have for the same money: the accuracy at a cost that lies between two rounds, by a straight line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shortlist.experiments.results import Row

SPENT = "relative_cost"
CONVENTIONALLY = "conventional_relative_cost"  # what the same items cost with all classes shown at once


def accuracy_at(rounds: Sequence[Row], cost: float, spent: str = SPENT) -> float | None:
    """Of one campaign at a relative cost; None below what it first paid and above what it paid in all.

    >>> rounds = [{"round": 1, "accuracy": 40.0, "relative_cost": 10.0},
    ...           {"round": 2, "accuracy": 60.0, "relative_cost": 20.0}]
    >>> accuracy_at(rounds, 12.5), accuracy_at(rounds, 20.0), accuracy_at(rounds, 20.1)
    (45.0, 60.0, None)
    """
    known = [row for row in rounds if row[spent] is not None and row["accuracy"] is not None]
    points = sorted((row["round"], row[spent], row["accuracy"]) for row in known)
    for (_, before, low), (_, after, high) in pairwise(points):
        if before <= cost <= after and before < after:
            return float(low + (high - low) * (cost - before) / (after - before))
    return None
