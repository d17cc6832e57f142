"""The wide residual network of the 64×64 ImageNet."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.network.norm import Norm


class WideResNet(nn.Module):
    """WRN-36-5: four groups of four blocks, five times as wide as the first ones, for images of 64×64.

    8 layers a group, the stem and the three 1×1 convolutions where groups get wider and smaller make 36.

    >>> net = WideResNet(n_classes=10, factor=1)
    >>> net(torch.zeros(1, 3, 64, 64)).shape, sum(p.ndim == 4 for p in net.parameters())
    (torch.Size([1, 10]), 36)
    """

    def __init__(self, n_classes: int, factor: int = 5, blocks: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        groups: list[nn.Module] = []
        wide = 16
        for number in range(4):
            out = 16 * factor * 2**number
            groups.append(Block(wide, out, stride=1 if number == 0 else 2))
            groups.extend(Block(out, out, stride=1) for _ in range(blocks - 1))
            wide = out
        self.groups = nn.Sequential(*groups)
        self.norm = Norm(wide)
        self.head = nn.Linear(wide, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        """(n, D) of images (n, 3, H, W)."""
        maps = F.relu(self.norm(self.groups(self.stem(images))))
        return maps.mean(dim=(2, 3))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embed(images))
        return logits


class Block(nn.Module):
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
