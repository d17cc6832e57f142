"""In which order the classes are shown that a question does not list: by what the model said of its item.

It is read from the `asked.npz` that every round keeps, a row for a question. What is charged, and which answers fit,
does not depend on it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from shortlist.campaign.storage.folder import Folder
from shortlist.campaign.storage.store import QuestionRow
from shortlist.campaign.view import View
from shortlist.system.files import Stored
from shortlist.types import Ints

MOST = 200  # classes in an order; after them comes the alphabet
KEPT = 4  # rounds of which is remembered what stands where
LOOKED_AT = 500  # items among which one like another is looked for

Row: TypeAlias = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Said:
    """What the model said of a round's items, on the disk."""

    items: Ints  # (n,) sorted
    at: Ints  # (n,) the row of each
    probs: Stored  # (n, L)

    def of(self, item: int) -> Row | None:
        """(L,); None for an item that the model was not asked about."""
        place = int(np.searchsorted(self.items, item))
        if place == len(self.items) or self.items[place] != item:
            return None
        row = int(self.at[place])
        return cast(Row, self.probs.rows(row, row + 1)[0])

    def like(self, cls: int) -> Row | None:
        """(L,) of one of the first items: of that which looks most like this class."""
        some = self.probs.rows(0, LOOKED_AT)
        return some[int(some[:, cls].argmax())] if len(some) and cls < some.shape[1] else None


@dataclass
class Orders:
    """The orders of a campaign's questions, in the campaign's own class numbers.

    None where no model has said anything of the item: before the first round, or where a file is gone.
    """

    view: View
    _said: OrderedDict[tuple[int, str], Said] = field(default_factory=OrderedDict)

    def of(self, row: QuestionRow) -> list[int] | None:
        """The classes after those that the question lists, most probable first."""
        return ranked(self._about(row), row.n_classes, {*row.classes, *row.rejected})

    def instead(self, row: QuestionRow, cls: int) -> list[int] | None:
        """The same for a question that no round has asked, about an item of the class `cls`: by what was said of the
        item when it was asked about, or else of one that looks as much like that class."""
        for asked in self.view.questions_about([row.item]):
            if (probs := self._about(asked)) is not None:
                return ranked(probs, row.n_classes, row.classes)
        return ranked(self._like(row.round, cls), row.n_classes, row.classes)

    def _about(self, row: QuestionRow) -> Row | None:
        # an item that is asked about ahead was ranked with those of the round before
        number, which = (row.round - 1, "ahead_") if row.purpose == "ahead" else (row.round, "")
        return self._read(number, which, lambda said: said.of(row.item))

    def _like(self, number: int, cls: int) -> Row | None:
        return self._read(number, "", lambda said: said.like(cls))

    def _read(self, number: int, which: str, wanted: Callable[[Said], Row | None]) -> Row | None:
        try:
            if (number, which) not in self._said:
                path = Folder(self.view.folder).asked(number)
                items, probs = Stored.find(path, f"{which}items"), Stored.find(path, f"{which}probs")
                numbers = items.rows(0, items.shape[0])
                at = np.argsort(numbers, kind="stable")
                self._said[number, which] = Said(numbers[at], at, probs)
                while len(self._said) > KEPT:
                    self._said.popitem(last=False)
            return wanted(self._said[number, which])
        except (OSError, KeyError, ValueError, IndexError, BadZipFile):  # an order is not worth a question
            return None


def ranked(probs: Row | None, n_classes: int, without: Collection[int], most: int = MOST) -> list[int] | None:
    """The most probable classes first, ties by number; those that were added since the model learnt come last.

    >>> ranked(np.array([0.1, 0.4, 0.1, 0.4]), 5, without=[1])
    [3, 0, 2, 4]
    >>> ranked(np.arange(1000), 1000, without=[998], most=3)
    [999, 997, 996]
    """
    if probs is None:
        return None
    wanted = min(most + len(without), len(probs))
    if wanted < len(probs) // 4:  # of many classes only those that count are put in order
        likely = np.flatnonzero(probs >= np.partition(probs, -wanted)[-wanted])
    else:
        likely = np.arange(len(probs))
    order = likely[np.argsort(-probs[likely], kind="stable")].tolist()
    added = range(len(probs), n_classes)
    return [cls for cls in (*order[:wanted], *added) if cls not in without][:most]
