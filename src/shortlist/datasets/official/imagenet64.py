"""ImageNet64x64: all of ImageNet at 64×64 pixels, from the published npz batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

import numpy as np
from numpy.lib import format as npy

from shortlist.datasets import refuse_missing
from shortlist.datasets.arrays import Arrays, Deferred, first
from shortlist.datasets.official.cifar import Pixels, from_planes
from shortlist.system.arrays import blocks
from shortlist.system.progress import track
from shortlist.types import Ints, ShortlistError

TRAIN = tuple(f"train_data_batch_{number}.npz" for number in range(1, 11))
TEST = ("val_data.npz",)
NAMES = "map_clsloc.txt"
N_CLASSES = 1000
SIDE = 64
ROW = 3 * SIDE * SIDE
BLOCK = 1024  # images read at once

SOURCE = (
    'log in at https://image-net.org/download-images, get "Downsampled image data (64x64)" as npz '
    "(Imagenet64_train_part1_npz.zip, Imagenet64_train_part2_npz.zip, Imagenet64_val_npz.zip) and put "
    "train_data_batch_1.npz to train_data_batch_10.npz and val_data.npz into {folder}; we know of no published "
    "checksums, so shapes, labels and the zip files' own sums are checked instead"
)
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Imagenet64(Arrays):
    """1,281,167 training and 50,000 test images (64, 64, 3) of 1,000 classes; the validation images are the test.

    Labels are read at once and pixels at the first touch of `.inputs`: 15.7 GB, straight into one array. Classes
    have the names of map_clsloc.txt where that file lies beside the batches, else "1" to "1000". `items` and
    `test_items` take the first so many, for a small try; batches that they do not reach need not be there.

    >>> from tempfile import TemporaryDirectory
    >>> from shortlist.datasets.official.examples import write_example
    >>> with TemporaryDirectory() as folder:  # made up, in the published layout
    ...     data = Imagenet64(write_example("imagenet64", folder, items=40, test_items=10), items=30)
    ...     data.inputs.shape, data.keys[-1], data.classes[-1]
    ((30, 64, 64, 3), 'train/0000029', '1000')
    """

    def __init__(self, folder: str | Path, *, items: int | None = None, test_items: int | None = None) -> None:
        root = Path(folder)
        train, test = find_batches(root, TRAIN, items, "items"), find_batches(root, TEST, test_items, "test_items")
        labels = np.concatenate([labels for _, labels in train])
        super().__init__(
            deferred_pixels(train),
            labels,
            classes=class_names(root / NAMES),
            keys=[f"train/{position:07d}" for position in range(len(labels))],
            test_inputs=deferred_pixels(test),
            test_labels=np.concatenate([labels for _, labels in test]),
            name="imagenet64",
        )
        self._rebuilt_from(folder=folder, items=items, test_items=test_items)


Batch: TypeAlias = tuple[Path, Ints]  # a file, and the labels (n,) of its first images


def find_batches(root: Path, names: Sequence[str], wanted: int | None, field: str) -> list[Batch]:
    """As many batches as hold the items that are wanted."""
    batches: list[Batch] = []
    there = 0
    for path in (root / name for name in names):
        if wanted is None or there < wanted:
            batches.append((path, read_labels(path)))
            there += len(batches[-1][1])
    spare = there - first(wanted, there, field=f"imagenet64: {field}")
    *whole, (path, labels) = batches
    return [*whole, (path, labels[: len(labels) - spare])]


# --- labels and names ------------------------------------------------------------------------------------------


def read_labels(path: Path) -> Ints:
    """(n,) from 0, and a look at the shape of the pixels, which are not read for it."""
    refuse_missing("imagenet64", [path], SOURCE.format(folder=path.parent.as_posix()))
    with member(path, "labels") as file:
        labels = npy.read_array(file, allow_pickle=False)
    with member(path, "data") as file:
        shape = read_shape(path, file)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) == 0:
        raise broken(path, f"labels are {labels.dtype} {labels.shape} instead of whole numbers (n,)")
    if shape != (len(labels), ROW):
        raise broken(path, f"data has shape {shape} instead of ({len(labels)}, {ROW}), a row for each label")
    outside = np.flatnonzero((labels < 1) | (labels > N_CLASSES))
    if outside.size:
        row = outside[0]
        raise broken(path, f"label {labels[row]} in row {row} (counting from 0) is not in 1..{N_CLASSES}")
    return labels.astype(np.int64) - 1


def class_names(path: Path) -> list[str]:
    """Names by class number; the two cranes and the two maillots are told apart by their WordNet ids."""
    if not path.is_file():
        return [str(number) for number in range(1, N_CLASSES + 1)]
    lines = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip()]
    named = {cells[1]: (cells[2], cells[0]) for cells in lines if len(cells) == 3}
    for number in map(str, range(1, N_CLASSES + 1)):
        if number not in named:
            raise ShortlistError(
                f"{path}: no line names class {number} of {N_CLASSES}; lines look like 'n02119789 1 kit_fox'. "
                "Take the file away to go by numbers"
            )
    counts = Counter(name for name, _ in named.values())
    ordered = (named[str(number)] for number in range(1, N_CLASSES + 1))
    return [name if counts[name] == 1 else f"{name} ({wordnet})" for name, wordnet in ordered]


# --- pixels ----------------------------------------------------------------------------------------------------


def deferred_pixels(batches: Sequence[Batch]) -> Deferred:
    shape = (sum(len(labels) for _, labels in batches), SIDE, SIDE, 3)
    return Deferred(lambda: read_pixels(batches, shape), shape)


def read_pixels(batches: Sequence[Batch], shape: tuple[int, ...]) -> Pixels:
    images = np.empty(shape, np.uint8)
    total = sum(-(-len(labels) // BLOCK) for _, labels in batches)
    filled = 0
    parts = (rows for path, labels in batches for rows in read_blocks(path, len(labels)))
    for rows in track(parts, total=total, what=f"reading imagenet64, {BLOCK:,} images a step"):
        from_planes(rows, images[filled : filled + len(rows)])
        filled += len(rows)
    return images


def read_blocks(path: Path, n: int) -> Iterator[Pixels]:
    with member(path, "data") as file:
        read_shape(path, file)
        for block in blocks(n, BLOCK):
            size = (block.stop - block.start) * ROW
            content = file.read(size)
            if len(content) < size:
                raise broken(path, f"data ends before row {block.stop}")
            yield np.frombuffer(content, np.uint8).reshape(-1, ROW)


def read_shape(path: Path, file: IO[bytes]) -> tuple[int, ...]:
    """The shape that an array's header states; the file then stands at its first byte."""
    shape, by_column, dtype = HEADERS[npy.read_magic(file)](file)
    if dtype != np.uint8 or by_column:
        raise broken(path, f"data is {dtype}{', column by column' if by_column else ''} instead of uint8, row by row")
    return shape


@contextmanager
def member(path: Path, name: str) -> Iterator[IO[bytes]]:
    """One array of an npz, which is a zip file of npy files; a file that breaks off is refused by its name."""
    try:
        with ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            yield file
    except ShortlistError:
        raise
    except (KeyError, OSError, ValueError, EOFError, BadZipFile, ZlibError) as error:
        raise broken(path, f"{name} cannot be read ({error})") from error


def broken(path: Path, what: str) -> ShortlistError:
    return ShortlistError(f"{path}: {what}; unpack it again from the archive of https://image-net.org/download-images")
