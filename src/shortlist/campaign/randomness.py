"""Randomness that does not depend on how often a process was started: a stream for every seed, round and step.

A campaign keeps the version of its draws and finishes under it. What is drawn differently from now on gets the next
version, and asks `version` where the two part.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shortlist.types import Ints, Rng, ShortlistError

DRAWS = 2  # the version that a new campaign begins with; 1: D_cal was drawn by rank


def keyed_rng(seed: int, round: int, step: str) -> Rng:
    return np.random.default_rng([seed, round, zlib.crc32(step.encode())])


@dataclass(frozen=True)
class Draws:
    """The random decisions of a campaign."""

    seed: int
    version: int = DRAWS

    def __post_init__(self) -> None:
        if not 1 <= self.version <= DRAWS:
            raise ShortlistError(
                f"random draws of version {self.version}: this Shortlist knows them up to {DRAWS}; use the version "
                "that began the campaign"
            )

    def rng(self, round: int, step: str) -> Rng:
        return keyed_rng(self.seed, round, step)

    def calibration(
        self, round: int, items: Ints, n_cal: int, ahead: int = 0, budget: int | None = None
    ) -> npt.NDArray[np.bool_]:
        """(n,) D_cal: n_cal of the items selected for a round, to which `ahead` more were asked beforehand.

        Every item of the dataset has a number of its own in every round, and D_cal are the selected items with the
        lowest: items that change places in the selection stay in it or out of it. A last batch of no more than n_cal
        items has none: it is asked wholly with the threshold of the round before. A full batch, of `budget` items, has
        one even where that is all of it.

        >>> draws, items = Draws(seed=0), np.array([3, 8, 1, 5])
        >>> items[draws.calibration(round=2, items=items, n_cal=2)], draws.calibration(2, items, n_cal=4).any()
        (array([8, 1]), np.False_)
        """
        n = len(items)
        mask = np.zeros(n, np.bool_)
        if 0 < n_cal <= n and (n_cal < n + ahead or n + ahead == budget):
            rng = self.rng(round, "calibration")
            places = rng.permutation(n) if self.version < 2 else np.argsort(rng.random(1 + items.max())[items])
            mask[places[:n_cal]] = True
        return mask
