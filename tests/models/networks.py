"""Small networks for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
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


SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def tiny_vit(folder: Path) -> Path:
    """Drawn at random and saved as transformers does, with a processor's settings, and without a pooler."""
    transformers: Any = pytest.importorskip("transformers")
    torch.manual_seed(0)
    tiny = transformers.ViTConfig(**SMALL, image_size=8, patch_size=4)
    transformers.ViTModel(tiny, add_pooling_layer=False).save_pretrained(folder)
    settings = {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.25, 0.3], "size": {"height": 8, "width": 8}}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder
