"""A dataset's inputs as a pretrained encoder takes them: pixels of its size and range, or tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from shortlist.types import Ints

Batch: TypeAlias = "dict[str, torch.Tensor]"  # what the encoder is called with


@dataclass(frozen=True)
class Pixels:
    """Images resized whole to a square, which squeezes those that are none."""

    images: npt.NDArray[np.uint8]  # (N, H, W) or (N, H, W, 3)
    size: int
    mean: tuple[float, ...]  # of a channel, in 0..1
    std: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.images)

    def order(self, items: Ints) -> Ints:
        """Positions in `items`, in the order in which they are best read."""
        return np.arange(len(items))

    def batch(self, items: Ints, device: torch.device) -> Batch:
        """
        >>> one = Pixels(np.full((1, 2, 2), 255, np.uint8), size=4, mean=(0.5,) * 3, std=(0.25,) * 3)
        >>> pixels = one.batch(np.array([0]), torch.device("cpu"))["pixel_values"]
        >>> pixels.shape, pixels.unique()
        (torch.Size([1, 3, 4, 4]), tensor([2.]))
        """
        taken = torch.from_numpy(np.ascontiguousarray(self.images[items])).to(device)
        channels = taken[:, None] if taken.ndim == 3 else taken.permute(0, 3, 1, 2)
        square = F.interpolate(channels.float(), (self.size, self.size), mode="bilinear", antialias=True)
        mean, std = (torch.tensor(values, device=device)[:, None, None] for values in (self.mean, self.std))
        return {"pixel_values": (square / 255 - mean) / std}  # a grey image gets as many channels as the means are


@dataclass(frozen=True)
class Tokens:
    """Texts cut to the encoder's length, each batch padded to its longest."""

    tokens: Sequence[Sequence[int]]
    padding: int

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Any, length: int) -> Tokens:
        read = tokenizer(list(texts), truncation=True, max_length=length, return_attention_mask=False, verbose=False)
        padding = tokenizer.pad_token_id or 0
        return cls([ids or [padding] for ids in read["input_ids"]], padding)  # a text may be empty

    def __len__(self) -> int:
        return len(self.tokens)

    def order(self, items: Ints) -> Ints:
        """Positions in `items`, short texts first: a batch of similar lengths has little padding.

        >>> Tokens([[5, 6, 7], [5], [5, 6]], padding=0).order(np.array([0, 1, 2]))
        array([1, 2, 0])
        """
        return np.argsort([len(self.tokens[i]) for i in items], kind="stable")

    def batch(self, items: Ints, device: torch.device) -> Batch:
        """
        >>> Tokens([[5, 6], [7]], padding=0).batch(np.array([0, 1]), torch.device("cpu"))
        {'input_ids': tensor([[5, 6],
                [7, 0]]), 'attention_mask': tensor([[1, 1],
                [1, 0]])}
        """
        rows = [torch.tensor(self.tokens[i]) for i in items]
        masks = [torch.ones_like(row) for row in rows]
        pad = torch.nn.utils.rnn.pad_sequence
        return {
            "input_ids": pad(rows, batch_first=True, padding_value=self.padding).to(device),
            "attention_mask": pad(masks, batch_first=True).to(device),
        }
