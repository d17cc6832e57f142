"""How an item is shown to the person who labels it: a picture, a text, or numbers."""

from __future__ import annotations

import asyncio
import io
import struct
import zlib
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from shortlist.datasets.image_folder import affordable, as_rgb
from shortlist.types import Dataset, ShortlistError

SHOWN_BY_BROWSERS = {f".{kind}": f"image/{kind}" for kind in ("png", "jpeg", "webp", "gif", "bmp", "avif")}
SHOWN_BY_BROWSERS[".jpg"] = SHOWN_BY_BROWSERS[".jpeg"]
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "AVIF", "TIFF", "PPM")  # for one, PostScript is a program
EDGE = 4096  # pixels of a side that is drawn anew, at most
MOST_NUMBERS = 512  # of a feature vector that are drawn


Picture: TypeAlias = tuple[bytes, str]  # and their media type


class Unreadable(ShortlistError):
    """The item cannot be shown."""


def view(dataset: Dataset, position: int) -> dict[str, Any]:
    """The JSON from which a page shows an item."""
    key = dataset.keys[position]
    if dataset.kind == "images":
        return {"key": key, "kind": "image", "src": f"/api/items/{position}"}
    if dataset.kind == "texts":
        return {"key": key, "kind": "text", "text": str(dataset.inputs[position])}
    return {"key": key, "kind": "features", "values": _numbers(dataset.inputs[position])}


class Pictures:
    """An item's picture for whoever looks at it: its bytes and their media type.

    A file is sent as it is where browsers can show it. Others are drawn anew, a few at a time, each once for all who
    ask meanwhile, and those asked for last are kept.
    """

    def __init__(self, dataset: Dataset, *, at_once: int = 2, most: int = 64 << 20) -> None:  # bytes kept
        self.dataset, self.most = dataset, most
        self._drawers = ThreadPoolExecutor(at_once, "pictures")
        self._drawing: dict[int, asyncio.Task[Picture]] = {}
        self._kept: OrderedDict[int, Picture] = OrderedDict()

    async def of(self, position: int) -> Picture:
        if picture := self._kept.get(position):
            self._kept.move_to_end(position)
            return picture
        if picture := await asyncio.to_thread(_as_it_is, self.dataset, position):
            return picture
        drawing = self._drawing.get(position)
        if drawing is None:
            drawing = self._drawing[position] = asyncio.create_task(self._drawn(position))
        return await asyncio.shield(drawing)  # who goes away takes it from nobody else

    async def _drawn(self, position: int) -> Picture:
        try:
            drawn = asyncio.get_running_loop().run_in_executor(self._drawers, _drawn, self.dataset, position)
            picture = self._kept[position] = await drawn
        finally:
            del self._drawing[position]
        while sum(len(data) for data, _ in self._kept.values()) > self.most:
            self._kept.popitem(last=False)
        return picture


def _as_it_is(dataset: Dataset, position: int) -> Picture | None:
    """The file, if there is one that browsers show."""
    if not 0 <= position < len(dataset.keys) or dataset.kind != "images":
        raise Unreadable(f"item {position}: there is no such picture")
    if not hasattr(dataset, "file_of"):
        return None
    path, key = dataset.file_of(position), dataset.keys[position]
    try:
        if not path.is_file():  # a pipe or a device would be read for ever
            raise Unreadable(f"{key}: there is no such file any more")
        kind = SHOWN_BY_BROWSERS.get(path.suffix.lower()) if _is_inside(path, key) else None
        return (path.read_bytes(), kind) if kind else None
    except OSError as error:
        raise Unreadable(f"{key}: cannot be read ({error.strerror})") from None


def _drawn(dataset: Dataset, position: int) -> Picture:
    drawn = redrawn(dataset.file_of(position)) if hasattr(dataset, "file_of") else png(dataset.inputs[position])
    return drawn, "image/png"


def _numbers(row: Any) -> list[float]:
    dense = row.toarray() if hasattr(row, "toarray") else row
    return [round(float(x), 6) for x in np.asarray(dense).ravel()[:MOST_NUMBERS]]


def _is_inside(path: Path, key: str) -> bool:
    """Whether a file lies in the dataset's folder. A link may lead to anything on this machine, so what it leads to is
    shown only if it is a picture, drawn anew: keys and passwords are none."""
    home = Path(str(path).removesuffix(key)).resolve()
    file = path.resolve()
    is_inside = file.is_relative_to(home) and home != file
    if any(part.startswith(".") for part in (file.relative_to(home).parts if is_inside else [file.name])):
        raise Unreadable(f"{key}: it leads to a hidden file, and those are not shown")
    return is_inside


def redrawn(path: Path, edge: int = EDGE) -> bytes:
    """A PNG of a picture in a file, no side longer than `edge`; of anything else a refusal."""
    from PIL import Image, ImageOps

    try:
        with Image.open(path, formats=FORMATS) as image, affordable(image):
            shown = as_rgb(ImageOps.exif_transpose(image))
        shown.thumbnail((edge, edge))
        out = io.BytesIO()
        shown.save(out, "PNG")
    except ShortlistError as error:
        raise Unreadable(f"{path.name}: {error}") from None
    except Exception as error:  # Pillow's decoders raise many types for a broken file; each means the same here
        raise Unreadable(f"{path.name}: cannot be read as an image") from error  # Pillow's words have the whole path
    return out.getvalue()


def png(image: Any) -> bytes:
    """A PNG of uint8 pixels, (H, W) or (H, W, 3).

    >>> png(np.zeros((2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    pixels = np.ascontiguousarray(image, np.uint8)
    height, width = pixels.shape[:2]
    colours = 2 if pixels.ndim == 3 else 0
    rows = pixels.reshape(height, -1)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()  # each row says: not filtered
    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(raw, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
