"""CIFAR-10 and CIFAR-100: 60,000 photographs of 32×32 pixels, from the official files for Python."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isqrt
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shortlist.datasets import refuse_missing
from shortlist.datasets.arrays import Arrays, first
from shortlist.types import Ints, ShortlistError

Pixels = npt.NDArray[np.uint8]
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
        unpacked = f"get {layout.source} and unpack it, so that {root.as_posix()} holds {', '.join(layout.files)}"
        refuse_missing(layout.name, (root / name for name in layout.files), unpacked)
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
        self._rebuilt_from(folder=folder, imbalance=imbalance, items=items, test_items=test_items)


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
    >>> from shortlist.datasets.official.examples import write_example
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
    rows, labels = zip(*(read_batch(layout, path) for path in paths), strict=True)
    return np.concatenate(rows), np.concatenate(labels)


def read_batch(layout: Layout, path: Path) -> tuple[Pixels, Ints]:
    batch = load(path)
    data = entry(layout, path, batch, "data")
    rows = data.values if isinstance(data, Stored) else None
    if rows is None:
        raise broken(layout, path, "'data' is no array")
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != 3072 or len(rows) == 0:
        raise broken(layout, path, f"'data' is {rows.dtype} {rows.shape} instead of uint8 (n, 3072)")
    labels = entry(layout, path, batch, layout.labels)
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise broken(layout, path, f"{layout.labels!r} is no list of whole numbers")
    for row, label in enumerate(labels):
        if not 0 <= label < layout.n_classes:
            outside = f"is not in 0..{layout.n_classes - 1}"
            raise broken(layout, path, f"label {label} in row {row} (counting from 0) {outside}")
    if len(rows) != len(labels):
        raise broken(layout, path, f"has {len(rows)} images but {len(labels)} labels")
    return rows, np.array(labels, np.int64)


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


# --- a long tail -----------------------------------------------------------------------------------------------


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
    members = [np.flatnonzero(np.asarray(labels, np.int64) == c) for c in range(n_classes)]
    n_max = max(map(len, members))
    kept = [of_class[: int(n_max * ratio ** (-c / (n_classes - 1)))] for c, of_class in enumerate(members)]
    return np.sort(np.concatenate(kept))


# --- pickles, read without running anything --------------------------------------------------------------------

# A pickle is a program that may call whatever it names. The official files name three things of NumPy, which are only
# needed to make an array from bytes; here each has a stand-in that does that and nothing else, so not even NumPy's own
# reconstruction is run on what a stranger wrote.


def load(path: Path) -> Any:
    """What a file holds: plain containers, numbers and texts (Python 2's as bytes), and arrays as `Stored`."""
    try:
        with path.open("rb") as file:
            return Restricted(file, path).load()
    except ShortlistError:
        raise
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be read ({error.strerror})") from error
    except Exception as error:  # a broken pickle raises many types; each means the same here
        raise ShortlistError(f"{path}: cannot be unpickled ({error}); unpack the official archive again") from error


class Restricted(pickle.Unpickler):
    """An unpickler that knows the stand-ins below and no other name."""

    def __init__(self, file: Any, path: Path) -> None:
        super().__init__(file, encoding="bytes")  # Python 2's texts were bytes
        self._path = path

    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in STAND_INS:
            raise ShortlistError(
                f"{self._path}: asks for {module}.{name}, which no official file does, so it was not read and nothing "
                "in it was run; unpack the official archive again"
            )
        return STAND_INS[module, name]


# Classes with a __setstate__, all of them: a pickle could set attributes of anything else that it is handed.


class Stored:
    """Stands in for numpy.ndarray, which a pickle first makes empty and then fills."""

    values: npt.NDArray[Any] | None = None  # until filled

    def __init__(self, *of_an_empty_one: object) -> None: ...

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_column, content = state
        values = np.frombuffer(content, kind.dtype)
        self.values = values.reshape(tuple(map(int, shape)), order="F" if by_column else "C")


class StoredFromBuffer(Stored):
    """Stands in for what makes an array in the newest pickles."""

    def __init__(self, content: Any, kind: Any, shape: Any, order: str) -> None:
        self.__setstate__((1, shape, kind, order == "F", content))


class StoredKind:
    """Stands in for numpy.dtype: whole numbers only. Its own state says their byte order."""

    def __init__(self, code: str | bytes, *rest: object) -> None:
        name = code.decode("ascii") if isinstance(code, bytes) else code
        if not re.fullmatch(r"[iu][1248]", name):
            raise ValueError(f"an array of type {name!r}, where whole numbers were expected")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        order: Any = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
        self.dtype = self.dtype.newbyteorder(order)


class StoredBytes:
    """Stands in for codecs.encode, by which Python 3 writes bytes for Python 2."""

    def __new__(cls, text: str, encoding: str) -> Any:
        return text.encode("latin1")

    def __setstate__(self, state: Any) -> None: ...


STAND_INS: dict[tuple[str, str], type] = {
    ("numpy", "ndarray"): Stored,
    ("numpy", "dtype"): StoredKind,
    ("numpy.core.multiarray", "_reconstruct"): Stored,
    ("numpy._core.multiarray", "_reconstruct"): Stored,
    ("numpy.core.numeric", "_frombuffer"): StoredFromBuffer,
    ("numpy._core.numeric", "_frombuffer"): StoredFromBuffer,
    ("_codecs", "encode"): StoredBytes,
}


# --- images: a row each, all of red, then all of green, then all of blue ---------------------------------------


def from_planes(rows: Pixels, images: Pixels) -> None:
    """Fill images (n, side, side, 3) from rows (n, 3 · side²)."""
    planes = rows.reshape(len(rows), 3, *images.shape[1:3])
    for colour in range(3):  # five times as fast as one assignment of all three
        images[..., colour] = planes[:, colour]


def to_images(rows: Pixels) -> Pixels:
    """(n, side, side, 3) from rows (n, 3 · side²)."""
    side = isqrt(rows.shape[1] // 3)
    images = np.empty((len(rows), side, side, 3), np.uint8)
    from_planes(rows, images)
    return images


def to_planes(images: Pixels) -> Pixels:
    """Rows (n, 3 · side²) from images (n, side, side, 3)."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)
