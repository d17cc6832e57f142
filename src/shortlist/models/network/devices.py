from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.types import ShortlistError

if TYPE_CHECKING:
    import torch


def chosen(name: str) -> torch.device:
    """The device of this name; `auto` is a GPU if there is one.

    >>> chosen("cpu")
    device(type='cpu')
    """
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(name)
    except RuntimeError as error:
        raise ShortlistError(f"device: {name!r} is none of auto, cpu, cuda: {error}") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ShortlistError(f"device: {name!r} was asked for, and torch finds no GPU here; use auto or cpu")
    return found
