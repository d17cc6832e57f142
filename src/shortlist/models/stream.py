"""Predictions in batches, worked out while somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shortlist.types import Ints, Predictions


@dataclass(frozen=True)
class Batches:
    """A stream of `predict(rows)`, `batch` rows at a time. Each reading predicts anew, so nothing is kept.

    >>> import numpy as np
    >>> stream = Batches(np.arange(5), 2, lambda rows: Predictions(np.ones((len(rows), 1))))
    >>> [len(predictions.probs) for predictions in stream], sum(1 for _ in stream)
    ([2, 2, 1], 3)
    """

    rows: Ints  # (n,)
    batch: int
    predict: Callable[[Ints], Predictions]

    def __iter__(self) -> Iterator[Predictions]:
        for start in range(0, len(self.rows), self.batch):
            yield self.predict(self.rows[start : start + self.batch])
