"""Stable identities: a campaign numbers items and classes once, whatever order the dataset comes in later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shortlist.campaign.store import Store
from shortlist.campaign.writer import Writer
from shortlist.types import Dataset, Ints, ShortlistError


@dataclass(frozen=True)
class Identities:
    keys: Sequence[str]  # by the campaign's item number
    classes: Sequence[str]  # by the campaign's class number
    positions: Ints  # item number -> position in the dataset
    class_of: Ints  # class in the dataset -> class number
    dataset_class: Ints  # class number -> class in the dataset
    n_old_keys: int  # those after them are new since the last start
    n_old_classes: int

    @property
    def is_grown(self) -> bool:
        return self.n_old_keys < len(self.keys) or self.n_old_classes < len(self.classes)

    def own_labels(self, labels: Ints) -> Ints:
        """Labels of the dataset in the campaign's class numbers; −1 stays −1."""
        return np.where(labels >= 0, self.class_of[np.maximum(labels, 0)], -1)


def identify(store: Store, dataset: Dataset, *, growing: bool = True) -> Identities:
    """Match the dataset with what the campaign knows; what is new stands at the end of the numbering.

    Not `growing`, new items are left for another start, and new classes refused.
    """
    old_keys, old_classes = store.keys(), store.class_names()
    keys = _matched(store.path, "items", old_keys, dataset.keys)
    classes = _matched(store.path, "classes", old_classes, dataset.classes)
    if not growing:
        keys = old_keys
        if classes != old_classes:
            raise ShortlistError(f"{store.path.parent}: there are new classes; start the server again to take them in")
    item_at = {key: i for i, key in enumerate(dataset.keys)}
    class_at = {name: i for i, name in enumerate(dataset.classes)}
    dataset_class = np.asarray([class_at[name] for name in classes], np.int64)
    return Identities(
        keys=keys,
        classes=classes,
        positions=np.asarray([item_at[key] for key in keys], np.int64),
        class_of=np.argsort(dataset_class),
        dataset_class=dataset_class,
        n_old_keys=len(old_keys),
        n_old_classes=len(old_classes),
    )


def grow(w: Writer, known: Identities, round: int) -> None:
    """Write down the items and classes that are new since the last start, which ended in `round`."""
    keys, names = known.keys[known.n_old_keys :], known.classes[known.n_old_classes :]
    if keys:
        w.add_items(known.n_old_keys, keys, round + 1)
        w.note(round, "grown", f"{len(keys)} new items")
    if names:
        w.add_classes(known.n_old_classes, names, round + 1)
        w.widen(len(known.classes))
        w.note(round, "grown", f"{len(names)} new classes")


def _matched(database: Path, what: str, known: list[str], given: Sequence[str]) -> list[str]:
    if lost := set(known) - set(given):
        gone = next(name for name in known if name in lost)
        raise ShortlistError(
            f"{database.parent}: the dataset no longer has {what} that this campaign knows ({len(lost)}, first "
            f"{gone!r}); put them back, or correct in campaign.toml where the dataset lies"
        )
    seen = set(known)
    return [*known, *(name for name in given if name not in seen)]
