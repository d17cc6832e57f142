"""CIFAR-10 and CIFAR-100: 60,000 photographs of 32×32 pixels, from the official files for Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.first import first
from shortlist.datasets.long_tail import long_tail
from shortlist.datasets.pickled import Stored, load
from shortlist.datasets.planes import Pixels, to_images
from shortlist.types import Ints, ShortlistError

PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"


@dataclass(frozen=True)
class Layout:
    """What an archive holds: files, and what their dictionaries call things."""

    name: str
    archive: str
    md5: str
    train: tuple[str, ...]
    test: str
    meta: str
    labels: str
    names: str
    n_classes: int

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.train, self.test, self.meta)

    @property
    def source(self) -> str:
        return f"{self.archive} (md5 {self.md5}) from {PAGE}"


class _Cifar(Arrays):
    layout: ClassVar[Layout]
    positions: Ints  # (N,): where in the official training order each item stands
    official_size: int  # items in the official training order, whatever was left out here

    def __init__(
        self,
        folder: str | Path,
        *,
        imbalance: float | None = None,
        items: int | None = None,
        test_items: int | None = None,
    ) -> None:
        layout, root = self.layout, Path(folder)
        refuse_missing(layout, root)
        classes = read_names(layout, root / layout.meta)
        rows, labels = read_batches(layout, [root / name for name in layout.train])
        test_rows, test_labels = read_batches(layout, [root / layout.test])
        self.official_size = len(labels)
        kept = np.arange(len(labels)) if imbalance is None else long_tail(labels, imbalance, layout.n_classes)
        self.positions = kept[: first(items, len(kept), field=f"{layout.name}: items")]
        n_test = first(test_items, len(test_labels), field=f"{layout.name}: test_items")
        super().__init__(
            to_images(rows if len(self.positions) == len(rows) else rows[self.positions]),
            labels[self.positions],
            classes=classes,
            keys=[f"train/{position:05d}" for position in self.positions],
            test_inputs=to_images(test_rows[:n_test]),
            test_labels=test_labels[:n_test],
            name=layout.name,
        )
        options = {"imbalance": imbalance, "items": items, "test_items": test_items}
        self._options = {option: value for option, value in options.items() if value is not None}
        self._folder = str(folder)

    def spec(self) -> dict[str, object]:
        return {"name": self.name, "folder": self._folder, **self._options}


class Cifar10(_Cifar):
    """50,000 training and 10,000 test images (32, 32, 3) of 10 classes; `folder` is cifar-10-batches-py itself.

    `imbalance=r` keeps the long tail of the training images that the paper calls CIFAR-LT: the first class whole,
    the last r times smaller. `items` and `test_items` then take the first so many, for a small try. An item's key
    and its entry in `positions` are its place in the official training order, whatever else was left out, so
    `labels[data.positions]` aligns an array of labels in that order with the items.

    >>> Cifar10("nowhere")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: cifar10: nowhere/data_batch_1 is missing; get cifar-10-python.tar.gz (md5 ...
    """

    layout = Layout(
        name="cifar10",
        archive="cifar-10-python.tar.gz",
        md5="c58f30108f718f92721af3b95e74349a",
        train=tuple(f"data_batch_{number}" for number in range(1, 6)),
        test="test_batch",
        meta="batches.meta",
        labels="labels",
        names="label_names",
        n_classes=10,
    )


class Cifar100(_Cifar):
    """50,000 training and 10,000 test images (32, 32, 3) of 100 classes; `folder` is cifar-100-python itself.

    Labels are the fine ones. Everything else is as in `Cifar10`. Reading takes half a second.

    >>> from tempfile import TemporaryDirectory
    >>> from shortlist.datasets.examples import write_example
    >>> with TemporaryDirectory() as folder:  # made up, in the official layout
    ...     data = Cifar100(write_example("cifar100", folder, items=400, test_items=100), imbalance=4)
    >>> data.inputs.shape, len(data.classes), data.keys[-1]
    ((172, 32, 32, 3), 100, 'train/00310')
    """

    layout = Layout(
        name="cifar100",
        archive="cifar-100-python.tar.gz",
        md5="eb9058c3a382ffc7106e4002c42a8d85",
        train=("train",),
        test="test",
        meta="meta",
        labels="fine_labels",
        names="fine_label_names",
        n_classes=100,
    )


def refuse_missing(layout: Layout, root: Path) -> None:
    for name in layout.files:
        if not (root / name).is_file():
            raise ShortlistError(
                f"{layout.name}: {(root / name).as_posix()} is missing; get {layout.source} and unpack it, so "
                f"that {root.as_posix()} holds {', '.join(layout.files)}"
            )


# --- what the files hold ---------------------------------------------------------------------------------------


def read_names(layout: Layout, path: Path) -> list[str]:
    names = entry(layout, path, load(path), layout.names)
    if not isinstance(names, list) or not all(isinstance(name, bytes | str) for name in names):
        raise broken(layout, path, f"{layout.names!r} is no list of names")
    if len(names) != layout.n_classes:
        raise broken(layout, path, f"{layout.names!r} has {len(names)} names instead of {layout.n_classes}")
    return [text(name) for name in names]


def read_batches(layout: Layout, paths: list[Path]) -> tuple[Pixels, Ints]:
    """Rows (n, 3072) and labels (n,) of all files, one after the other."""
    batches = [read_batch(layout, path) for path in paths]
    if len(batches) == 1:
        return batches[0]
    return np.concatenate([rows for rows, _ in batches]), np.concatenate([labels for _, labels in batches])


def read_batch(layout: Layout, path: Path) -> tuple[Pixels, Ints]:
    batch = load(path)
    rows = read_rows(layout, path, batch)
    labels = read_labels(layout, path, batch)
    if len(rows) != len(labels):
        raise broken(layout, path, f"has {len(rows)} images but {len(labels)} labels")
    return rows, labels


def read_rows(layout: Layout, path: Path, batch: Any) -> Pixels:
    data = entry(layout, path, batch, "data")
    rows = data.values if isinstance(data, Stored) else None
    if rows is None:
        raise broken(layout, path, "'data' is no array")
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != 3072 or len(rows) == 0:
        raise broken(layout, path, f"'data' is {rows.dtype} {rows.shape} instead of uint8 (n, 3072)")
    return rows


def read_labels(layout: Layout, path: Path, batch: Any) -> Ints:
    labels = entry(layout, path, batch, layout.labels)
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise broken(layout, path, f"{layout.labels!r} is no list of whole numbers")
    for row, label in enumerate(labels):
        if not 0 <= label < layout.n_classes:
            raise broken(
                layout, path, f"label {label} in row {row} (counting from 0) is not in 0..{layout.n_classes - 1}"
            )
    return np.array(labels, np.int64)


def entry(layout: Layout, path: Path, content: Any, key: str) -> Any:
    if not isinstance(content, dict):
        raise broken(layout, path, f"holds a {type(content).__name__} instead of a dictionary")
    named = {text(name): value for name, value in content.items() if isinstance(name, bytes | str)}
    if key not in named:
        raise broken(layout, path, f"has no entry {key!r}")
    return named[key]


def text(name: bytes | str) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def broken(layout: Layout, path: Path, what: str) -> ShortlistError:
    return ShortlistError(f"{path}: {what}; get {layout.source} and unpack it again")
