"""Images (N, H, W, 3) uint8 as a network sees them."""

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
    """A dataset's images on a device, and what makes its colours have mean 0 and deviation 1."""

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
    """The images there, or a sentence that says how much room they want."""
    try:
        return torch.from_numpy(images).to(device)
    except torch.OutOfMemoryError:
        free = torch.cuda.mem_get_info(device)[0]
        raise ShortlistError(
            f"device: the {len(images):,} images take {images.nbytes / 1e9:.1f} GB, {device} has {free / 1e9:.1f} GB "
            "free; make them smaller (a dataset's size=…), take fewer (items=…), or use a device with more memory"
        ) from None


def coloured(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(N, H, W, 3): grey images get three equal channels.

    >>> coloured(np.zeros((2, 4, 5), np.uint8)).shape
    (2, 4, 5, 3)
    """
    if images.ndim == 4:
        return np.ascontiguousarray(images)
    return np.repeat(images[..., None], 3, axis=3)
