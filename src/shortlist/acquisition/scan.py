"""One pass over a pool, in memory that grows with the number of items alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import fields, replace
from math import ceil
from typing import TypeAlias

from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

from shortlist.logits import Logits
from shortlist.probabilities import as_array
from shortlist.rows import check_batch, check_rows
from shortlist.types import Array, Pool, Predictions, ShortlistError

Take: TypeAlias = Callable[[Predictions], Array]  # (m, L) predictions -> (m, …) what is kept of them
Block: TypeAlias = tuple[int, Predictions]  # the position of the first item, and some items

WANTED = "need an array (items, classes), Logits, or a stream of Predictions"
BESIDE = tuple(f.name for f in fields(Predictions) if f.name != "probs")  # what a batch may carry with its matrix
BLOCK = 1 << 20  # probabilities looked at together: with their temporaries they stay in the cache
TENSOR_BLOCK = 1 << 24  # for tensors, which bring threads or a device of their own
THREADS = 16  # at most: they wait for memory before there are as many, and each has temporaries


def scan(pool: Pool, *takes: Take | None) -> list[Array | None]:
    """What each function takes from every item, in the order of the pool; the predictions are let go.

    The blocks of a NumPy batch are looked at side by side, a core each: NumPy lets go of the interpreter meanwhile.

    >>> import numpy as np
    >>> stream = [Predictions(np.array([[0.9, 0.1]])), Predictions(np.array([[0.2, 0.8], [0.5, 0.5]]))]
    >>> scan(Pool(stream), lambda batch: batch.probs.max(axis=1))
    [array([0.9, 0.8, 0.5])]
    """
    kept: list[list[Array]] = [[] for _ in takes]
    settings = copy_context()  # np.errstate does not reach other threads by itself

    def look(block: Block) -> list[Array | None]:
        first, items = block
        check_rows(items, first=first)
        return [None if take is None else take(items) for take in takes]

    with ThreadPoolExecutor(_cores()) as threads:  # none is started before it has something to do
        for start, batch in _batches(pool):
            blocks = list(_blocks(start, batch))
            side_by_side = min(len(blocks), _cores()) > 1 and is_numpy_array(batch.matrix)
            for taken in (threads.map if side_by_side else map)(lambda block: settings.copy().run(look, block), blocks):
                for part, out in zip(taken, kept, strict=True):
                    if part is not None:
                        out.append(part)
    return [array_namespace(out[0]).concat(out) if out else None for out in kept]


def _cores() -> int:
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(ours, THREADS)


def _batches(pool: Pool) -> Iterator[Block]:
    start, n_classes = 0, None
    for batch in _stream(pool):
        if not isinstance(batch, Predictions):
            raise ShortlistError(f"pool: {WANTED}, got a stream of {type(batch).__name__}")
        rows, width = check_batch(batch)
        if n_classes not in (None, width):
            raise ShortlistError(f"pool: {n_classes} classes up to item {start}, {width} from there on")
        yield start, _whole(batch, pool, slice(start, start + rows))
        start, n_classes = start + rows, width


def _whole(batch: Predictions, pool: Pool, part: slice) -> Predictions:
    """The batch in arrays, with its part of what the pool holds for all items."""
    own = {f.name: getattr(batch, f.name) for f in fields(batch) if f.init}
    arrays = {name: as_array(values, name) for name, values in own.items()}
    pools = {name: getattr(pool, name) for name in BESIDE if is_array_api_obj(getattr(pool, name))}
    arrays |= {name: values[part, ...] for name, values in pools.items()}
    return replace(batch, **arrays) if any(arrays[name] is not own[name] for name in own) else batch


def _stream(pool: Pool) -> Iterable[Predictions]:
    if is_array_api_obj(pool.probs):
        return [Predictions(pool.probs)]
    if isinstance(pool.probs, Predictions):
        return [pool.probs]
    if not isinstance(pool.probs, Iterable):
        raise ShortlistError(f"pool: {WANTED}, got {type(pool.probs).__name__}")
    return pool.probs


def _blocks(start: int, batch: Predictions) -> Iterator[Block]:
    rows, n_classes = batch.matrix.shape
    if rows == 0:
        return
    if isinstance(batch, Logits) and batch.fused is not None:
        yield start, batch  # kernels make nothing of the size of the batch, and each look waits for the device
        return
    most = max(1, (BLOCK if is_numpy_array(batch.matrix) else TENSOR_BLOCK) // n_classes)
    step = ceil(rows / ceil(rows / most))  # blocks of one size, so that no core waits for another
    arrays = {f.name: getattr(batch, f.name) for f in fields(batch) if f.init}
    for row in range(0, rows, step):
        part = {name: array[row : row + step, ...] for name, array in arrays.items() if array is not None}
        yield start + row, replace(batch, **part)
