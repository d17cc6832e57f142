"""The pictures of a study as PNG files in memory, so that a study needs its dataset only once, when it is made."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shortlist.datasets.extra import require
from shortlist.datasets.image_folder import ImageFolder, as_rgb
from shortlist.types import Dataset, ShortlistError

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 512  # the longer side of a photograph, in pixels


def pictures(dataset: Dataset, positions: Sequence[int]) -> list[bytes]:
    """PNG of each item. A folder's photographs are shown whole, not cut to the square that a model sees."""
    require("PIL", extra="images")
    if isinstance(dataset, ImageFolder):
        root = Path(str(dataset.spec()["folder"]))
        return [_png(photograph(root / dataset.keys[i])) for i in positions]
    if dataset.kind != "images":
        raise ShortlistError(f"{dataset.name}: its items are {dataset.kind}; a study shows images")
    from PIL import Image

    return [_png(Image.fromarray(np.asarray(dataset.inputs[i]))) for i in positions]


def photograph(path: Path) -> Image:
    """Upright, at most SIDE pixels long, and without what a camera writes into its files."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            image.draft(None, (2 * SIDE, 2 * SIDE))  # a JPEG is decoded near the size that is needed
            shown = as_rgb(ImageOps.exif_transpose(image))
    except Exception as error:  # Pillow's decoders raise many types for a broken file; each means the same here
        raise ShortlistError(f"{path}: cannot be read as an image: {error}") from error
    shown.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    shown.info.clear()
    return shown


def _png(image: Image) -> bytes:
    file = BytesIO()
    image.save(file, "png")
    return file.getvalue()
