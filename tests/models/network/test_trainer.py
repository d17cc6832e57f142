"""The training step by hand, and what a fit leaves behind."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.network.architectures import ResNet18
from shortlist.models.network.images import on_device
from shortlist.models.network.trainer import Trainer
from shortlist.models.network.training import Training
from shortlist.types import Labelled, ShortlistError
from tests.models.networks import Dropping, Plain
from tests.models.pictures import stripes

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (30, 8, 8, 3), np.uint8)
LABELS = RNG.integers(0, 3, 20)
FULL = Labelled(np.arange(20), LABELS, 3)
REJECTED = np.array([[True, False, False], [False, True, True]])
PARTIAL = Labelled(np.arange(20), LABELS, 3, np.array([25, 28]), REJECTED)


def trainer(training: Training, n_classes: int = 3) -> Trainer:
    return Trainer(partial(Plain, n_classes), IMAGES, n_classes, training, CPU)


def states(made: Trainer) -> list[torch.Tensor]:
    return [value.clone() for value in made.net.state_dict().values()]


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_loss_is_cross_entropy_mixed_and_negative_learning(share: float) -> None:
    made = trainer(Training(batch=4, negative=0.1))
    made._set_labels(PARTIAL)
    items = [3, 25, 7, 28]
    made.items.copy_(torch.tensor(items))
    made.moves.copy_(torch.tensor([0.0, 0, 1, 0]).expand(4, 4))
    made.share.fill_(share)
    images = torch.from_numpy(IMAGES).float()
    normal = ((images - images.mean((0, 1, 2))) / images.std((0, 1, 2), correction=0)).permute(0, 3, 1, 2)
    batch = share * normal[items] + (1 - share) * normal[[items[-1], *items[:-1]]]
    logp: torch.Tensor = made.net(batch).log_softmax(dim=1)
    p = logp.exp()

    def loss(row: int, item: int) -> torch.Tensor:
        if item < 20:
            return -logp[row, int(LABELS[item])]
        against = torch.from_numpy(REJECTED[[25, 28].index(item)])
        return -0.1 * torch.log(1 - p[row, against]).sum()

    expected = sum(share * loss(r, items[r]) + (1 - share) * loss(r, items[r - 1]) for r in range(4)) / 4
    torch.testing.assert_close(made.loss(), expected)


def test_a_fit_by_a_plain_loop() -> None:
    """SGD with Nesterov's momentum and the one-cycle rate, written out."""
    training = Training(batch=5, epochs=0, min_steps=6, mix_up=0, shift=0, flip=False, rate=0.1)
    made = trainer(training)
    made.fit(FULL, np.random.default_rng(4))

    rng = np.random.default_rng(4)
    torch.manual_seed(int(rng.integers(2**63)))
    net = Plain(3)
    images = torch.from_numpy(IMAGES).float()
    normal = ((images - images.mean((0, 1, 2))) / images.std((0, 1, 2), correction=0)).permute(0, 3, 1, 2)
    order = np.concatenate([rng.permutation(20) for _ in range(2)])
    speed = [torch.zeros_like(p) for p in net.parameters()]
    for step, rate in enumerate(training.rates(6)):
        rows = order[5 * step : 5 * step + 5]
        loss = F.cross_entropy(net(normal[rows]), torch.from_numpy(LABELS[rows]))
        slopes = torch.autograd.grad(loss, list(net.parameters()))
        for p, v, g in zip(net.parameters(), speed, slopes, strict=True):
            with torch.no_grad():
                slope = g + 5e-4 * p
                v.mul_(0.9).add_(slope)
                p.sub_(rate * (slope + 0.9 * v))
    for ours, theirs in zip(made.net.parameters(), net.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("optimiser", ["sgd", "adamw"])
def test_a_round_forgets_the_one_before(optimiser: str) -> None:
    training = Training(optimiser=optimiser, batch=8, epochs=0, min_steps=5, rate=0.01)  # type: ignore[arg-type]
    fresh, used = trainer(training), trainer(training)
    used.fit(PARTIAL, np.random.default_rng(9))
    used.fit(FULL, np.random.default_rng(1))
    fresh.fit(FULL, np.random.default_rng(1))
    for a, b in zip(states(fresh), states(used), strict=True):
        assert a.equal(b)


@pytest.mark.parametrize("net", [Plain, Dropping])
def test_another_seed_is_another_network_and_nobody_elses_numbers_are_touched(net: type[Plain]) -> None:
    made = Trainer(partial(net, 3), IMAGES, 3, Training(batch=8, epochs=0, min_steps=2), CPU)
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    made.fit(FULL, np.random.default_rng(1))
    assert torch.rand(3).equal(wanted)
    first = states(made)
    made.fit(FULL, np.random.default_rng(1))
    assert first[0].equal(states(made)[0])
    made.fit(FULL, np.random.default_rng(2))
    assert not first[0].equal(states(made)[0])


@pytest.mark.parametrize(("side", "together"), [(32, 256), (224, 5), (2000, 1)])
def test_few_large_images_are_predicted_together_and_many_small_ones(side: int, together: int) -> None:
    images = np.zeros((1, side, side, 3), np.uint8)
    assert Trainer(partial(Plain, 2), images, 2, Training(batch=1), CPU).at_once == together


def test_only_labelled_items_are_looked_at() -> None:
    images = IMAGES.copy()
    training = Training(batch=8, epochs=0, min_steps=3)
    made = trainer(training)
    made.fit(FULL, np.random.default_rng(1))
    images[20:] = images[20:, ::-1]  # other pixels with the same mean
    other = Trainer(partial(Plain, 3), images, 3, training, CPU)
    other.fit(FULL, np.random.default_rng(1))
    for a, b in zip(states(made), states(other), strict=True):
        assert a.equal(b)


def test_negative_learning_pushes_a_rejected_class_down() -> None:
    data = stripes(60, n_classes=3)
    known, partial_items = np.arange(10), np.arange(10, 60)
    rejected = np.zeros((50, 3), np.bool_)
    rejected[np.arange(50), (data.labels[10:] + 1) % 3] = True
    training = Training(batch=32, epochs=0, min_steps=120, rate=0.1, mix_up=0, negative=1.0, flip=False)

    def said(labelled: Labelled) -> float:
        made = Trainer(partial(ResNet18, 3, 8), data.inputs, 3, training, CPU)
        made.fit(labelled, np.random.default_rng(0))
        probs = made.logits(made.pixels.images[10:])[0].softmax(dim=1).numpy()
        return float(probs[rejected].mean())

    alone = Labelled(known, data.labels[:10], 3)
    assert said(Labelled(known, data.labels[:10], 3, partial_items, rejected)) < 0.5 * said(alone)


def test_a_loss_that_explodes_is_said() -> None:
    with pytest.raises(ShortlistError, match=r"the loss became (nan|inf); try a lower rate"):
        trainer(Training(batch=8, epochs=0, min_steps=30, rate=1e18)).fit(FULL, np.random.default_rng(0))


class Watched(Plain):
    """Remembers in which mode it was used."""

    modes: list[bool]

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        type(self).modes.append(self.training)
        return super().embed(images)


def test_it_trains_in_training_mode_and_predicts_in_evaluation_mode() -> None:
    Watched.modes = []
    made = Trainer(partial(Watched, 3), IMAGES, 3, Training(batch=8, epochs=0, min_steps=2), CPU)
    for _ in range(2):
        made.fit(FULL, np.random.default_rng(0))
        made.logits(made.pixels.images[:4])
    assert Watched.modes == [True, True, False] * 2


def test_images_that_do_not_fit_the_device_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.Tensor, "to", full)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2_000_000_000, 8_000_000_000))
    with pytest.raises(ShortlistError, match=r"the 30 images take 0\.0 GB, cuda has 2\.0 GB free; make them smaller"):
        on_device(IMAGES, torch.device("cuda"))


def test_a_batch_that_devices_cannot_share_is_refused() -> None:
    with pytest.raises(ShortlistError, match="batch: 9 cannot be shared by 2 devices"):
        Trainer(partial(Plain, 3), IMAGES, 3, Training(batch=9), CPU, world=2)


def test_channels_last_and_no_counting_of_batches() -> None:
    net = ResNet18(10, 8)
    assert not any("num_batches" in name for name in net.state_dict())
    made = Trainer(partial(ResNet18, 3, 8), IMAGES, 3, Training(), CPU)
    assert made.net.stem.weight.is_contiguous(memory_format=torch.channels_last)
    assert isinstance(made.net, nn.Module)
