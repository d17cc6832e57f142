"""ResNet18 for small images."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.network.norm import Norm


class ResNet18(nn.Module):
    """The paper's: a 3×3 stem and no pooling before the blocks, so that 32×32 images keep their pixels.

    >>> net = ResNet18(n_classes=10, width=8)
    >>> net(torch.zeros(2, 3, 32, 32)).shape, net.embed(torch.zeros(2, 3, 32, 32)).shape
    (torch.Size([2, 10]), torch.Size([2, 64]))
    """

    def __init__(self, n_classes: int, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = Norm(width)
        stages = OrderedDict[str, nn.Module]()
        wide = width
        for number, stride in enumerate((1, 2, 2, 2)):
            out = width * 2**number
            stages[f"stage{number + 1}"] = nn.Sequential(Block(wide, out, stride), Block(out, out, 1))
            wide = out
        self.stages = nn.Sequential(stages)
        self.head = nn.Linear(wide, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        """(n, D) of images (n, 3, H, W)."""
        maps: torch.Tensor = self.stages(F.relu(self.norm(self.stem(images))))
        return maps.mean(dim=(2, 3))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embed(images))
        return logits


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
