"""Networks by their names, untrained."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.torch_runtime import seeded
from shortlist.system.extras import require
from shortlist.types import ShortlistError


class Headed(nn.Module):
    """`embed`: a batch -> (n, D), and `head`: (n, D) -> logits (n, L)."""

    embed: Callable[[Any], torch.Tensor]
    head: nn.Linear

    def forward(self, batch: Any) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embed(batch))
        return logits


class Norm(nn.BatchNorm2d):
    """Batch normalisation without a count of its batches: it is not used, and a GPU would start a kernel for each."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.num_batches_tracked = None


# --- ResNet18 for small images ---


class ResNet18(Headed):
    """The paper's: a 3×3 stem and no pooling before the blocks, so that 32×32 images keep their pixels.

    >>> net = ResNet18(n_classes=10, width=8)
    >>> net(torch.zeros(2, 3, 32, 32)).shape, net.embed(torch.zeros(2, 3, 32, 32)).shape
    (torch.Size([2, 10]), torch.Size([2, 64]))
    """

    def __init__(self, n_classes: int, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = Norm(width)
        self.stages = nn.Sequential()
        wide = width
        for number, stride in enumerate((1, 2, 2, 2)):
            out = width * 2**number
            self.stages.add_module(f"stage{number + 1}", nn.Sequential(Block(wide, out, stride), Block(out, out, 1)))
            wide = out
        self.head = nn.Linear(wide, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        maps: torch.Tensor = self.stages(F.relu(self.norm(self.stem(images))))
        return maps.mean(dim=(2, 3))


class Block(nn.Module):
    def __init__(self, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide, out, 3, stride, padding=1, bias=False)
        self.norm1 = Norm(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm2 = Norm(out)
        same = stride == 1 and wide == out
        self.short = nn.Identity() if same else nn.Sequential(nn.Conv2d(wide, out, 1, stride, bias=False), Norm(out))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        inner = F.relu(self.norm1(self.conv1(maps)))
        return F.relu(self.norm2(self.conv2(inner)) + self.short(maps))


# --- The wide residual network of the 64×64 ImageNet ---


class WideResNet(Headed):
    """WRN-36-5: four groups of four blocks, five times as wide as the first ones, for images of 64×64.

    8 layers a group, the stem and the three 1×1 convolutions where groups get wider and smaller make 36.

    >>> net = WideResNet(n_classes=10, factor=1)
    >>> net(torch.zeros(1, 3, 64, 64)).shape, sum(p.ndim == 4 for p in net.parameters())
    (torch.Size([1, 10]), 36)
    """

    def __init__(self, n_classes: int, factor: int = 5, blocks: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.groups = nn.Sequential()
        wide = 16
        for number in range(4):
            out = 16 * factor * 2**number
            self.groups.append(WideBlock(wide, out, stride=1 if number == 0 else 2))
            self.groups.extend(WideBlock(out, out, stride=1) for _ in range(blocks - 1))
            wide = out
        self.norm = Norm(wide)
        self.head = nn.Linear(wide, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        maps = F.relu(self.norm(self.groups(self.stem(images))))
        return maps.mean(dim=(2, 3))


class WideBlock(nn.Module):
    """Norm and activation before each convolution."""

    def __init__(self, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.norm1 = Norm(wide)
        self.conv1 = nn.Conv2d(wide, out, 3, stride, padding=1, bias=False)
        self.norm2 = Norm(out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        same = stride == 1 and wide == out
        self.short = None if same else nn.Conv2d(wide, out, 1, stride, bias=False)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        active = F.relu(self.norm1(maps))
        inner: torch.Tensor = self.conv2(F.relu(self.norm2(self.conv1(active))))
        return inner + (maps if self.short is None else self.short(active))


# --- Networks of transformers, made from configurations: nothing is downloaded ---


class Backbone(Headed):
    """Images (n, 3, H, W) of any size -> logits (n, n_classes)."""

    def __init__(self, body: nn.Module, width: int, n_classes: int, dropout: float) -> None:
        super().__init__()
        self.body = body
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        embeddings: torch.Tensor = self.dropout(self.body(images))
        return embeddings


def backbone(name: str, n_classes: int) -> Backbone:
    """EfficientNet-B3 or ViT-S/16, to be trained from scratch."""
    require("transformers", extra="torch")
    body, width, dropout = FROM_TRANSFORMERS[name]
    return Backbone(body(), width, n_classes, dropout)


class ViTS16(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTModel

        small = ViTConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536)
        self.vit = ViTModel(small, add_pooling_layer=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(n, 384) the class token; positions are stretched to images that are not 224×224."""
        token: torch.Tensor = self.vit(pixel_values=images, interpolate_pos_encoding=True).last_hidden_state[:, 0]
        return token


class EfficientNetB3(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        from transformers import EfficientNetConfig, EfficientNetModel

        b3 = EfficientNetConfig(
            width_coefficient=1.2,
            depth_coefficient=1.4,
            hidden_dim=1536,
            image_size=300,
            depthwise_padding=[5, 18],
        )
        self.efficient = EfficientNetModel(b3)
        self.apply(_initialise)
        for block in self.efficient.encoder.blocks:
            block.projection.dropout = DropPath(block.projection.dropout.p)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(n, 1536) the mean over places."""
        maps: torch.Tensor = self.efficient(pixel_values=images).last_hidden_state
        return maps.mean(dim=(2, 3))


class DropPath(nn.Module):
    """A residual branch left out for whole images, as the paper of EfficientNet has it; transformers drops numbers."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        if not self.training or not self.p:
            return maps
        stays = torch.rand(len(maps), 1, 1, 1, device=maps.device) >= self.p
        return maps * stays / (1 - self.p)


def _initialise(module: nn.Module) -> None:
    """For training from scratch: transformers draws every scale of a normalisation from N(0, 0.02²), near 0."""
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels / module.groups
        nn.init.normal_(module.weight, std=sqrt(2 / fan_out))
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.ones_(module.weight)
        module.momentum = 0.01  # the share of the new batch; the 0.99 in the configuration is that of the old ones


# --- by name -----------------------------------------------------------------------------------------------------


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
        return partial(backbone, name, n_classes)
    raise ShortlistError(f"network.architecture: {name!r} is none of {', '.join(ARCHITECTURES)}")


def untrained(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """The same network for the same seed."""
    with seeded(seed, torch.device("cpu")):
        return build()


FROM_TRANSFORMERS = {"efficientnet-b3": (EfficientNetB3, 1536, 0.3), "vit-s16": (ViTS16, 384, 0.0)}
ARCHITECTURES = ("resnet18", "wrn-36-5", *FROM_TRANSFORMERS)
