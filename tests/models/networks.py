"""Small networks for tests."""

from __future__ import annotations

import torch
from torch import nn


class Plain(nn.Module):
    """No batch normalisation: every item is seen as if it were alone."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.head = nn.Linear(6, n_classes)

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(images)).mean(dim=(2, 3))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.head(self.embed(images))
        return logits


class Dropping(Plain):
    """Draws while it trains."""

    def embed(self, images: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(super().embed(images), 0.5, training=self.training)
