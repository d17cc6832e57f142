"""Which device torch works on, in which precision, and random numbers of torch that are a round's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from shortlist.types import ShortlistError

if TYPE_CHECKING:
    import torch


def chosen(name: str) -> torch.device:
    """The device of this name; `auto` is a GPU if there is one."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ShortlistError(f"device: {name!r} is none of auto, cpu, cuda: {error}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ShortlistError(f"device: {name!r} was asked for, and torch finds no GPU here; use auto or cpu")
    return device


def precision(device: torch.device, half: bool | None = None) -> AbstractContextManager[Any]:
    """bfloat16 where `half` says so; None: on a GPU."""
    import torch

    half = device.type == "cuda" if half is None else half
    return torch.autocast(device.type, torch.bfloat16) if half else nullcontext()


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """What is drawn inside, on the CPU or that GPU, follows from the seed; what is drawn afterwards is unaffected.

    >>> import torch
    >>> def drawn() -> float:
    ...     with seeded(5, torch.device("cpu")):
    ...         return torch.rand(1).item()
    >>> drawn() == drawn()
    True
    """
    import torch

    index = torch.cuda.current_device() if device.type == "cuda" and device.index is None else device.index
    gpus = [index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        # torch.manual_seed would seed all the other GPUs as well, which are not restored
        for generator in [torch.default_generator, *(torch.cuda.default_generators[gpu] for gpu in gpus)]:
            generator.manual_seed(seed)
        yield
