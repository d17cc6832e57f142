"""A network that learns without labels: two views of an image are to be alike, and unlike those of all others.

As in `trainer`, the images and their views stay on the device, and on a GPU the whole step is compiled and captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.datasets.progress import track
from shortlist.models.network.architectures import untrained
from shortlist.models.network.captured import captured, fastest
from shortlist.models.network.deck import DEALT
from shortlist.models.network.optimisers import descend, forget, optimiser, set_rate
from shortlist.models.network.pixels import Pixels, on_device
from shortlist.models.network.trainer import predicted_together
from shortlist.models.network.training import Training
from shortlist.models.network.views import NUMBERS, Views, viewed
from shortlist.types import Ints, Rng, ShortlistError

WEIGHT_DECAY = 1e-4
WARM_UP = 0.05  # share of the steps in which the rate rises; then it falls along a cosine
VIEWS = Views()


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


class Contrast:
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
        self.build, self.projection, self.device = build, projection, device
        self.rate, self.temperature = rate, temperature
        self.pixels = Pixels.of(on_device(images, device))
        self.net = self._made(seed=0).to(device, memory_format=torch.channels_last)
        self.optimiser = optimiser("sgd", self.net, rate, WEIGHT_DECAY)
        self.batch = min(batch, len(images))
        self.items = torch.zeros(self.batch, dtype=torch.int64, device=device)  # the batch that is played
        self.numbers = torch.zeros(2 * self.batch, NUMBERS, device=device)
        self.lost = torch.zeros((), device=device)  # the loss, summed over steps
        on_gpu = device.type == "cuda"
        self.half = on_gpu if half is None else half
        self.compiled = on_gpu if compiled is None else compiled
        self._loss = torch.compile(self.loss, dynamic=False) if self.compiled else self.loss
        self._replay: Callable[[], None] | None = None

    def _made(self, seed: int) -> Any:
        return untrained(self._projecting, seed)

    def _projecting(self) -> nn.Module:
        net: Any = self.build()
        wide = net.head.in_features
        net.head = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, self.projection))
        made: nn.Module = net
        return made

    # --- learning ----------------------------------------------------------------------------------------------

    def fit(self, epochs: int, rng: Rng) -> float:
        """From scratch to the last step; the mean loss."""
        self.net.train()
        if self._replay is None:
            self._replay = captured(self._step, self.device)
        self.net.load_state_dict(self._made(int(rng.integers(2**63))).state_dict())
        forget(self.optimiser)
        self.lost.zero_()
        steps = epochs * (len(self.pixels.images) // self.batch)
        rates = Training(rate=self.rate, warm_up=WARM_UP).rates(steps)
        played = zip(self._played(epochs, rng), torch.from_numpy(rates.astype(np.float32)).to(self.device), strict=True)
        with fastest():
            for _, rate in track(played, total=steps, what="simclr, batches"):
                set_rate(self.optimiser, rate)
                self._replay()
        mean = float(self.lost) / max(steps, 1)
        if not np.isfinite(mean):
            raise ShortlistError(f"simclr: the loss became {mean}; try a lower rate (simclr.rate is {self.rate})")
        return mean

    def _played(self, epochs: int, rng: Rng) -> Iterator[None]:
        """Puts one batch after the other on the device."""
        for hands in dealt(len(self.pixels.images), self.batch, epochs, rng):
            items, numbers = (torch.from_numpy(dealt_out).to(self.device) for dealt_out in hands)
            for at in range(len(items)):
                self.items.copy_(items[at])
                self.numbers.copy_(numbers[at])
                yield

    def loss(self) -> torch.Tensor:
        views = viewed(self.pixels.images, self.items.repeat(2), self.numbers)
        with torch.autocast(self.device.type, torch.bfloat16) if self.half else nullcontext():
            projections = self.net(self.pixels.seen(views))
        return nt_xent(projections, self.temperature)

    def _step(self) -> None:
        self.lost += descend(self.optimiser, self._loss)

    # --- what was learnt ---------------------------------------------------------------------------------------

    def features(self) -> npt.NDArray[np.float32]:
        """(N, D) of the images as they are, each of length 1: what comes before the projection, in 32 bits."""
        self.net.eval()
        images, at_once = self.pixels.images, predicted_together(self.pixels.images)
        parts = (images[start : start + at_once] for start in range(0, len(images), at_once))
        with torch.no_grad():
            embeddings = torch.cat([self.net.embed(self.pixels.seen(part)) for part in parts])
            rows: npt.NDArray[np.float32] = F.normalize(embeddings, dim=1).cpu().numpy()
        return rows


def dealt(n: int, batch: int, epochs: int, rng: Rng) -> Iterator[tuple[Ints, npt.NDArray[np.float32]]]:
    """Some batches after the other: items (s, b), and the numbers (s, 2b, 9) of their first and second views.

    No item is twice in a batch, where it would be its own opposite; what does not fill a batch at the end of an epoch
    is left out.

    >>> [items.tolist() for items, numbers in dealt(5, 2, epochs=2, rng=np.random.default_rng(0))]
    [[[2, 4], [3, 0]], [[2, 4], [0, 3]]]
    """
    whole, together = n // batch, max(1, DEALT // (2 * batch))
    for _ in range(epochs):
        items = rng.permutation(n)[: whole * batch].reshape(whole, batch)
        for start in range(0, whole, together):
            some = items[start : start + together]
            yield some, VIEWS.draw(rng, (len(some), 2 * batch))
