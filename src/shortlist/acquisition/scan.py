"""One pass over a pool, in memory that grows with the number of items alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array

from shortlist.probabilities import check_matrix, check_probs
from shortlist.types import Array, Pool, Predictions, ShortlistError

Take: TypeAlias = Callable[[Predictions], Array]  # (m, L) predictions -> (m, …) what is kept of them
Block: TypeAlias = tuple[int, Predictions]  # the position of the first item, and some items

WANTED = "need an array (items, classes) or a stream of Predictions"
BLOCK = 1 << 20  # probabilities looked at together: with their temporaries they stay in the cache
TENSOR_BLOCK = 1 << 24  # for tensors, which bring threads or a device of their own


def scan(pool: Pool, *takes: Take | None) -> list[Array | None]:
    """What each function takes from every item, in the order of the pool; the predictions are let go.

    >>> import numpy as np
    >>> stream = [Predictions(np.array([[0.9, 0.1]])), Predictions(np.array([[0.2, 0.8], [0.5, 0.5]]))]
    >>> scan(Pool(stream), lambda batch: batch.probs.max(axis=1))
    [array([0.9, 0.8, 0.5])]
    """
    kept: list[list[Array]] = [[] for _ in takes]
    for start, batch in _batches(pool):
        for first, block in _blocks(start, batch):
            check_probs(block.probs, first=first)
            for take, out in zip(takes, kept, strict=True):
                if take is not None:
                    out.append(take(block))
    return [array_namespace(out[0]).concat(out) if out else None for out in kept]


def _batches(pool: Pool) -> Iterator[Block]:
    start, n_classes = 0, None
    for batch in _stream(pool):
        if not isinstance(batch, Predictions):
            raise ShortlistError(f"pool: {WANTED}, got a stream of {type(batch).__name__}")
        rows, width = check_matrix(batch.probs).shape
        if n_classes not in (None, width):
            raise ShortlistError(f"pool: {n_classes} classes up to item {start}, {width} from there on")
        yield start, batch
        start, n_classes = start + rows, width


def _stream(pool: Pool) -> Iterable[Predictions]:
    if is_array_api_obj(pool.probs):
        return [Predictions(pool.probs, pool.embeddings)]
    if not isinstance(pool.probs, Iterable):
        raise ShortlistError(f"pool: {WANTED}, got {type(pool.probs).__name__}")
    return pool.probs


def _blocks(start: int, batch: Predictions) -> Iterator[Block]:
    rows, n_classes = batch.probs.shape
    step = max(1, (BLOCK if is_numpy_array(batch.probs) else TENSOR_BLOCK) // n_classes)
    for row in range(0, rows, step):
        part = slice(row, row + step)
        embeddings = None if batch.embeddings is None else batch.embeddings[part, ...]
        yield start + row, Predictions(batch.probs[part, :], embeddings)
