"""Random numbers of torch that are a round's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """What is drawn inside, on the CPU or that GPU, follows from the seed; what is drawn after does not know of it.

    >>> def drawn() -> float:
    ...     with seeded(5, torch.device("cpu")):
    ...         return torch.rand(1).item()
    >>> drawn() == drawn()
    True
    """
    gpus = [_indexed(device)] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        # torch.manual_seed would seed all the other GPUs as well, and nobody would restore them
        for generator in [torch.default_generator, *(torch.cuda.default_generators[gpu] for gpu in gpus)]:
            generator.manual_seed(seed)
        yield


def _indexed(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index
