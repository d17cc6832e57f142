"""Made-up images in the layouts of the image datasets, for tests and for trying a recipe without the real data.

Nothing of the real images is in them: a class is a pattern of colours in low frequencies, an item that pattern with
one of its own laid over it, and noise. How strong each is was set so that it matters what is labelled: with 100 classes
a logistic regression on every fourth pixel (C=1, max_iter=200) is right on 42%, 66%, 77%, 86% and 89% of 1,000 test
items after 200, 500, 1,000, 2,000 and 5,000 labels (seed 0).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.datasets import OFFICIAL
from shortlist.datasets.builtin.glyphs import balanced
from shortlist.datasets.official.cifar import Cifar10, Cifar100, Layout, Pixels, to_planes
from shortlist.datasets.official.imagenet64 import TEST, TRAIN
from shortlist.system.extras import require
from shortlist.types import Ints, ShortlistError

COARSE = 4  # points along each side of a pattern; in between it is interpolated
COLOUR = 40.0  # standard deviation of a pattern, in grey levels
OWN = 1.5  # an item's own pattern against its class's
GRAIN = 12.0  # standard deviation of the noise, in grey levels
MARK = "made-up.txt"  # lies in a folder whose files were made up, and may be made again

# The second number of a generator, after the seed; a split's images and labels have streams of their own.
PATTERNS, TRAIN_STREAMS, TEST_STREAMS = 0, (1, 3), (2, 4)


def write_example(
    name: str,
    folder: str | Path,
    *,
    n_classes: int | None = None,
    items: int = 2000,
    test_items: int = 500,
    seed: int = 0,
) -> Path:
    """Write made-up items of a dataset into `folder`; gives the folder in it that the dataset's class reads.

    `n_classes` is how many classes occur: all that there are, or 200 of Products-10K, if it is left out. A folder that
    holds any other files is refused: they may be the real ones.
    """
    if name not in EXAMPLES:
        raise ShortlistError(f"example: {name!r} is none of {', '.join(EXAMPLES)}")
    usual, most, side, write = EXAMPLES[name]
    occurring = usual if n_classes is None else n_classes
    if not 2 <= occurring <= most:
        raise ShortlistError(f"example: n_classes is {n_classes}; {name} has from 2 to {most}")
    for field, value in (("items", items), ("test_items", test_items)):
        if value < len(TRAIN):
            raise ShortlistError(f"example: {field} is {value}; it has to be at least {len(TRAIN)}, one for every file")
    home = claimed(Path(folder) / OFFICIAL[name])
    train = made_up(occurring, items, side, seed, TRAIN_STREAMS)
    write(home, train, made_up(occurring, test_items, side, seed, TEST_STREAMS))
    return home


def claimed(folder: Path) -> Path:
    """A folder for made-up files and nothing else: a new or an empty one, or one that this has marked before."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / MARK).exists():
        if any(folder.iterdir()):
            raise ShortlistError(f"{folder}: holds files that were not made up, and nothing is written over them")
        (folder / MARK).write_text("Everything in this folder was made up by Shortlist, and may be written anew.\n")
    return folder


# --- items -----------------------------------------------------------------------------------------------------


Items: TypeAlias = tuple[Pixels, Ints]  # images (n, side, side, 3) and labels (n,)


def made_up(n_classes: int, n: int, side: int, seed: int, streams: tuple[int, int]) -> Items:
    labels_stream, images_stream = streams
    labels = balanced(n_classes, n, seed, labels_stream)
    patterns = np.random.default_rng([seed, PATTERNS]).standard_normal((n_classes, COARSE, COARSE, 3), np.float32)
    images = np.empty((n, side, side, 3), np.uint8)
    for row, label in enumerate(labels):
        rng = np.random.default_rng([seed, images_stream, row])
        own = OWN * rng.standard_normal((COARSE, COARSE, 3), np.float32)
        grain = GRAIN * rng.standard_normal((side, side, 3), np.float32)
        images[row] = np.clip(128 + COLOUR * smooth(patterns[label] + own, side) + grain, 0, 255)
    return images, labels


def smooth(pattern: npt.NDArray[np.float32], side: int) -> npt.NDArray[np.float32]:
    """(side, side, 3), interpolated between the points of a pattern (COARSE, COARSE, 3)."""
    at = np.linspace(0, COARSE - 1, side, dtype=np.float32)[:, None]
    weights = np.maximum(0, 1 - np.abs(at - np.arange(COARSE, dtype=np.float32)))  # (side, COARSE), rows sum to 1
    across: npt.NDArray[np.float32] = np.tensordot(weights, pattern, 1)
    return np.tensordot(weights, across, (1, 1)).swapaxes(0, 1)


# --- layouts ---------------------------------------------------------------------------------------------------


def write_cifar(layout: Layout, home: Path, train: Items, test: Items) -> None:
    for files, (images, labels) in ((layout.train, train), ((layout.test,), test)):
        for name, rows in zip(files, np.array_split(np.arange(len(labels)), len(files)), strict=True):
            content: dict[bytes, object] = {
                b"batch_label": b"made up: " + name.encode(),
                b"data": to_planes(images[rows]),
                layout.labels.encode(): labels[rows].tolist(),
                b"filenames": [f"made_up_{row:06d}.png".encode() for row in range(len(rows))],
            }
            (home / name).write_bytes(pickle.dumps(content, 2))
    names = [f"made-up {c}".encode() for c in range(layout.n_classes)]
    (home / layout.meta).write_bytes(pickle.dumps({layout.names.encode(): names}, 2))


def write_imagenet64(home: Path, train: Items, test: Items) -> None:
    for files, (images, labels) in ((TRAIN, train), (TEST, test)):
        mean = to_planes(images).mean(0)
        for name, rows in zip(files, np.array_split(np.arange(len(labels)), len(files)), strict=True):
            np.savez(home / name, data=to_planes(images[rows]), labels=labels[rows] + 1, mean=mean)


def write_products10k(home: Path, train: Items, test: Items) -> None:
    require("PIL", extra="images")
    from PIL import Image

    lists = {"train.csv": (train, "train", "name,class,group", "")}
    lists["test_kaggletest.csv"] = (test, "test", "name,class,group,Usage", ",Public")
    for name, ((images, labels), folder, header, usage) in lists.items():
        (home / folder).mkdir(exist_ok=True)
        for row, image in enumerate(images):
            Image.fromarray(image).save(home / folder / f"{row + 1}.jpg", quality=90)
        lines = [f"{row + 1}.jpg,{c},{c // 30}{usage}\n" for row, c in enumerate(labels)]
        (home / name).write_text(f"{header}\n" + "".join(lines))


Write = Callable[[Path, Items, Items], None]
EXAMPLES: dict[str, tuple[int, int, int, Write]] = {  # classes by default, and at most; the side of an image
    "cifar10": (10, 10, 32, partial(write_cifar, Cifar10.layout)),
    "cifar100": (100, 100, 32, partial(write_cifar, Cifar100.layout)),
    "imagenet64": (1000, 1000, 64, write_imagenet64),
    "products10k": (200, 9691, 64, write_products10k),
}
