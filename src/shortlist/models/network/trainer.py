"""A network and its training step, made once and used again by every round.

The dataset, its labels and all augmentation stay on the device. On a GPU the step is compiled, with the augmentation
in it, and captured whole as a CUDA graph, so that a batch costs one launch; the graph reads its batch from fixed
tensors and does not depend on how many labels there are, so the next round replays the same one.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.linear.softmax_regression import negative_losses
from shortlist.models.network.architectures import untrained
from shortlist.models.network.images import Pixels, mixed, moved, on_device
from shortlist.models.network.training import BatchGroup, Optimiser, Training, batch_groups
from shortlist.models.perturbed import Ascent, module_losses
from shortlist.models.torch_runtime import precision, seeded
from shortlist.system.arrays import blocks
from shortlist.system.progress import track
from shortlist.types import Floats, Ints, Labelled, Rng, ShortlistError

PREDICTED = 1 << 22  # pixels predicted together on a GPU: 4,096 images of 32×32
CPU_PREDICTED = 1 << 18
ASCENDED = 512  # items that ascend together with ascent="batch"


class StepTrainer(ABC):
    """What `build` makes, its optimiser, and one step down the `loss` of the batch that is in place.

    `images` (N, H, W, 3) uint8 is the dataset. `name` is whose settings they are, for messages.
    """

    def __init__(
        self,
        name: str,
        build: Callable[[], nn.Module],
        images: npt.NDArray[np.uint8],
        device: torch.device,
        training: Training,
        *,
        compiled: bool | None = None,  # None: on a GPU
        half: bool | None = None,  # bfloat16; None: on a GPU
    ) -> None:
        self.name, self.build, self.device, self.training, self.half = name, build, device, training, half
        self.pixels = Pixels.of(on_device(images, device))
        self.net: Any = untrained(build, 0)
        self.net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimiser = optimiser(training.optimiser, self.net, training.rate, training.weight_decay)
        self.places: tuple[torch.Tensor, ...] = ()  # where the step reads its batch
        self.lost = torch.zeros((), device=device)  # the loss, summed over steps
        self.compiled = device.type == "cuda" if compiled is None else compiled
        self._loss = torch.compile(self.loss, dynamic=False) if self.compiled else self.loss
        self._replay: Callable[[], None] | None = None

    @abstractmethod
    def loss(self) -> torch.Tensor:
        """The mean over the batch."""

    def train(self, groups: Iterable[tuple[npt.NDArray[Any], ...]], rates: Floats, seed: int) -> float:
        """From scratch to the last step; the mean loss. A group holds some batches' arrays, one for each place."""
        step = self._captured_step()
        self._begin(seed)
        each_rate = torch.from_numpy(rates.astype(np.float32)).to(self.device)
        batches = zip(self._in_place(groups), each_rate, strict=True)
        with fastest(), seeded(seed, self.device):  # for networks that draw: dropout
            for _, rate in track(batches, total=len(rates), what=f"{self.name}, batches"):
                self._set_rate(rate)
                step()
        self.net.eval()
        mean = float(self.lost) / max(len(rates), 1)
        if not np.isfinite(mean):
            rate = self.training.rate
            raise ShortlistError(f"{self.name}: the loss became {mean}; try a lower rate ({self.name}.rate is {rate})")
        return mean

    def _captured_step(self) -> Callable[[], None]:
        """The step that is captured already, if it is."""
        self.net.train()
        if self._replay is None:
            self._replay = captured(self._step, self.device)
        return self._replay

    def _begin(self, seed: int) -> None:
        """Fresh parameters, the same on every device, in the tensors that a captured step writes to."""
        self.set_weights(untrained(self.build, seed).state_dict())
        for state in self.optimiser.state.values():  # as before its first step, in the tensors it has
            for value in state.values():
                if isinstance(value, torch.Tensor):
                    value.zero_()
        self.lost.zero_()

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        for name, value in self.net.state_dict().items():
            value.copy_(torch.as_tensor(weights[name]))

    def _in_place(self, groups: Iterable[tuple[npt.NDArray[Any], ...]]) -> Iterator[None]:
        """Puts one batch after the other on the device, where the step reads it."""
        for group in groups:
            arrays = [torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for array in group]
            for batch in zip(*arrays, strict=True):
                for place, values in zip(self.places, batch, strict=True):
                    place.copy_(values)
                yield

    def _set_rate(self, rate: torch.Tensor) -> None:
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].copy_(rate)
            else:
                group["lr"] = float(rate)

    def _step(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        loss = self._loss()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.lost += loss.detach()

    @property
    def at_once(self) -> int:
        """How many images are predicted together: many small ones, a few large ones."""
        pixels = PREDICTED if self.device.type == "cuda" else CPU_PREDICTED
        height, width = self.pixels.images.shape[1:3]
        return max(1, pixels // (height * width))


class Trainer(StepTrainer):
    """Trains on the labelled items, from scratch at every `fit`.

    With a process group, every process trains on its part of each batch and gradients are averaged.
    """

    def __init__(
        self,
        build: Callable[[], nn.Module],
        images: npt.NDArray[np.uint8],
        n_classes: int,
        training: Training,
        device: torch.device,
        *,
        compiled: bool | None = None,  # None: on a GPU, if it is the only one
        half: bool | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if training.batch % world:
            raise ShortlistError(f"training.batch: {training.batch} cannot be shared by {world} devices")
        compiled = False if compiled is None and world > 1 else compiled
        super().__init__("training", build, images, device, training, compiled=compiled, half=half)
        self.n_classes, self.rank, self.world = n_classes, rank, world
        self.learning: nn.Module = nn.parallel.DistributedDataParallel(self.net) if world > 1 else self.net
        batch = training.batch // world
        self.items = torch.zeros(batch, dtype=torch.int64, device=device)
        self.moves = torch.zeros(batch, 4, device=device)
        self.share = torch.ones((), device=device)
        self.places = (self.items, self.moves, self.share)
        self.labels = torch.zeros(len(images), dtype=torch.int64, device=device)
        self.rejected: torch.Tensor | None = None  # (N, L), once there are partial labels

    def close(self) -> None:
        """Forget what was compiled: of the same code torch compiles only so many."""
        if self.compiled:
            torch._dynamo.reset()

    def fit(self, labelled: Labelled, rng: Rng) -> float:
        """From scratch to the last step; the mean loss."""
        self._set_labels(labelled)
        seed = int(rng.integers(2**63))
        items = np.concatenate([labelled.items, labelled.partial])
        rates = self.training.rates(self.training.steps(len(items)))
        return self.train(map(self._own, batch_groups(items, self.training, rng)), rates, seed)

    def _captured_step(self) -> Callable[[], None]:
        if self.world > 1:  # a graph holds the work of one process
            self._replay = self._step
        return super()._captured_step()

    def _own(self, group: BatchGroup) -> tuple[npt.NDArray[Any], ...]:
        """This process's part of every batch."""
        part = slice(self.rank, None, self.world)
        return group.items[:, part], group.moves[:, part], group.shares

    def loss(self) -> torch.Tensor:
        """The mean over the batch, each item mixed with the one before it."""
        batch = mixed(self.pixels.seen(moved(self.pixels.images, self.items, self.moves)), self.share)
        with precision(self.device, self.half):
            logits = self.learning(batch)
        own, other = (self._losses(logits.float(), items) for items in (self.items, self.items.roll(1)))
        return (self.share * own + (1 - self.share) * other).mean()

    def _losses(self, logits: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """(b,) cross-entropy where the label is known, and negative learning where classes were rejected."""
        known = F.cross_entropy(logits, self.labels[items], ignore_index=-1, reduction="none")
        if self.rejected is None:
            return known
        return known + self.training.negative * negative_losses(logits, self.rejected[items])

    def _set_labels(self, labelled: Labelled) -> None:
        labels = np.full(len(self.labels), -1, np.int64)
        labels[labelled.items] = labelled.labels
        self.labels.copy_(torch.from_numpy(labels))
        partial = len(labelled.partial) if labelled.rejected is not None else 0
        if partial and self.rejected is None:
            self.rejected = torch.zeros(len(labels), self.n_classes, dtype=torch.bool, device=self.device)
            self._replay = None  # the captured step does not know of them
        if self.rejected is not None:
            self.rejected.zero_()
            if partial:
                at = torch.from_numpy(labelled.partial).to(self.device)
                self.rejected[at] = torch.from_numpy(labelled.rejected).to(self.device)

    def logits(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(n, L) and the embeddings (n, D) of images (n, H, W, 3) uint8, in 32 bits."""
        self.net.eval()
        with torch.no_grad():
            with precision(self.device, self.half):
                embeddings = self.net.embed(self.pixels.seen(images)).float()
            return self.net.head(embeddings), embeddings  # 16 bits would make ties of close classes

    def perturbed_losses(self, items: Ints, ascent: Ascent) -> torch.Tensor:
        parts = (self.pixels.images[items[block]] for block in blocks(len(items), ASCENDED))
        inputs = (self.pixels.seen(part) for part in parts)
        losses = (module_losses(self.net, batch, per=ascent) for batch in inputs)
        return torch.cat([torch.empty(0, device=self.device), *losses])


# --- a training step as one launch -----------------------------------------------------------------------------


BEFORE_CAPTURE = 3  # steps before a capture: they compile, choose algorithms and make the optimiser's state


def captured(step: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """The step itself on a CPU; on a GPU a replay of it, which reads and writes the tensors of this call.

    Whatever the steps learn meanwhile has to be undone by the caller.
    """
    if device.type != "cuda":
        return step
    here, aside = torch.cuda.current_stream(device), torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    aside.wait_stream(here)
    with fastest(), torch.cuda.stream(aside), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TensorFloat32", UserWarning)  # 32 bits are asked for where they are used
        warnings.filterwarnings("ignore", r"\s*Online softmax is disabled", UserWarning)  # a choice of the compiler's
        for _ in range(BEFORE_CAPTURE):
            step()
    here.wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with fastest(), torch.cuda.graph(graph):
        step()
    replay: Callable[[], None] = graph.replay
    return replay


@contextmanager
def fastest() -> Iterator[None]:
    """cuDNN tries its algorithms and takes the fastest."""
    tf32 = torch.backends.cudnn.allow_tf32
    with torch.backends.cudnn.flags(enabled=True, benchmark=True, deterministic=False, allow_tf32=tf32):
        yield


def optimiser(name: Optimiser, net: nn.Module, rate: float, weight_decay: float) -> torch.optim.Optimizer:
    """SGD with Nesterov's momentum 0.9, or AdamW; on a GPU in a form whose step can be captured."""
    device = next(net.parameters()).device
    on_gpu = device.type == "cuda"
    lr: Any = torch.tensor(rate, device=device) if on_gpu else rate  # a captured step reads it from a tensor
    if name == "adamw":
        return torch.optim.AdamW(net.parameters(), lr, weight_decay=weight_decay, fused=on_gpu, capturable=on_gpu)
    return torch.optim.SGD(net.parameters(), lr, 0.9, nesterov=True, weight_decay=weight_decay, fused=on_gpu)
