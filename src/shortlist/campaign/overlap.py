"""Some items are asked of several people: how many, of how many, and what is done where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from shortlist.types import Ints, Rng, ShortlistError

Rule: TypeAlias = Literal["majority", "adjudication"]


@dataclass(frozen=True)
class Overlap:
    """A share of the items gets so many answers.

    Where people differ, `majority` takes what most of them say and leaves ties to the owner; `adjudication` leaves
    every difference to the owner. Until the owner has decided, such an item has no label and is not asked again.
    """

    answers: int = 2
    share: float = 0.1
    rule: Rule = "majority"

    def __post_init__(self) -> None:
        if self.answers < 2:
            raise ShortlistError(f"overlap.answers: {self.answers}; an overlap is of at least 2 people")
        if not 0 < self.share <= 1:
            raise ShortlistError(f"overlap.share: {self.share}; it has to be a share above 0 and up to 1")
        if self.rule not in ("majority", "adjudication"):
            raise ShortlistError(f"overlap.rule: {self.rule!r} is none of majority, adjudication")

    def wanted(self, n: int, rng: Rng) -> Ints:
        """(n,) how many answers each of n questions is to get.

        >>> import numpy as np
        >>> Overlap(3, 0.5).wanted(6, np.random.default_rng(0)).tolist()
        [1, 3, 3, 3, 1, 1]
        """
        chosen: Ints = 1 + (self.answers - 1) * (rng.random(n) < self.share)
        return chosen


def rule_of(config: Mapping[str, Any]) -> Rule:
    """The rule of a campaign, read from what it was asked for."""
    rule: Rule = config.get("overlap", {}).get("rule", "majority")
    return rule
