"""The same work on many parts, a core each."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")
SMALL = 1 << 27  # multiplications in one product


def on_all_cores(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """The results in the order of the parts. For work that lets go of the interpreter: libsvm, NumPy, BLAS.

    BLAS keeps to one thread meanwhile: small products are many times slower when its threads wait for each
    other on busy cores, and one thread gives the same bits however many cores there are.

    >>> on_all_cores(lambda part: part**2, [1, 2, 3])
    [1, 4, 9]
    """
    with _threadpools().limit(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return list(threads.map(work, parts))


@contextmanager
def few_threads(inputs: Any, classes: int) -> Iterator[None]:
    """BLAS with one thread while a linear model of these inputs (n, D) is too small to be worth sharing.

    Fitting 890 digits took three times as long with two threads as with one.
    """
    with (
        _threadpools().limit(limits=1, user_api="blas") if math.prod(inputs.shape) * classes < SMALL else nullcontext()
    ):
        yield


@cache
def _threadpools() -> Any:
    return ThreadpoolController()  # finding the libraries takes 10 ms: once is enough
