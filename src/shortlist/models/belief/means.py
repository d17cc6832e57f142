"""Classes as directions: an item is likely of the class whose direction is close to its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.models.belief.expert import points
from shortlist.models.belief.graph import Rows, unit
from shortlist.models.model import TrainingSet
from shortlist.types import Dataset, Ints, ShortlistError

SHARPNESS = 10.0  # log p is so many times the cosine


@dataclass(frozen=True)
class Items:
    """Directions of the items after what all of them have in common is taken away."""

    train: Rows  # (N, D)
    test: Rows | None

    @classmethod
    def of(cls, train: Rows, test: Rows | None) -> Items:
        centre = train.mean(axis=0, dtype=np.float64)
        return cls(unit(train - centre), None if test is None else unit(test - centre))


@dataclass(frozen=True)
class Cosines:
    """A voice: log p is proportional to the cosine between an item and each class."""

    name: str
    usual: float
    held_out: Rows
    classes: Rows  # (L, D)
    items: Items

    def logs(self, items: Ints) -> Rows:
        return sharp(self.items.train[items], self.classes)

    def logs_of_test(self, rows: Ints) -> Rows:
        if self.items.test is None:
            return np.zeros((len(rows), len(self.classes)), np.float32)
        return sharp(self.items.test[rows], self.classes)


def sharp(items: Rows, classes: Rows) -> Rows:
    logs: Rows = np.float32(SHARPNESS) * (items @ classes.T)
    return logs


def means(name: str, items: Items, training_set: TrainingSet, prior: Rows | None = None, worth: float = 0) -> Cosines:
    """Classes by the mean of their labelled items; with a prior (L, D), that counts as so many items more.

    What is held out is exact: each item's own class without it.

    >>> line = Items(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], np.float32), None)
    >>> from shortlist import Labelled
    >>> learnt = TrainingSet.of(Labelled(np.arange(3), np.array([0, 0, 1]), n_classes=2))
    >>> means("means", line, learnt).held_out.round(1).tolist()
    [[6.0, 0.0], [6.0, 8.0], [4.5, 0.0]]
    """
    rows, labels = items.train[training_set.items], training_set.labels
    sums = np.zeros((training_set.n_classes, rows.shape[1]))
    np.add.at(sums, labels, rows)
    if prior is not None:
        sums += worth * prior
    classes = unit(_unless_rounding(sums))
    held_out = sharp(rows, classes)
    without = unit(_unless_rounding(sums[labels] - rows))
    held_out[np.arange(len(rows)), labels] = SHARPNESS * np.einsum("ij,ij->i", rows, without)
    return Cosines(name, 0.5, held_out, classes, items)


def _unless_rounding(sums: Any) -> Any:
    """What is left when the only item of a class is taken away points nowhere."""
    lengths = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
    return np.where(lengths > 1e-5, sums, 0)


class Means:
    """An expert that knows a class by the mean of its labelled items: what two labels of a class already say.

    Parameters
    ----------
    encoder : `package:NAME` or `hub:NAME`, for the vectors; None: those that the model sees

    >>> Means().spec()
    {'name': 'means'}
    """

    def __init__(self, encoder: str | None = None) -> None:
        self.encoder = encoder
        self._items: Items | None = None

    def __repr__(self) -> str:
        return "Means()" if self.encoder is None else f"Means({self.encoder!r})"

    def spec(self) -> dict[str, object]:
        spec: dict[str, object] = {"name": "means"}
        return spec if self.encoder is None else {**spec, "encoder": self.encoder}

    def prepare(self, dataset: Dataset, model: Any = None) -> None:
        self._items = Items.of(*points(dataset, model, self.encoder))

    def fit(self, training_set: TrainingSet) -> tuple[Cosines]:
        if self._items is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return (means("means", self._items, training_set),)
