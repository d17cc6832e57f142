"""Large matrices are worked out a tile at a time; what a tile may hold depends on where the arrays live."""

from __future__ import annotations

from collections.abc import Iterator

from shortlist.devices import on_cuda
from shortlist.types import Array

TILE = 1 << 19  # numbers held at once: they stay in the cache
CUDA_TILE = 1 << 27  # a GPU wants few and large pieces


def numbers(like: Array) -> int:
    """How many numbers a tile may hold beside this array."""
    return CUDA_TILE if on_cuda(like) else TILE


def parts(n: int, step: int) -> Iterator[slice]:
    """
    >>> list(parts(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(n, start + max(1, step))) for start in range(0, n, max(1, step)))


def bands(like: Array, width: int) -> Iterator[slice]:
    """The rows of an array, so many at a time that a tile this wide is not too large.

    >>> import numpy as np
    >>> list(bands(np.ones((3000, 2)), width=300))
    [slice(0, 1747, None), slice(1747, 3000, None)]
    """
    return parts(int(like.shape[0]), numbers(like) // max(1, width))
