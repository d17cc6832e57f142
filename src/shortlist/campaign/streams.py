"""Randomness that does not depend on how often a process was started: a stream for every seed, round and step."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

from shortlist.types import Rng


def stream(seed: int, round: int, step: str) -> Rng:
    return np.random.default_rng([seed, round, zlib.crc32(step.encode())])


def draw_calibration(
    seed: int, round: int, n: int, n_cal: int, ahead: int = 0, budget: int | None = None
) -> npt.NDArray[np.bool_]:
    """(n,) D_cal: n_cal of the n items selected for a round, to which `ahead` more were asked beforehand.

    A last batch of no more than n_cal items has none: it is asked wholly with the threshold of the round before. A
    full batch, of `budget` items, has one even where that is all of it.

    >>> int(draw_calibration(seed=0, round=2, n=10, n_cal=4).sum()), draw_calibration(0, 2, n=4, n_cal=4).any()
    (4, np.False_)
    """
    mask = np.zeros(n, np.bool_)
    if 0 < n_cal <= n and (n_cal < n + ahead or n + ahead == budget):
        mask[stream(seed, round, "calibration").permutation(n)[:n_cal]] = True
    return mask
