"""Training on a device is training on the CPU, and the captured step is the plain one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from shortlist.types import Labelled
from tests.backends import HAS_TORCH
from tests.cuda.device import needs_cuda

if not HAS_TORCH:
    pytest.skip("needs torch", allow_module_level=True)

import torch

from shortlist.models.network.architectures import ResNet18
from shortlist.models.network.images import moved
from shortlist.models.network.trainer import Trainer
from shortlist.models.network.training import Optimiser, Training
from tests.models.networks import Dropping

# torch.compile loads parts of torch that torch itself calls deprecated
pytestmark = [needs_cuda, pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")]

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (60, 16, 16, 3), np.uint8)
LABELLED = Labelled(np.arange(40), RNG.integers(0, 5, 40), 5)
PARTIAL = Labelled(np.arange(40), LABELLED.labels, 5, np.arange(40, 60), RNG.random((20, 5)) < 0.3)


class Exact(ResNet18):
    """In 64 bits: in 32 a unit close to zero is on or off by chance, and one more CPU thread changes the gradient."""

    def __init__(self, n_classes: int, width: int) -> None:
        super().__init__(n_classes, width)
        self.double()

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        return super().embed(images.double())


def trained(
    device: str,
    labelled: Labelled,
    *,
    compiled: bool,
    optimiser: Optimiser = "sgd",
    network: type[ResNet18] = ResNet18,
) -> Trainer:
    """The same network twice: a second fit has to forget the first."""
    training = Training(optimiser=optimiser, rate=0.01 if optimiser == "sgd" else 1e-3, batch=16, epochs=0,
                        min_steps=3, mix_up=2)  # fmt: skip
    made = Trainer(partial(network, 5, 8), IMAGES, 5, training, torch.device(device), compiled=compiled, half=False)
    made.fit(labelled, np.random.default_rng(7))
    made.fit(labelled, np.random.default_rng(3))
    return made


@pytest.mark.parametrize("rotation", [0.0, 15.0])
def test_images_are_moved_as_on_the_cpu(rotation: float) -> None:
    moves = Training(rotation=rotation).moves(np.random.default_rng(0), (50,))
    items = np.random.default_rng(1).integers(0, 60, 50)
    given = [torch.from_numpy(a) for a in (IMAGES, items, moves)]
    here, there, compiled = (
        moved(*given),
        moved(*(a.cuda() for a in given)),
        torch.compile(moved)(*(a.cuda() for a in given)),
    )
    differ = (here != there.cpu()).any(dim=-1).float().mean(), (here != compiled.cpu()).any(dim=-1).float().mean()
    assert max(differ) < (1e-3 if rotation else 1e-12)  # a sine's last bit may choose another nearest pixel


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("labelled", [LABELLED, PARTIAL], ids=["full", "partial"])
@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_a_few_steps_leave_the_parameters_of_the_cpu(compiled: bool, labelled: Labelled, optimiser: Optimiser) -> None:
    here = trained("cpu", labelled, compiled=False, optimiser=optimiser, network=Exact)
    there = trained("cuda", labelled, compiled=compiled, optimiser=optimiser, network=Exact)
    assert there._replay is not None
    for a, b in zip(here.net.state_dict().values(), there.net.state_dict().values(), strict=True):
        torch.testing.assert_close(b.cpu(), a, atol=1e-6, rtol=1e-6)


def test_another_round_plays_the_captured_step() -> None:
    made = trained("cuda", LABELLED, compiled=False)
    replay = made._replay
    made.fit(Labelled(np.arange(10), np.zeros(10, np.int64), 5), np.random.default_rng(0))
    assert made._replay is replay
    logits, _ = made.logits(made.pixels.images[:10])
    assert (logits.argmax(dim=1) == 0).all()


def test_a_network_learns_on_the_device() -> None:
    """In bfloat16, compiled and captured: colours that a few steps tell apart."""
    colours = np.repeat(np.array([[250, 0, 0], [0, 250, 0], [0, 0, 250]], np.uint8), 20, axis=0)
    images = np.broadcast_to(colours[:, None, None], (60, 16, 16, 3)).copy()
    labels = np.repeat(np.arange(3), 20)
    training = Training(rate=0.05, batch=32, epochs=0, min_steps=60)
    made = Trainer(partial(ResNet18, 3, 8), images, 3, training, torch.device("cuda"))
    made.fit(Labelled(np.arange(0, 60, 2), labels[::2], 3), np.random.default_rng(0))
    logits, embeddings = made.logits(made.pixels.images)
    assert (logits.argmax(dim=1).cpu().numpy() == labels).mean() > 0.95
    assert embeddings.dtype == torch.float32


def test_dropout_follows_the_seed() -> None:
    training = Training(batch=16, epochs=0, min_steps=5)
    made = Trainer(partial(Dropping, 5), IMAGES, 5, training, torch.device("cuda"), compiled=False, half=False)
    found = []
    for seed in (1, 1, 2):
        made.fit(LABELLED, np.random.default_rng(seed))
        found.append(made.net.head.weight.detach().clone())
    torch.testing.assert_close(found[0], found[1])
    assert not torch.allclose(found[0], found[2])
