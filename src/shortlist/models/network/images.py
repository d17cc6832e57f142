"""Images (N, H, W, 3) uint8 on a device: standardised, and for training shifted, turned, mirrored and mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch

from shortlist.types import ShortlistError

SOME = 10_000  # images whose colours are measured


@dataclass(frozen=True)
class Pixels:
    """A dataset's images on a device, and what gives their colours mean 0 and deviation 1."""

    images: torch.Tensor  # (N, H, W, 3) uint8
    mean: torch.Tensor  # (3,) in 0..255
    scale: torch.Tensor  # (3,)

    @classmethod
    def of(cls, images: torch.Tensor) -> Self:
        """
        >>> pixels = Pixels.of(torch.tensor([[0, 100, 7], [200, 100, 7]], dtype=torch.uint8).reshape(2, 1, 1, 3))
        >>> pixels.seen(pixels.images).flatten().round(decimals=2).tolist()
        [-1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        """
        some = images[:: max(1, len(images) // SOME)].reshape(-1, images.shape[-1]).float()
        return cls(images, some.mean(dim=0), 1 / some.std(dim=0, correction=0).clamp(min=1))

    def seen(self, images: torch.Tensor) -> torch.Tensor:
        """(n, 3, H, W), channels last in memory, of images (n, H, W, 3)."""
        return ((images.float() - self.mean) * self.scale).permute(0, 3, 1, 2)


def on_device(images: npt.NDArray[np.uint8], device: torch.device) -> torch.Tensor:
    """The images on the device; where they do not fit, the message says how much memory they need."""
    try:
        return torch.from_numpy(images).to(device)
    except torch.OutOfMemoryError:
        free = torch.cuda.mem_get_info(device)[0]
        raise ShortlistError(
            f"device: the {len(images):,} images take {images.nbytes / 1e9:.1f} GB, {device} has {free / 1e9:.1f} GB "
            "free; make them smaller (a dataset's size=…), take fewer (items=…), or use a device with more memory"
        ) from None


def coloured(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(N, H, W, 3): grey images get three equal channels."""
    if images.ndim == 4:
        return np.ascontiguousarray(images)
    return np.repeat(images[..., None], 3, axis=3)


# --- where the pixels of a training image come from ----------------------------------------------------------------


SHIFT_X, SHIFT_Y, MIRROR, ANGLE = range(4)


def moved(images: torch.Tensor, items: torch.Tensor, moves: torch.Tensor) -> torch.Tensor:
    """(b, H, W, 3) some of the images (N, H, W, 3), each moved by four numbers (b, 4): turned about its middle, then
    mirrored, then shifted, by the nearest pixel; beyond its edges it is black. The same on every device.

    >>> row = torch.arange(4, dtype=torch.uint8).reshape(1, 1, 4, 1)
    >>> shifted, mirrored = moved(row, torch.tensor([0, 0]), torch.tensor([[1.0, 0, 1, 0], [0, 0, -1, 0]]))
    >>> shifted.flatten().tolist(), mirrored.flatten().tolist()
    ([1, 2, 3, 0], [3, 2, 1, 0])
    """
    height, width = images.shape[1:3]
    y = torch.arange(height, device=images.device, dtype=torch.float32)[:, None] - (height - 1) / 2
    x = torch.arange(width, device=images.device, dtype=torch.float32) - (width - 1) / 2
    cos, sin = moves[:, ANGLE].cos()[:, None, None], moves[:, ANGLE].sin()[:, None, None]
    turned_y = (y * cos - x * sin + (height - 1) / 2).round()
    turned_x = (y * sin + x * cos + (width - 1) / 2).round()
    inside = _within(turned_y, height) & _within(turned_x, width)
    middle = (width - 1) / 2
    from_x = (turned_x - middle) * moves[:, MIRROR, None, None] + middle + moves[:, SHIFT_X, None, None]
    from_y = turned_y + moves[:, SHIFT_Y, None, None]
    inside = inside & _within(from_y, height) & _within(from_x, width)
    at_y, at_x = (c.clamp(0, n - 1).to(torch.int64) for c, n in ((from_y, height), (from_x, width)))
    return images[items[:, None, None], at_y, at_x] * inside[..., None]


def _within(at: torch.Tensor, size: int) -> torch.Tensor:
    return (at >= 0) & (at <= size - 1)


def mixed(values: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Mix-up: each row with the one before it. Rows are in random order, so the pairs are too.

    >>> mixed(torch.tensor([[0.0], [4.0]]), torch.tensor(0.75))
    tensor([[1.],
            [3.]])
    """
    return share * values + (1 - share) * values.roll(1, dims=0)
