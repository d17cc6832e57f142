"""How an item is shown to the person who labels it: a picture, a text, or numbers."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.datasets.image_folder import as_rgb
from shortlist.types import Dataset, ShortlistError

SHOWN_BY_BROWSERS = {f".{kind}": f"image/{kind}" for kind in ("png", "jpeg", "webp", "gif", "bmp", "avif")}
SHOWN_BY_BROWSERS[".jpg"] = SHOWN_BY_BROWSERS[".jpeg"]
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "AVIF", "TIFF", "PPM")  # for one, PostScript is a program
MOST_NUMBERS = 512  # of a feature vector that are drawn


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


def picture(dataset: Dataset, position: int) -> tuple[bytes, str]:
    """The image's bytes and their media type; a file is sent as it is where browsers can show it."""
    if not 0 <= position < len(dataset.keys) or dataset.kind != "images":
        raise Unreadable(f"item {position}: there is no such picture")
    path: Path | None = dataset.file_of(position) if hasattr(dataset, "file_of") else None
    if path is None:
        return png(np.asarray(dataset.inputs[position])), "image/png"
    key = dataset.keys[position]
    try:
        if not path.is_file():  # a pipe or a device would be read for ever
            raise Unreadable(f"{key}: there is no such file any more")
        kind = SHOWN_BY_BROWSERS.get(path.suffix.lower()) if _is_inside(path, key) else None
        return (path.read_bytes(), kind) if kind else (_converted(path), "image/png")
    except OSError as error:
        raise Unreadable(f"{key}: cannot be read ({error.strerror})") from None


def _numbers(row: Any) -> list[float]:
    dense = row.toarray() if hasattr(row, "toarray") else row
    return [round(float(x), 6) for x in np.asarray(dense).ravel()[:MOST_NUMBERS]]


def _is_inside(path: Path, key: str) -> bool:
    """Whether a file lies in the dataset's folder. A link may lead to anything on this machine, so what it leads to is
    shown only if it is a picture, drawn anew: keys and passwords are none."""
    home = Path(str(path).removesuffix(key))
    return home != path and path.resolve().is_relative_to(home.resolve())


def _converted(path: Path) -> bytes:
    from PIL import Image, ImageOps

    try:
        with Image.open(path, formats=FORMATS) as image:
            out = io.BytesIO()
            as_rgb(ImageOps.exif_transpose(image)).save(out, "PNG")
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
