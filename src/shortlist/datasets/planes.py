"""Images as CIFAR and ImageNet64x64 store them: a row each, all of red, then all of green, then all of blue."""

from __future__ import annotations

from math import isqrt

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]


def from_planes(rows: Pixels, images: Pixels) -> None:
    """Fill images (n, side, side, 3) from rows (n, 3 · side²).

    >>> image = np.empty((1, 2, 2, 3), np.uint8)
    >>> from_planes(np.arange(12, dtype=np.uint8)[None], image)
    >>> image[0, 0].tolist()  # red, green, blue of two pixels
    [[0, 4, 8], [1, 5, 9]]
    """
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
    """Rows (n, 3 · side²) from images (n, side, side, 3).

    >>> to_planes(np.array([[[[1, 2, 3]]]], np.uint8))
    array([[1, 2, 3]], dtype=uint8)
    """
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)
