"""What a softmax learns from in one round: labels among the classes that have any, and classes ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from shortlist.models.digest import digest
from shortlist.types import Ints, Labelled, ShortlistError


@dataclass(frozen=True)
class Lesson:
    """Items in ascending order, so that the order in which answers came in does not matter."""

    classes: Ints  # (k,) those with a label, ascending; the others get probability 0
    items: Ints  # (m,)
    codes: Ints  # (m,) labels as places in `classes`
    partial: Ints  # (q,) items of which at least one of the k classes is ruled out
    rejected: npt.NDArray[np.bool_]  # (q, k)
    n_classes: int

    @classmethod
    def of(cls, labelled: Labelled) -> Self:
        """
        >>> Lesson.of(Labelled(np.array([7, 2]), np.array([5, 3]), n_classes=6)).codes
        array([0, 1])
        """
        if not len(labelled.items):
            raise ShortlistError("a model cannot learn from no labels; label some items first")
        by_item = np.argsort(labelled.items)
        classes, codes = np.unique(labelled.labels[by_item], return_inverse=True)
        rejected = np.zeros((len(labelled.partial), labelled.n_classes), np.bool_)
        if labelled.rejected is not None:
            rejected |= labelled.rejected
        rejected = rejected[:, classes]
        says = np.flatnonzero(rejected.any(axis=1)) if len(classes) > 1 else np.empty(0, np.int64)
        says = says[np.argsort(labelled.partial[says])]
        own = (labelled.items[by_item], codes, labelled.partial[says], rejected[says])
        return cls(classes, *own, labelled.n_classes)

    @property
    def digest(self) -> str:
        return digest(self.classes, self.items, self.codes, self.partial, self.rejected, self.n_classes)
