"""Inputs that are read when somebody first touches them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np


class Deferred:
    """An array whose shape and type are known before its values are: keys and labels need not wait for pixels.

    >>> images = Deferred(lambda: np.zeros((2, 8, 8), np.uint8), shape=(2, 8, 8), dtype=np.uint8)
    >>> images.shape, images.dtype
    ((2, 8, 8), dtype('uint8'))
    >>> images.values.sum()  # read here, and kept
    np.uint64(0)
    """

    def __init__(self, read: Callable[[], Any], *, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._read = read
        self._lock = threading.Lock()  # four pictures that are asked for at once are one reading

    @property
    def values(self) -> Any:
        with self._lock:
            return self._values

    @cached_property
    def _values(self) -> Any:
        return self._read()
