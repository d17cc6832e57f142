"""How many items are asked before the model learns again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shortlist.types import ShortlistError


class Schedule(Protocol):
    @property
    def most(self) -> int:
        """The largest batch."""

    @property
    def rounds(self) -> int | None:
        """After how many rounds the campaign ends; None: this does not end it."""

    def first_batch(self, known: int) -> int:
        """How many random items are asked first, where so many labels are known beforehand."""

    def batch(self, labelled: int) -> int:
        """How many items a round asks when there are so many labels in all."""


@dataclass(frozen=True)
class Fixed:
    """So many random items first, then batches of one size: the paper's schedule.

    Parameters
    ----------
    initial : how many random items are asked first, whatever is known beforehand
    budget : how many items are asked in every round after that
    rounds : end after so many, the first one counted

    >>> Fixed(initial=300, budget=600).batch(900)
    600
    """

    initial: int
    budget: int
    rounds: int | None = None

    @property
    def most(self) -> int:
        return self.budget

    def first_batch(self, known: int) -> int:
        """`initial`.

        >>> Fixed(initial=300, budget=600).first_batch(known=1000)
        300
        """
        return self.initial

    def batch(self, labelled: int) -> int:
        """`budget`.

        >>> Fixed(initial=300, budget=600).batch(labelled=900)
        600
        """
        return self.budget


@dataclass(frozen=True)
class Doubling:
    """Learn early and often while labels are few: at 20, 40, 80, … labels in all. Labels known beforehand count.

    Parameters
    ----------
    first : labels to begin with
    most : the largest batch
    rounds : end after so many, the first one counted

    >>> schedule, labelled = Doubling(first=20, most=500), [20]
    >>> while labelled[-1] < 2000:
    ...     labelled.append(labelled[-1] + schedule.batch(labelled[-1]))
    >>> labelled
    [20, 40, 80, 160, 320, 640, 1140, 1640, 2140]
    """

    first: int = 20
    most: int = 500
    rounds: int | None = None

    def __post_init__(self) -> None:
        for name in ("first", "most"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ShortlistError(f"schedule: {name} must be a whole number of at least 1, got {value!r}")

    def first_batch(self, known: int) -> int:
        """What `known` labels leave of `first`.

        >>> Doubling(first=20).first_batch(known=0), Doubling(first=20).first_batch(known=150)
        (20, 0)
        """
        return min(max(self.first - known, 0), self.most)

    def batch(self, labelled: int) -> int:
        """As many as there are labels, at least `first` and at most `most`.

        >>> Doubling(first=20, most=500).batch(labelled=150)
        150
        """
        return min(max(self.first, labelled), self.most)


def largest_batch(config: Mapping[str, Any]) -> int:
    """Of a campaign, by what its record says it was asked to do.

    >>> largest_batch({"budget": 600}), largest_batch({"schedule": {"name": "doubling", "first": 20, "most": 500}})
    (600, 500)
    """
    return int(config["schedule"]["most"] if "schedule" in config else config["budget"])
