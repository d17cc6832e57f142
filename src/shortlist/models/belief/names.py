"""What the names of the classes say, put beside the items in one space of vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shortlist.models.belief.expert import full_name
from shortlist.models.belief.graph import Rows, unit
from shortlist.models.belief.means import Cosines, Items, means, sharp
from shortlist.models.encoders.encoder import Encoder
from shortlist.models.model import TrainingSet
from shortlist.types import Dataset, ShortlistError

WORTH = 3.0  # labelled items, that a name counts as beside them


class Names:
    """An expert that reads the names of the classes, or descriptions of them, and needs no label.

    An item is likely of the class whose name lies close to it: log p is proportional to the cosine, after what all
    items have in common is taken from the items, and what all names have from the names. `card_arrival` and
    `CardArrival` are read as words. A second opinion of its own, with a weight of its own, is the mean of a class's
    labelled items and its name.

    Parameters
    ----------
    encoder : `package:NAME` or `hub:NAME`, of texts; None: that of the model beside it
    descriptions : a text for some or all of the classes, by name; None: those of the dataset, if it has any

    >>> Names("package:wordllama", descriptions={"atm": "cash machines"}).spec()
    {'name': 'names', 'encoder': 'package:wordllama', 'descriptions': {'atm': 'cash machines'}}
    """

    def __init__(self, encoder: str | None = None, *, descriptions: Mapping[str, str] | None = None) -> None:
        self.encoder, self.descriptions = encoder, descriptions
        self._reader: Encoder | None = None
        self._items: Items | None = None
        self._names: Rows | None = None
        self._told: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Names({self.encoder!r})"

    def spec(self) -> dict[str, object]:
        spec: dict[str, object] = {"name": "names"}
        if self.encoder is not None:
            spec["encoder"] = self.encoder
        if self.descriptions:
            spec["descriptions"] = dict(self.descriptions)
        return spec

    def check(self) -> None:
        """Refuses an encoder that cannot be found."""
        if self.encoder is not None:
            Encoder(full_name(self.encoder)).check()

    def prepare(self, dataset: Dataset, model: Any = None) -> None:
        named = self.encoder or getattr(model, "encoder", None)
        if named is None:
            raise ShortlistError(
                'names: no encoder to read the classes\' names with; give Names("package:wordllama"), or a model that '
                "has one"
            )
        self._reader = Encoder(full_name(named))
        self._told = self.descriptions or getattr(dataset, "descriptions", None) or {}
        if unknown := [name for name in self._told if name not in set(dataset.classes)]:
            raise ShortlistError(f"names: a description is of {unknown[0]!r}, which is no class of {dataset.name}")
        self.name_classes(dataset.classes)
        self._items = Items.of(self._reader.encode(dataset), self._reader.encode_test(dataset))

    def name_classes(self, names: Sequence[str]) -> None:
        """(L,) in the order of the labels' numbers."""
        if self._reader is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        texts = [self._told.get(name) or as_words(name) for name in names]
        if empty := [name for name, text in zip(names, texts, strict=True) if not text.strip()]:
            raise ShortlistError(f"names: class {empty[0]!r} has no name to read; describe it, or leave the expert out")
        vectors = self._reader.encode_texts(texts)
        self._names = unit(vectors - vectors.mean(axis=0, dtype=np.float64))

    def fit(self, training_set: TrainingSet) -> tuple[Cosines, Cosines]:
        if self._items is None or self._names is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        if len(self._names) != training_set.n_classes:
            raise ShortlistError(
                f"names: {len(self._names)} classes are named, and labels are of {training_set.n_classes}"
            )
        items, names = self._items, self._names
        alone = Cosines("names", 1.0, sharp(items.train[training_set.items], names), names, items)
        return alone, means("named means", items, training_set, names, WORTH)


def as_words(name: str) -> str:
    """A class's name as one would say it.

    >>> as_words("card_arrival"), as_words("CardArrival"), as_words("top-up.failed"), as_words("PIN blocked")
    ('card arrival', 'card arrival', 'top up failed', 'PIN blocked')
    """
    spaced = re.sub(r"[_\-./\\]+", " ", name)
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", spaced)
    return (split.lower() if split != spaced else split).strip()
