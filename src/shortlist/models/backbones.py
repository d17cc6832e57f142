"""Untrained networks for images, made from configurations of transformers: nothing is downloaded."""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch
from torch import nn

from shortlist.datasets.extra import require
from shortlist.types import ShortlistError


class Backbone(nn.Module):
    """Images (n, 3, H, W) of any size -> logits (n, n_classes)."""

    def __init__(self, body: nn.Module, width: int, n_classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.body = body
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        """(n, D)"""
        embeddings: torch.Tensor = self.dropout(self.body(images))
        return embeddings

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embed(images))
        return logits


def backbone(name: str, n_classes: int) -> Backbone:
    """EfficientNet-B3 or ViT-S/16, to be trained from scratch.

    >>> net = backbone("efficientnet-b3", n_classes=10)
    >>> net.head
    Linear(in_features=1536, out_features=10, bias=True)
    """
    require("transformers", extra="torch")
    if name == "efficientnet-b3":
        return Backbone(EfficientNetB3(), 1536, n_classes, dropout=0.3)
    if name == "vit-s16":
        return Backbone(ViTS16(), 384, n_classes)
    raise ShortlistError(f"backbone: {name!r} is none of efficientnet-b3, vit-s16")


class ViTS16(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTModel

        small = ViTConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536)
        self.vit = ViTModel(small, add_pooling_layer=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(n, 384) the class token; positions are stretched to images that are not 224×224."""
        said: Any = self.vit(pixel_values=images, interpolate_pos_encoding=True)
        token: torch.Tensor = said.last_hidden_state[:, 0]
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
        kept = torch.rand(len(maps), 1, 1, 1, device=maps.device) >= self.p
        return maps * kept / (1 - self.p)


def _initialise(module: nn.Module) -> None:
    """For training from scratch: transformers draws every scale of a normalisation from N(0, 0.02²), near 0."""
    if isinstance(module, nn.Conv2d):
        fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels / module.groups
        nn.init.normal_(module.weight, std=sqrt(2 / fan_out))
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.ones_(module.weight)
        module.momentum = 0.01  # the share of the new batch; the 0.99 in the configuration is that of the old ones
