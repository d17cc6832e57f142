"""The same work on many parts, a core each; BLAS on one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")


def on_all_cores(work: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """The results in the order of the parts. For work that lets go of the interpreter: libsvm, NumPy, BLAS.

    BLAS keeps to one thread meanwhile: small products are many times slower when its threads wait for each
    other on busy cores, and one thread gives the same bits however many cores there are.

    >>> on_all_cores(lambda part: part**2, [1, 2, 3])
    [1, 4, 9]
    """
    with _threadpools().limit(limits=1, user_api="blas"), ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        return list(threads.map(work, parts))


def on_one_thread(work: Callable[[], Result]) -> Result:
    """The result of work during which BLAS keeps to one thread: the same bits on every machine.

    It is no sacrifice: fitting 890 digits took three times as long with two threads as with one.
    """
    with _threadpools().limit(limits=1, user_api="blas"):
        return work()


@cache
def _threadpools() -> Any:
    return ThreadpoolController()  # finding the libraries takes 10 ms: once is enough
