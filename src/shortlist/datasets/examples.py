"""Made-up images in the layouts of the image datasets, for tests and for trying a recipe without the real data.

Nothing of the real images is in them: a class is a pattern of colours in low frequencies, an item that pattern with
one of its own laid over it, and noise. How strong each is was set so that it matters what is labelled: with 100 classes
a logistic regression on every fourth pixel (C=1, max_iter=200) is right on 42%, 66%, 77%, 86% and 89% of 1,000 test
items after 200, 500, 1,000, 2,000 and 5,000 labels (seed 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shortlist.datasets.cifar import Cifar10, Cifar100, Layout
from shortlist.datasets.extra import require
from shortlist.datasets.glyphs import balanced
from shortlist.datasets.imagenet64 import TEST, TRAIN
from shortlist.datasets.location import OFFICIAL
from shortlist.datasets.pickled import dump
from shortlist.datasets.planes import Pixels, to_planes
from shortlist.types import Ints, ShortlistError

COARSE = 4  # points along each side of a pattern; in between it is interpolated
COLOUR = 40.0  # standard deviation of a pattern, in grey levels
OWN = 1.5  # an item's own pattern against its class's
GRAIN = 12.0  # standard deviation of the noise, in grey levels
MARK = "made-up.txt"  # lies in a folder whose files were made up, and may be made again

# The second number of a generator, after the seed; a split's images and labels have streams of their own.
PATTERNS, TRAIN_LABELS, TEST_LABELS, TRAIN_IMAGES, TEST_IMAGES = range(5)


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
    holds files which nobody made up is refused: they may be the real ones.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = write_example("cifar10", folder, items=50, test_items=10)
    ...     made.name, sorted(path.name for path in made.iterdir())[:2]
    ('cifar-10-batches-py', ['batches.meta', 'data_batch_1'])
    """
    if name not in EXAMPLES:
        raise ShortlistError(f"example: {name!r} is none of {', '.join(EXAMPLES)}")
    usual, most, write = EXAMPLES[name]
    occurring = usual if n_classes is None else n_classes
    if not 2 <= occurring <= most:
        raise ShortlistError(f"example: n_classes is {n_classes}; {name} has from 2 to {most}")
    for field, value in (("items", items), ("test_items", test_items)):
        if value < len(TRAIN):
            raise ShortlistError(f"example: {field} is {value}; it has to be at least {len(TRAIN)}, one for every file")
    home = claimed(Path(folder) / OFFICIAL[name])
    write(home, Maker(occurring, seed), items, test_items)
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


@dataclass(frozen=True)
class Maker:
    n_classes: int
    seed: int

    def train(self, n: int, side: int) -> tuple[Pixels, Ints]:
        labels = balanced(self.n_classes, n, self.seed, TRAIN_LABELS)
        return self._images(labels, side, TRAIN_IMAGES), labels

    def test(self, n: int, side: int) -> tuple[Pixels, Ints]:
        labels = balanced(self.n_classes, n, self.seed, TEST_LABELS)
        return self._images(labels, side, TEST_IMAGES), labels

    def _images(self, labels: Ints, side: int, stream: int) -> Pixels:
        """(n, side, side, 3)."""
        rng = np.random.default_rng([self.seed, PATTERNS])
        patterns = rng.standard_normal((self.n_classes, COARSE, COARSE, 3), np.float32)
        images = np.empty((len(labels), side, side, 3), np.uint8)
        for row, label in enumerate(labels):
            rng = np.random.default_rng([self.seed, stream, row])
            own = OWN * rng.standard_normal((COARSE, COARSE, 3), np.float32)
            grain = GRAIN * rng.standard_normal((side, side, 3), np.float32)
            images[row] = np.clip(128 + COLOUR * smooth(patterns[label] + own, side) + grain, 0, 255)
        return images


def smooth(pattern: npt.NDArray[np.float32], side: int) -> npt.NDArray[np.float32]:
    """(side, side, 3), interpolated between the points of a pattern (COARSE, COARSE, 3).

    >>> smooth(np.ones((4, 4, 3), np.float32), 8).mean()
    np.float32(1.0)
    """
    at = np.linspace(0, COARSE - 1, side, dtype=np.float32)[:, None]
    weights = np.maximum(0, 1 - np.abs(at - np.arange(COARSE, dtype=np.float32)))  # (side, COARSE), rows sum to 1
    across: npt.NDArray[np.float32] = np.tensordot(weights, pattern, 1)
    return np.tensordot(weights, across, (1, 1)).swapaxes(0, 1)


# --- layouts ---------------------------------------------------------------------------------------------------


def write_cifar10(home: Path, make: Maker, items: int, test_items: int) -> None:
    write_cifar(home, Cifar10.layout, make, items, test_items)


def write_cifar100(home: Path, make: Maker, items: int, test_items: int) -> None:
    write_cifar(home, Cifar100.layout, make, items, test_items)


def write_cifar(home: Path, layout: Layout, make: Maker, items: int, test_items: int) -> None:
    images, labels = make.train(items, 32)
    for name, rows in zip(layout.train, np.array_split(np.arange(items), len(layout.train)), strict=True):
        write_batch(home / name, layout, images[rows], labels[rows])
    write_batch(home / layout.test, layout, *make.test(test_items, 32))
    names = [f"made-up {c}".encode() for c in range(layout.n_classes)]
    (home / layout.meta).write_bytes(dump({layout.names.encode(): names}))


def write_batch(path: Path, layout: Layout, images: Pixels, labels: Ints) -> None:
    content: dict[bytes, object] = {
        b"batch_label": b"made up: " + path.name.encode(),
        b"data": to_planes(images),
        layout.labels.encode(): labels.tolist(),
        b"filenames": [f"made_up_{row:06d}.png".encode() for row in range(len(labels))],
    }
    path.write_bytes(dump(content))


def write_imagenet64(home: Path, make: Maker, items: int, test_items: int) -> None:
    for files, (images, labels) in ((TRAIN, make.train(items, 64)), (TEST, make.test(test_items, 64))):
        mean = to_planes(images).mean(0)
        for name, rows in zip(files, np.array_split(np.arange(len(labels)), len(files)), strict=True):
            np.savez(home / name, data=to_planes(images[rows]), labels=labels[rows] + 1, mean=mean)


def write_products10k(home: Path, make: Maker, items: int, test_items: int) -> None:
    require("PIL", extra="images")
    images, labels = make.train(items, 64)
    lines = [f"{write_jpeg(home / 'train', row, images[row])},{c},{c // 30}\n" for row, c in enumerate(labels)]
    (home / "train.csv").write_text("name,class,group\n" + "".join(lines))
    images, labels = make.test(test_items, 64)
    lines = [f"{write_jpeg(home / 'test', row, images[row])},{c},{c // 30},Public\n" for row, c in enumerate(labels)]
    (home / "test_kaggletest.csv").write_text("name,class,group,Usage\n" + "".join(lines))


def write_jpeg(folder: Path, row: int, image: Pixels) -> str:
    from PIL import Image

    folder.mkdir(exist_ok=True)
    Image.fromarray(image).save(folder / f"{row + 1}.jpg", quality=90)
    return f"{row + 1}.jpg"


Write = Callable[[Path, Maker, int, int], None]
EXAMPLES: dict[str, tuple[int, int, Write]] = {  # classes if nobody says how many, and at most
    "cifar10": (10, 10, write_cifar10),
    "cifar100": (100, 100, write_cifar100),
    "imagenet64": (1000, 1000, write_imagenet64),
    "products10k": (200, 9691, write_products10k),
}
