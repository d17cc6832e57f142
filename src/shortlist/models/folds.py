"""Parts of the labelled items that a model is asked about when it has not learnt from them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.types import Ints, Rng

Mask: TypeAlias = npt.NDArray[np.bool_]


def stratified_folds(labels: Ints, folds: int, rng: Rng) -> list[Mask]:
    """(m,) masks of what each fold holds out. Items are dealt out class by class, so each class is spread evenly.

    >>> [fold.sum() for fold in stratified_folds(np.array([3, 3, 3, 5, 5]), 2, np.random.default_rng(0))]
    [np.int64(3), np.int64(2)]
    """
    shuffled = rng.permutation(len(labels))
    dealt = np.empty(len(labels), np.int64)
    dealt[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(len(labels)) % folds
    return [dealt == fold for fold in range(min(folds, len(labels)))]
