"""Products-10K: photographs of about ten thousand products of an online shop, from the published files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shortlist.datasets import refuse_missing
from shortlist.datasets.arrays import Arrays, first, wrong_row
from shortlist.datasets.image_folder import deferred_images
from shortlist.datasets.table import read, strings
from shortlist.system.extras import require
from shortlist.types import Ints, ShortlistError

TRAIN, TEST = "train.csv", "test_kaggletest.csv"
FOLDERS = {TRAIN: "train", TEST: "test"}  # where the images of each list are


class Products10k(Arrays):
    """141,931 training and 55,376 test images of 9,691 products; keys are paths in `folder`, such as train/1.jpg.

    Of train.csv and test_kaggletest.csv the columns name and class are read. The classes are those of both files, so
    that a product which only the test shows still counts, as an unavoidable error. Pixels are read at the first touch
    of `.inputs`, as `ImageFolder` does: the square in the middle, resized to (size, size, 3). At 224 all
    training images take 21 GB.

    `items` and `test_items` take the first rows, for a small try; the classes stay, and where rows are sorted by
    class, few of them occur.

    >>> from tempfile import TemporaryDirectory
    >>> from shortlist.datasets.official.examples import write_example
    >>> with TemporaryDirectory() as folder:  # made up, in the published layout
    ...     home = write_example("products10k", folder, n_classes=12, items=30, test_items=10)
    ...     data = Products10k(home, size=32)
    ...     data.inputs.shape, data.keys[0], data.classes[:3]
    ((30, 32, 32, 3), 'train/1.jpg', ('0', '1', '2'))
    """

    def __init__(
        self, folder: str | Path, *, size: int = 224, items: int | None = None, test_items: int | None = None
    ) -> None:
        require("PIL", extra="images")
        if size < 1:
            raise ShortlistError(f"products10k: size is {size}; it has to be at least 1 pixel")
        root = Path(folder)
        refuse_missing(
            "products10k",
            (root / name for name in (TRAIN, TEST, "train", "test")),
            f"get Products-10K from https://products-10k.github.io/ and put {TRAIN}, {TEST} and the folders train and "
            f"test of its images into {root.as_posix()} (no checksums are published: rows and images are matched "
            "instead)",
        )
        (names, ids), (test_names, test_ids) = read_list(root / TRAIN), read_list(root / TEST)
        classes = np.union1d(ids, test_ids)  # sorted
        n = first(items, len(ids), field="products10k: items")
        n_test = first(test_items, len(test_ids), field="products10k: test_items")
        keys, test_keys = image_keys(root, TRAIN, names[:n]), image_keys(root, TEST, test_names[:n_test])
        super().__init__(
            deferred_images(root, keys, size),
            np.searchsorted(classes, ids[:n]),
            classes=map(str, classes.tolist()),
            keys=keys,
            test_inputs=deferred_images(root, test_keys, size),
            test_labels=np.searchsorted(classes, test_ids[:n_test]),
            name="products10k",
        )
        self._rebuilt_from(folder=folder, size=size, items=items, test_items=test_items)


def read_list(path: Path) -> tuple[list[str], Ints]:
    """File names and class ids, row by row."""
    rows = read(path, ["name", "class"])
    names, ids = strings(rows["name"]), strings(rows["class"])
    for row, (name, cell) in enumerate(zip(names, ids, strict=True)):
        if name is None:
            raise wrong_row(str(path), row, "the name is missing")
        if cell is None or not (cell.isascii() and cell.isdigit()):
            raise wrong_row(str(path), row, f"the class {cell!r} is not a whole number")
    return [str(name) for name in names], np.array(ids, np.int64)


def image_keys(root: Path, listed: str, names: list[str]) -> list[str]:
    """Paths of the images; one that is not there is missed now and not an hour later."""
    folder = FOLDERS[listed]
    there = {entry.name for entry in (root / folder).iterdir()}
    for row, name in enumerate(names):
        if name not in there:
            place = f"{root / folder}; unpack {folder}.zip of https://products-10k.github.io/ there"
            raise wrong_row(str(root / listed), row, f"there is no image {name!r} in {place}")
    return [f"{folder}/{name}" for name in names]
