"""Arrays between the host and a device: results come to NumPy, positions go where an array is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.types import Array, Ints


def to_numpy(array: Array) -> Any:
    """On the host, whatever it was: for results, which are small."""
    if isinstance(array, np.ndarray):
        return array
    there = array.detach().cpu()
    return np.asarray(there.float() if str(there.dtype) == "torch.bfloat16" else there)  # NumPy has no bfloat16


def as_index(positions: Ints, like: Array) -> Array:
    """Positions as an index of arrays of this kind, on the same device."""
    return positions if is_numpy_array(like) else array_namespace(like).asarray(positions, device=device(like))


def blocks(n: int, step: int) -> Iterator[slice]:
    """Slices of n rows, so many at a time.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(n, start + max(1, step))) for start in range(0, n, max(1, step)))
