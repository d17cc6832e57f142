"""Pretrained encoders: loading, reading, caching, fine-tuning."""

from __future__ import annotations

from typing import Literal, TypeAlias

# the first token; the mean over tokens or places; the encoder's own; auto: whichever suits the encoder
Pooling: TypeAlias = Literal["auto", "cls", "mean", "pooler"]
