"""Pretrained encoders: where they are, loading, reading, caching, fine-tuning."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.types import Kind

# the first token; the mean over tokens or places; the encoder's own; auto: whichever suits the encoder
Pooling: TypeAlias = Literal["auto", "cls", "mean", "pooler"]
Features: TypeAlias = npt.NDArray[np.float32]  # (n, D)


class Loaded(Protocol):
    """An encoder in memory, of whatever framework: from inputs of its kind to one vector for each item."""

    @property
    def kind(self) -> Kind: ...
    @property
    def digest(self) -> str: ...  # of everything its vectors depend on, but for the device
    def is_half(self, device: str) -> bool: ...  # whether it works with 16 bits there: other vectors than with 32
    def encode(self, inputs: Any, batch: int, device: str, what: str) -> Features: ...  # `what` stands beside the bar
