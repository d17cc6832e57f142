"""A balanced training set made imbalanced, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from shortlist.types import Ints, ShortlistError


def long_tail(labels: Sequence[int] | Ints, ratio: float, n_classes: int) -> Ints:
    """Positions of the items that stay, in order: the first int(n_max · ratio^(−c/(L−1))) of each class c.

    Class 0 keeps as many as the largest class has, the last class 1/ratio of that; a class that has fewer keeps
    all of them.

    >>> labels = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
    >>> long_tail(labels, ratio=4, n_classes=3)  # 4 of class 0, 2 of class 1, 1 of class 2
    array([0, 1, 2, 3, 4, 6, 9])
    """
    if not 1 <= ratio < inf:
        raise ShortlistError(f"long_tail: ratio is {ratio}; it has to be at least 1, which keeps everything")
    if n_classes < 2:
        raise ShortlistError(f"long_tail: n_classes is {n_classes}; it has to be at least 2")
    given = np.asarray(labels, np.int64)
    members = [np.flatnonzero(given == c) for c in range(n_classes)]
    n_max = max(map(len, members))
    kept = [of_class[: int(n_max * ratio ** (-c / (n_classes - 1)))] for c, of_class in enumerate(members)]
    return np.sort(np.concatenate(kept))
