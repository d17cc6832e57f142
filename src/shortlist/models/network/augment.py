"""Where the pixels of a training image come from: shifted, turned, mirrored, in one reading of the dataset.

The random numbers are arguments, so that an image is moved the same way on every device.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

import numpy as np
import numpy.typing as npt
import torch

from shortlist.types import Rng

SHIFT_X, SHIFT_Y, MIRROR, ANGLE = range(4)


@dataclass(frozen=True)
class Augmentation:
    """How far training images are moved; beyond their edges it is black."""

    shift: int = 4  # pixels: a random crop of the image with so many around it
    flip: bool = True
    rotation: float = 15.0  # degrees

    def draw(self, rng: Rng, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """(…, 4) numbers that say how images are moved.

        >>> Augmentation(rotation=0).draw(np.random.default_rng(0), (2,))
        array([[ 3.,  1., -1.,  0.],
               [ 0., -2., -1.,  0.]], dtype=float32)
        """
        moves = np.empty((*shape, 4), np.float32)
        moves[..., SHIFT_X:MIRROR] = rng.integers(-self.shift, self.shift + 1, (*shape, 2))
        moves[..., MIRROR] = rng.integers(0, 2, shape) * 2 - 1 if self.flip else 1
        turn = radians(self.rotation)
        moves[..., ANGLE] = rng.uniform(-turn, turn, shape) if turn else 0
        return moves


def moved(images: torch.Tensor, items: torch.Tensor, moves: torch.Tensor) -> torch.Tensor:
    """(b, H, W, 3) some of the images (N, H, W, 3), each moved by four numbers (b, 4): turned about its middle, then
    mirrored, then shifted, by the nearest pixel.

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
    found = images[items[:, None, None], at_y, at_x]
    return found * inside[..., None]


def _within(at: torch.Tensor, size: int) -> torch.Tensor:
    return (at >= 0) & (at <= size - 1)


def mixed(values: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Mix-up: each row with the one before it. Rows are in random order, so the pairs are too.

    >>> mixed(torch.tensor([[0.0], [4.0]]), torch.tensor(0.75))
    tensor([[1.],
            [3.]])
    """
    return share * values + (1 - share) * values.roll(1, dims=0)
