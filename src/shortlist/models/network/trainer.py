"""A network and its training step, made once and used again by every round.

The dataset, its labels and all augmentation stay on the device. On a GPU the step is compiled, with the augmentation
in it, and captured whole as a CUDA graph, so that a batch costs one launch; the graph reads its batch from fixed
tensors and never sees how many labels there are, so the next round plays the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.datasets.progress import track
from shortlist.models.negative_learning import negative_losses
from shortlist.models.network.architectures import untrained
from shortlist.models.network.augment import mixed, moved
from shortlist.models.network.captured import captured, fastest
from shortlist.models.network.deck import Deck, Hands
from shortlist.models.network.optimisers import descend, forget, optimiser, set_rate
from shortlist.models.network.pixels import Pixels, on_device
from shortlist.models.network.training import Training
from shortlist.models.seeding import seeded
from shortlist.types import Labelled, Rng, ShortlistError

PREDICTED = 1 << 22  # pixels predicted together on a GPU: 4,096 images of 32×32
CPU_PREDICTED = 1 << 18


class Trainer:
    """Trains what `build` makes, from scratch at every `fit`.

    `images` (N, H, W, 3) uint8 is the dataset, of which a fit uses the labelled items. With a process group, every
    process plays its part of each batch and gradients are averaged.
    """

    def __init__(
        self,
        build: Callable[[], nn.Module],
        images: npt.NDArray[np.uint8],
        n_classes: int,
        training: Training,
        device: torch.device,
        *,
        compiled: bool | None = None,  # None: on a GPU
        half: bool | None = None,  # bfloat16; None: on a GPU
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if training.batch % world:
            raise ShortlistError(f"training.batch: {training.batch} cannot be shared by {world} devices")
        self.build, self.training, self.device, self.n_classes = build, training, device, n_classes
        self.rank, self.world = rank, world
        self.pixels = Pixels.of(on_device(images, device))
        self.net: Any = untrained(build, 0).to(device)
        self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.learning: nn.Module = self.net
        if world > 1:
            self.learning = nn.parallel.DistributedDataParallel(self.net)
        self.optimiser = optimiser(training.optimiser, self.net, training.rate, training.weight_decay)
        batch = training.batch // world
        self.items = torch.zeros(batch, dtype=torch.int64, device=device)  # the batch that is played
        self.moves = torch.zeros(batch, 4, device=device)
        self.share = torch.ones((), device=device)
        self.labels = torch.zeros(len(images), dtype=torch.int64, device=device)
        self.rejected: torch.Tensor | None = None  # (N, L), once there are partial labels
        self.lost = torch.zeros((), device=device)  # the loss, summed over steps
        on_gpu = device.type == "cuda"
        self.half = on_gpu if half is None else half
        self.compiled = on_gpu and world == 1 if compiled is None else compiled
        self._loss = torch.compile(self.loss, dynamic=False) if self.compiled else self.loss
        self._replay: Callable[[], None] | None = None

    def close(self) -> None:
        """Forget what was compiled: of the same code torch compiles only so many."""
        if self.compiled:
            torch._dynamo.reset()

    # --- learning ----------------------------------------------------------------------------------------------

    def fit(self, labelled: Labelled, rng: Rng) -> float:
        """From scratch to the last step; the mean loss."""
        self._set_labels(labelled)
        step = self._played_step()
        seed = int(rng.integers(2**63))
        self._begin(seed)
        deck = Deck(np.concatenate([labelled.items, labelled.partial]), self.training)
        rates = torch.from_numpy(self.training.rates(deck.steps).astype(np.float32))
        with fastest(), seeded(seed, self.device):  # for networks that draw: dropout
            for rate in track(self._played(deck, rates, rng), total=deck.steps, what="training, batches"):
                set_rate(self.optimiser, rate)
                step()
        self.net.eval()
        mean = float(self.lost) / deck.steps
        if not np.isfinite(mean):
            raise ShortlistError(
                f"training: the loss became {mean}; try a lower rate (training.rate is {self.training.rate})"
            )
        return mean

    def _played_step(self) -> Callable[[], None]:
        """The step that is captured already, if it is."""
        self.net.train()
        if self.world > 1:
            return self._step
        if self._replay is None:
            self._replay = captured(self._step, self.device)
        return self._replay

    def _played(self, deck: Deck, rates: torch.Tensor, rng: Rng) -> Iterator[torch.Tensor]:
        """Puts one batch after the other on the device; its learning rate."""
        on_device = rates.to(self.device)
        start = 0
        for hands in deck.deal(rng):
            items, moves, shares = self._own(hands)
            for at in range(len(shares)):
                self.items.copy_(items[at])
                self.moves.copy_(moves[at])
                self.share.copy_(shares[at])
                yield on_device[start + at]
            start += len(shares)

    def _own(self, hands: Hands) -> tuple[torch.Tensor, ...]:
        """This process's part of every batch, on the device."""
        part = slice(self.rank, None, self.world)
        arrays = (hands.items[:, part], hands.moves[:, part], hands.shares)
        return tuple(torch.from_numpy(np.ascontiguousarray(a)).to(self.device) for a in arrays)

    def loss(self) -> torch.Tensor:
        """The mean over the batch, each item mixed with the one before it."""
        batch = mixed(self.pixels.seen(moved(self.pixels.images, self.items, self.moves)), self.share)
        with self.precision():
            logits = self.learning(batch)
        own, other = (self._losses(logits.float(), items) for items in (self.items, self.items.roll(1)))
        return (self.share * own + (1 - self.share) * other).mean()

    def _losses(self, logits: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """(b,) cross-entropy where the label is known, and negative learning where classes were rejected."""
        known = F.cross_entropy(logits, self.labels[items], ignore_index=-1, reduction="none")
        if self.rejected is None:
            return known
        return known + self.training.negative * negative_losses(logits, self.rejected[items])

    def _step(self) -> None:
        self.lost += descend(self.optimiser, self._loss)

    # --- predicting --------------------------------------------------------------------------------------------

    def logits(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(n, L) and the embeddings (n, D) of images (n, H, W, 3) uint8, in 32 bits."""
        self.net.eval()
        with torch.no_grad():
            with self.precision():
                embeddings = self.net.embed(self.pixels.seen(images)).float()
            return self.net.head(embeddings), embeddings  # 16 bits would make ties of close classes

    @property
    def at_once(self) -> int:
        """How many images are predicted together."""
        return predicted_together(self.pixels.images)

    def precision(self) -> Any:
        return torch.autocast(self.device.type, torch.bfloat16) if self.half else nullcontext()

    # --- between rounds ----------------------------------------------------------------------------------------

    def set_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        for name, value in self.net.state_dict().items():
            value.copy_(weights[name])

    def _set_labels(self, labelled: Labelled) -> None:
        labels = np.full(len(self.labels), -1, np.int64)
        labels[labelled.items] = labelled.labels
        self.labels.copy_(torch.from_numpy(labels))
        if labelled.rejected is None or not len(labelled.partial):
            if self.rejected is not None:
                self.rejected.zero_()
            return
        if self.rejected is None:
            self.rejected = torch.zeros(len(labels), self.n_classes, dtype=torch.bool, device=self.device)
            self._replay = None  # the captured step does not know of them
        self.rejected.zero_()
        at = torch.from_numpy(labelled.partial).to(self.device)
        self.rejected[at] = torch.from_numpy(labelled.rejected).to(self.device)

    def _begin(self, seed: int) -> None:
        """Fresh parameters, the same on every device, in the tensors that a captured step writes to."""
        self.set_weights(untrained(self.build, seed).state_dict())
        forget(self.optimiser)
        self.lost.zero_()


def predicted_together(images: torch.Tensor) -> int:
    """How many of the images (N, H, W, 3) a device takes at once: many small ones, a few large ones."""
    pixels = PREDICTED if images.device.type == "cuda" else CPU_PREDICTED
    return max(1, pixels // (images.shape[1] * images.shape[2]))
