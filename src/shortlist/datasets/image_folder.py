"""Images in a folder, one sub folder per class or in any order."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shortlist.datasets.arrays import Arrays, Deferred
from shortlist.datasets.classes import Names, class_list
from shortlist.system.extras import require
from shortlist.system.progress import track
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 100_000_000  # of an image as it is decoded: a file of some kilobytes may hold a thousand times more
LARGE = 1 << 25  # pixels from which on images are decoded one at a time: each takes several hundred megabytes
_large = threading.Lock()

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".avif"})


class ImageFolder(Arrays):
    """`folder/CLASS/image.png`: keys are relative paths; images in the folder itself are items without a label.

    With `classes`, names or a file or folder that has them, images may lie at any depth and have no label; with
    `folder_labels` too, the folder that an image lies in is its label if it is named after a class. `keys`, a file of
    paths or the paths, are the images to take; without, all.

    Keys and labels are there at once; the files are read at the first touch of `.inputs`: the square in the middle
    of each, resized to (size, size, 3). A file that cannot be read is refused, or, with `strict=False`, left black and
    remembered in `.unreadable`, by key and with the reason. `remembered` are images that were there before: those that
    are gone stay items, which cannot be read.

    Parameters
    ----------
    folder : where the images are.
    size : of a picture once it is read, in pixels.
    test : a folder like it, to measure accuracy on.
    classes, keys, folder_labels, strict, remembered : as above.
    descriptions : by name of a class, a text for people and for models that read; also from `classes`.

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

    def __init__(
        self,
        folder: str | Path,
        *,
        size: int = 32,
        test: str | Path | None = None,
        classes: Iterable[str] | str | Path | None = None,
        keys: Iterable[str] | str | Path | None = None,
        folder_labels: bool = False,
        strict: bool = True,
        remembered: Sequence[str] = (),
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        require("PIL", extra="images")
        if size < 1:
            raise ShortlistError(f"image_folder: size is {size}; it has to be at least 1 pixel")
        self._root = root = Path(folder)
        there = image_keys(root, nested=classes is not None)
        taken = with_remembered(there if keys is None else listed_keys(keys, there, root), remembered, root)
        known = class_list(class_folders(root) if classes is None else classes).described(descriptions)
        names = known.names
        test_inputs, test_labels = (None, None) if test is None else test_split(Path(test), names, size)
        self.unreadable: dict[str, str] = {}  # filled when `inputs` are read
        super().__init__(
            deferred_images(root, taken, size, None if strict else self.unreadable),
            labels_of(taken, names, root, folder_labels) if classes is not None else [class_of(key) for key in taken],
            classes=known,
            keys=taken,
            test_inputs=test_inputs,
            test_labels=test_labels,
            name="image_folder",
        )
        self._rebuilt_from(
            folder=folder,
            size=size,
            test=test,
            classes=None if classes is None else list(names),
            keys=keys if keys is None or isinstance(keys, str | Path) else taken,
            folder_labels=folder_labels or None,
            strict=None if strict else False,
        )

    def file_of(self, position: int) -> Path:
        """Where an image lies, for people: they see all of it, not what a model is given."""
        return self._root / self.keys[position]


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


def image_keys(root: Path, *, nested: bool = False) -> list[str]:
    """Paths relative to the folder, sorted as text so that every machine gives the same order.

    Images lie in the folder and its sub folders; if `nested`, at any depth, and links to folders are not followed.
    """
    refuse_no_folder(root)
    folders = visible_folders(root) if nested else [root, *(root / name for name in class_folders(root))]
    images = (entry for folder in folders for entry in visible(folder) if entry.suffix.lower() in SUFFIXES)
    keys = sorted(image.relative_to(root).as_posix() for image in images if not image.is_dir())
    if not keys:
        expected = f"; expected {root / 'CLASS' / 'image.png'} and the like"
        anywhere = f", nor in its folders ({', '.join(sorted(SUFFIXES))})"
        raise ShortlistError(f"{root}: there are no images in it{anywhere if nested else expected}")
    return keys


def refuse_no_folder(root: Path) -> None:
    if not root.is_dir():
        raise ShortlistError(f"{root}: there is no such folder")


def visible_folders(root: Path) -> Iterator[Path]:
    for folder, below, _ in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        yield Path(folder)


def listed_keys(wanted: Iterable[str] | str | Path, there: Sequence[str], root: Path) -> list[str]:
    """The wanted keys; one that is not there is refused now and not an hour later."""
    listed = Names.read(wanted) if isinstance(wanted, str | Path) else Names("keys", tuple(wanted), "entry", 1)
    keys, known = listed.distinct("key"), set(there)
    for index, key in enumerate(keys):
        if key not in known:
            raise ShortlistError(f"{listed.at(index)}: there is no image {key!r} in {root}")
    if not keys:
        raise ShortlistError(f"{listed.place}: there are no names in it; write the path of one image a line")
    return list(keys)


def labels_of(keys: Sequence[str], classes: Sequence[str], root: Path, wanted: bool) -> list[str | None]:
    """By the folder that an image lies in, if that is wanted."""
    if not wanted:
        return [None] * len(keys)
    folders, names = [Path(key).parent.name for key in keys], set(classes)
    if names.isdisjoint(folders):
        others = ", ".join(repr(name) for name in sorted(set(folders) - {""})[:5]) or "none at all"
        raise ShortlistError(
            f"{root}: no folder with images is named after one of the {len(classes)} classes ({classes[0]!r}, …); "
            f"there are {others}"
        )
    return [folder if folder in names else None for folder in folders]


def visible(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if not entry.name.startswith(".")]


def with_remembered(keys: list[str], remembered: Sequence[str], root: Path) -> list[str]:
    """The keys, and those that were there before; refused where most of them are gone, as in another folder."""
    lost = sorted(set(remembered) - set(keys))
    if 2 * len(lost) > len(remembered):
        raise ShortlistError(
            f"{root}: {len(lost)} of the {len(remembered)} images that were here before are gone, first {lost[0]!r}; "
            "put them back, or correct where the folder is"
        )
    return sorted([*keys, *lost]) if lost else keys


def class_of(key: str) -> str | None:
    """The folder of an image, `cat` of `cat/1.png`; None for `1.png`."""
    folder, slash, _ = key.partition("/")
    return folder if slash else None


# --- pixels ----------------------------------------------------------------------------------------------------


def deferred_images(root: Path, keys: Sequence[str], size: int, unreadable: dict[str, str] | None = None) -> Deferred:
    return Deferred(lambda: read_images(root, keys, size, unreadable), (len(keys), size, size, 3))


def read_images(root: Path, keys: Sequence[str], size: int, unreadable: dict[str, str] | None) -> npt.NDArray[np.uint8]:
    """(N, size, size, 3). Threads are enough: Pillow lets go of the interpreter while it decodes."""
    images = np.zeros((len(keys), size, size, 3), np.uint8)
    with ThreadPoolExecutor() as pool:
        decoded = pool.map(lambda key: read_or_refused(root / key, size), keys)
        try:
            for row, image in enumerate(track(decoded, total=len(keys), what="reading images")):
                if not isinstance(image, ShortlistError):
                    images[row] = np.asarray(image)
                elif unreadable is None:
                    raise image
                else:
                    unreadable[keys[row]] = str(image).removeprefix(f"{root / keys[row]}: ")
        except BaseException:  # a bad file or Ctrl-C: do not wait for the other million files
            pool.shutdown(cancel_futures=True)
            raise
    return images


def read_or_refused(path: Path, size: int) -> Image | ShortlistError:
    try:
        return squared(upright(path, size), size)
    except ShortlistError as refused:
        return refused


def header_problem(path: Path) -> str | None:
    """Why a file is no image, from its first bytes: quick, and blind to what is broken further on."""
    from PIL import Image

    try:
        refuse_special(path)
        Image.open(path).close()
    except Exception as error:  # as in upright
        return f"{path}: cannot be read as an image: {error}"
    return None


def upright(path: Path, size: int) -> Image:
    """An image file in three channels, turned as its camera was held; large enough to be scaled down to `size`."""
    from PIL import Image, ImageOps

    try:
        refuse_special(path)
        with Image.open(path) as image:
            image.draft(None, (2 * size, 2 * size))  # a JPEG is decoded near the size that is needed
            with affordable(image):
                return as_rgb(ImageOps.exif_transpose(image))
    except Exception as error:  # Pillow's decoders raise many types for a broken file; each means the same here
        raise ShortlistError(f"{path}: cannot be read as an image: {error}") from error


@contextmanager
def affordable(image: Image) -> Iterator[None]:
    """The time in which an image is decoded: refused where it has too many pixels, alone where it has many."""
    pixels = image.width * image.height
    if pixels > MOST_PIXELS:
        most = f"at most {MOST_PIXELS / 1e6:.0f} million are read"
        raise ShortlistError(f"it has {pixels / 1e6:.0f} million pixels, and {most}; scale it down")
    with _large if pixels > LARGE else nullcontext():
        yield


def refuse_special(path: Path) -> None:
    """A pipe would be waited for, and a device read, for ever."""
    if path.exists() and not path.is_file():
        raise ShortlistError("is no ordinary file")


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
