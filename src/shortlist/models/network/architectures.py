"""Networks by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from shortlist.models.network.resnet import ResNet18
from shortlist.models.network.wide_resnet import WideResNet
from shortlist.models.seeding import seeded
from shortlist.types import ShortlistError


def architecture(name: str, n_classes: int, width: int | None = None) -> Callable[[], nn.Module]:
    """What makes an untrained network, with `embed`: images (n, 3, H, W) → (n, D), and `head`: (n, D) → (n, L).

    `width` makes it narrower or wider: the channels of ResNet18's first stage (64), a wide network's factor (5).

    >>> architecture("resnet18", n_classes=10, width=8)().head
    Linear(in_features=64, out_features=10, bias=True)
    """
    if name == "resnet18":
        return partial(ResNet18, n_classes, width or 64)
    if name == "wrn-36-5":
        return partial(WideResNet, n_classes, width or 5)
    if name in FROM_TRANSFORMERS:
        if width is not None:
            raise ShortlistError(f"network.width: {name} has none")
        from shortlist.models.backbones import backbone

        return partial(backbone, name, n_classes)
    raise ShortlistError(f"network.architecture: {name!r} is none of {', '.join(ARCHITECTURES)}")


def untrained(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """The same network for the same seed."""
    with seeded(seed, torch.device("cpu")):
        return build()


FROM_TRANSFORMERS = ("efficientnet-b3", "vit-s16")
ARCHITECTURES = ("resnet18", "wrn-36-5", *FROM_TRANSFORMERS)
