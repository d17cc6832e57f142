"""Images in a folder, one sub folder per class."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.deferred import Deferred
from shortlist.datasets.extra import require
from shortlist.datasets.progress import track
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".avif"})


class ImageFolder(Arrays):
    """`folder/CLASS/image.png`: keys are relative paths; images in the folder itself are items without a label.

    Keys and labels are there at once; the files are read at the first touch of `.inputs`: the square in the middle
    of each, resized to (size, size, 3).

    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as folder:
    ...     for name in ["cat/1.png", "dog/1.png", "new.png"]:
    ...         (Path(folder) / name).parent.mkdir(exist_ok=True)
    ...         Image.new("RGB", (60, 40), "red").save(Path(folder) / name)
    ...     pets = ImageFolder(folder, size=16)
    ...     pets.keys, pets.labels, pets.inputs.shape
    (('cat/1.png', 'dog/1.png', 'new.png'), array([ 0,  1, -1]), (3, 16, 16, 3))
    """

    def __init__(self, folder: str | Path, *, size: int = 32, test: str | Path | None = None) -> None:
        require("PIL", extra="images")
        if size < 1:
            raise ShortlistError(f"image_folder: size is {size}; it has to be at least 1 pixel")
        root = Path(folder)
        keys, classes = image_keys(root), class_folders(root)
        test_inputs, test_labels = (None, None) if test is None else test_split(Path(test), classes, size)
        super().__init__(
            deferred_images(root, keys, size),
            [class_of(key) for key in keys],
            classes=classes,
            keys=keys,
            test_inputs=test_inputs,
            test_labels=test_labels,
            name="image_folder",
        )
        self._options = {"folder": str(folder), "size": size} | ({} if test is None else {"test": str(test)})

    def spec(self) -> dict[str, object]:
        return {"name": "image_folder", **self._options}


def test_split(root: Path, classes: Sequence[str], size: int) -> tuple[Deferred, list[str | None]]:
    keys = image_keys(root)
    for key in keys:
        if class_of(key) is None:
            raise ShortlistError(f"{root / key}: a test image has to be in the folder of its class")
        if class_of(key) not in classes:
            raise ShortlistError(f"{root / key}: the training folder has no class {class_of(key)!r}")
    return deferred_images(root, keys, size), [class_of(key) for key in keys]


# --- what is there ---------------------------------------------------------------------------------------------


def class_folders(root: Path) -> list[str]:
    return sorted(entry.name for entry in visible(root) if entry.is_dir())


def image_keys(root: Path) -> list[str]:
    """Paths relative to the folder, sorted as text so that every machine gives the same order."""
    if not root.is_dir():
        raise ShortlistError(f"{root}: there is no such folder")
    folders = [root, *(root / name for name in class_folders(root))]
    keys = sorted(
        entry.relative_to(root).as_posix() for folder in folders for entry in visible(folder) if is_image(entry)
    )
    if not keys:
        raise ShortlistError(f"{root}: there are no images in it; expected {root / 'CLASS' / 'image.png'} and the like")
    return keys


def visible(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if not entry.name.startswith(".")]


def is_image(entry: Path) -> bool:
    return entry.suffix.lower() in SUFFIXES and not entry.is_dir()


def class_of(key: str) -> str | None:
    """
    >>> class_of("cat/1.png"), class_of("1.png")
    ('cat', None)
    """
    folder, slash, _ = key.partition("/")
    return folder if slash else None


# --- pixels ----------------------------------------------------------------------------------------------------


def deferred_images(root: Path, keys: Sequence[str], size: int) -> Deferred:
    paths = [root / key for key in keys]
    return Deferred(lambda: read_images(paths, size), shape=(len(paths), size, size, 3), dtype=np.uint8)


def read_images(paths: Sequence[Path], size: int) -> npt.NDArray[np.uint8]:
    """(N, size, size, 3). Threads are enough: Pillow lets go of the interpreter while it decodes."""
    images = np.empty((len(paths), size, size, 3), np.uint8)
    with ThreadPoolExecutor() as pool:
        decoded = pool.map(lambda path: read_image(path, size), paths)
        try:
            for row, image in enumerate(track(decoded, total=len(paths), what="reading images")):
                images[row] = image
        except BaseException:  # a bad file or Ctrl-C: nobody should wait for the other million files
            pool.shutdown(cancel_futures=True)
            raise
    return images


def read_image(path: Path, size: int) -> npt.NDArray[np.uint8]:
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            image.draft(None, (2 * size, 2 * size))  # a JPEG is decoded near the size that is needed
            upright = ImageOps.exif_transpose(image)
            return np.asarray(squared(as_rgb(upright), size))
    except Exception as error:  # Pillow's decoders raise many types for a broken file; each means the same here
        raise ShortlistError(f"{path}: cannot be read as an image: {error}") from error


def as_rgb(image: Image) -> Image:
    """Three channels: transparency on white, 16-bit grey to 8 bits (convert alone would clip it)."""
    from PIL import Image as pillow

    if image.mode.startswith("I"):
        return pillow.fromarray(np.clip(np.asarray(image) // 256, 0, 255).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    return pillow.alpha_composite(pillow.new("RGBA", layer.size, "white"), layer).convert("RGB")


def squared(image: Image, size: int) -> Image:
    from PIL.Image import Resampling

    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    # Cropped first: resize(box=...) alone would let pixels beyond the crop bleed in at its edges.
    square = image.crop((left, top, left + side, top + side))
    return square.resize((size, size), Resampling.LANCZOS, reducing_gap=3.0)
