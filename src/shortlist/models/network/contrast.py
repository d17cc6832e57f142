"""A network that learns without labels: two views of an image are to be alike, and unlike those of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.network.trainer import StepTrainer
from shortlist.models.network.training import DRAWN_TOGETHER, Training
from shortlist.models.torch_runtime import precision
from shortlist.system.arrays import blocks
from shortlist.types import Ints, Rng

WEIGHT_DECAY = 1e-4
WARM_UP = 0.05  # share of the steps in which the rate rises; then it falls along a cosine


def nt_xent(projections: torch.Tensor, temperature: float) -> torch.Tensor:
    """How hard it is to find the other view of an item among all others: rows i and i + b of (2b, d) are a pair.

    >>> nt_xent(torch.eye(2).repeat(2, 1), temperature=1.0)  # two pairs at right angles: log(e + 2) − 1
    tensor(0.5514)
    """
    unit = F.normalize(projections.float(), dim=1)
    alike = unit @ unit.T / temperature  # (2b, 2b)
    n = len(unit)
    itself = torch.eye(n, dtype=torch.bool, device=unit.device)
    other = torch.arange(n, device=unit.device).roll(n // 2)
    return F.cross_entropy(alike.masked_fill(itself, -torch.inf), other)


class Contrast(StepTrainer):
    """Trains what `build` makes on images (N, H, W, 3) uint8, with a projection in the place of its head."""

    def __init__(
        self,
        build: Callable[[], nn.Module],
        images: npt.NDArray[np.uint8],
        device: torch.device,
        *,
        batch: int,  # items, of two views each; no more than there are
        rate: float,
        temperature: float,
        projection: int,
        compiled: bool | None = None,  # None: on a GPU
        half: bool | None = None,  # bfloat16; None: on a GPU
    ) -> None:
        def projecting() -> Any:
            net: Any = build()
            wide = net.head.in_features
            net.head = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, projection))
            return net

        training = Training(rate=rate, warm_up=WARM_UP, weight_decay=WEIGHT_DECAY)
        super().__init__("simclr", projecting, images, device, training, compiled=compiled, half=half)
        self.temperature, self.batch = temperature, min(batch, len(images))
        self.items = torch.zeros(self.batch, dtype=torch.int64, device=device)
        self.numbers = torch.zeros(2 * self.batch, NUMBERS, device=device)
        self.places = (self.items, self.numbers)

    def fit(self, epochs: int, rng: Rng) -> float:
        """From scratch to the last step; the mean loss."""
        n, seed = len(self.pixels.images), int(rng.integers(2**63))
        steps = epochs * (n // self.batch)
        return self.train(view_batches(n, self.batch, epochs, rng), self.training.rates(steps), seed)

    def loss(self) -> torch.Tensor:
        views = viewed(self.pixels.images, self.items.repeat(2), self.numbers)
        with precision(self.device, self.half):
            projections = self.net(self.pixels.seen(views))
        return nt_xent(projections, self.temperature)

    def features(self) -> npt.NDArray[np.float32]:
        """(N, D) of the images as they are, each of length 1: what comes before the projection, in 32 bits."""
        self.net.eval()
        with torch.no_grad():
            parts = [self.pixels.images[block] for block in blocks(len(self.pixels.images), self.at_once)]
            embeddings = torch.cat([self.net.embed(self.pixels.seen(part)) for part in parts])
            rows: npt.NDArray[np.float32] = F.normalize(embeddings, dim=1).cpu().numpy()
        return rows


def view_batches(n: int, batch: int, epochs: int, rng: Rng) -> Iterator[tuple[Ints, npt.NDArray[np.float32]]]:
    """Some batches at a time: items (s, b), and the numbers (s, 2b, 9) of their first and second views.

    No item is twice in a batch, where it would be its own opposite; what does not fill a batch at the end of an epoch
    is left out.

    >>> [items.tolist() for items, numbers in view_batches(5, 2, epochs=2, rng=np.random.default_rng(0))]
    [[[2, 4], [3, 0]], [[2, 4], [0, 3]]]
    """
    whole, together = n // batch, max(1, DRAWN_TOGETHER // (2 * batch))
    for _ in range(epochs):
        items = rng.permutation(n)[: whole * batch].reshape(whole, batch)
        for start in range(0, whole, together):
            part = items[start : start + together]
            yield part, Views().draw(rng, (len(part), 2 * batch))


# --- random views of an image ------------------------------------------------------------------------------------
# A view is a part of an image made as large as the whole, perhaps mirrored, in other colours. As for `images.moved`,
# the random numbers are arguments, drawn on the host, so that a view is the same on every device.
# Colours change in a fixed order: brightness, contrast, then saturation and hue together (SimCLR shuffles the order).
# Hue is an angle in the colour plane of YIQ, which keeps the brightness of every pixel and needs no case for sectors.


TOP, LEFT, TALL, WIDE, MIRROR, BRIGHTNESS, CONTRAST, SATURATION, HUE = range(9)
NUMBERS = 9

TO_YIQ = ((0.299, 0.587, 0.114), (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112))
FROM_YIQ = np.linalg.inv(np.asarray(TO_YIQ)).tolist()


@dataclass(frozen=True)
class Views:
    """How different a view may be from its image."""

    least: float = 0.2  # the smallest part of the image, as a share of its area
    aspect: float = 4 / 3  # the part's, as a multiple of the image's own or a fraction of it
    jitter: float = 0.8  # how often colours change,
    strength: float = 0.4  # brightness, contrast and saturation by a factor of 1 ± this,
    hue: float = 0.1  # and hue by so much of a full turn, either way
    grey: float = 0.2  # how often colours go

    def draw(self, rng: Rng, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """(…, 9) numbers that say what views show: the part in shares of the image's sides, then its colours.

        >>> Views(least=1, jitter=0, grey=0).draw(np.random.default_rng(0), (2,))
        array([[0., 0., 1., 1., 1., 1., 1., 1., 0.],
               [0., 0., 1., 1., 1., 1., 1., 1., 0.]], dtype=float32)
        """
        numbers = np.empty((*shape, NUMBERS), np.float32)
        area = rng.uniform(self.least, 1, shape)
        widest = np.minimum(log(self.aspect), -np.log(area))  # no side longer than the image's
        aspect = np.exp(rng.uniform(-1, 1, shape) * widest)
        numbers[..., TALL], numbers[..., WIDE] = np.sqrt(area / aspect), np.sqrt(area * aspect)
        numbers[..., TOP:TALL] = rng.random((*shape, 2)) * (1 - numbers[..., TALL:MIRROR])
        numbers[..., MIRROR] = rng.integers(0, 2, shape) * 2 - 1
        turn = 2 * pi * self.hue
        numbers[..., BRIGHTNESS:HUE] = rng.uniform(1 - self.strength, 1 + self.strength, (*shape, 3))
        numbers[..., HUE] = rng.uniform(-turn, turn, shape)
        numbers[rng.random(shape) >= self.jitter, BRIGHTNESS:] = (1, 1, 1, 0)
        numbers[..., SATURATION] *= rng.random(shape) >= self.grey
        return numbers


def viewed(images: torch.Tensor, items: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """(b, H, W, 3) from 0 to 255, in 32 bits: views of some of the images (N, H, W, 3), each by its numbers (b, 9).

    >>> row = torch.tensor([[0, 0, 0], [80, 80, 80]], dtype=torch.uint8).reshape(1, 1, 2, 3)
    >>> mirrored, left_half = [0.0, 0, 1, 1, -1, 1, 1, 1, 0], [0, 0, 1, 0.5, 1, 1, 1, 1, 0]
    >>> viewed(row, torch.tensor([0, 0]), torch.tensor([mirrored, left_half]))[:, 0, :, 0].round()
    tensor([[80.,  0.],
            [ 0., 20.]])
    """
    return recoloured(cropped(images, items, numbers), numbers)


def cropped(images: torch.Tensor, items: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """(b, H, W, 3) parts of images, between four pixels each; beyond an edge the image goes on as at the edge."""
    height, width = images.shape[1:3]
    top, left, tall, wide, mirror = (numbers[:, at, None, None] for at in (TOP, LEFT, TALL, WIDE, MIRROR))
    y = (torch.arange(height, device=images.device)[:, None] + 0.5) / height  # the middles of pixels, from 0 to 1
    x = ((torch.arange(width, device=images.device) + 0.5) / width - 0.5) * mirror + 0.5
    from_y = ((top + tall * y) * height - 0.5).clamp(0, height - 1)  # (b, H, 1)
    from_x = ((left + wide * x) * width - 0.5).clamp(0, width - 1)  # (b, 1, W)
    y0, x0 = from_y.to(torch.int64), from_x.to(torch.int64)
    y1, x1 = (y0 + 1).clamp(max=height - 1), (x0 + 1).clamp(max=width - 1)
    lower, right = (from_y - y0)[..., None], (from_x - x0)[..., None]  # the shares of the pixels y1 and x1
    rows = items[:, None, None]
    above = images[rows, y0, x0] * (1 - right) + images[rows, y0, x1] * right
    below = images[rows, y1, x0] * (1 - right) + images[rows, y1, x1] * right
    return above * (1 - lower) + below * lower


def recoloured(images: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """(b, H, W, 3) the same images from 0 to 255 in other colours."""
    brightness, contrast = (numbers[:, at, None, None, None] for at in (BRIGHTNESS, CONTRAST))
    saturation, hue = (numbers[:, at, None, None] for at in (SATURATION, HUE))
    bright = (images * brightness).clamp(0, 255)
    middle = _weighed(TO_YIQ[0], bright.unbind(-1)).mean(dim=(1, 2))[:, None, None, None]
    clear = (middle + contrast * (bright - middle)).clamp(0, 255)
    y, i, q = (_weighed(row, clear.unbind(-1)) for row in TO_YIQ)
    cos, sin = saturation * hue.cos(), saturation * hue.sin()
    turned = (y, cos * i - sin * q, sin * i + cos * q)
    return torch.stack([_weighed(row, turned) for row in FROM_YIQ], dim=-1).clamp(0, 255)


def _weighed(weights: Sequence[float], planes: Sequence[torch.Tensor]) -> torch.Tensor:
    a, b, c = (weight * plane for weight, plane in zip(weights, planes, strict=True))
    return a + b + c
