"""What models share: what a round is learnt from, two splits, predictions in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Self, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from shortlist.system.arrays import blocks
from shortlist.system.digests import digest
from shortlist.types import Dataset, Ints, Labelled, Predictions, ShortlistError, Stream

Split = TypeVar("Split", bound=Sized)
Fitted = TypeVar("Fitted")


def check_settings(
    at: str, part: object, *, least: Mapping[str, float], positive: Sequence[str] = (), **choices: Any
) -> None:
    """Refuse numbers that are too small, None apart, and words that are none of their Literal's."""
    for name, value in vars(part).items():
        if name in least and value is not None and not value >= least[name]:
            raise ShortlistError(f"{at}.{name}: must be at least {least[name]}, not {value}")
        if name in positive and value is not None and not value > 0:
            raise ShortlistError(f"{at}.{name}: must be above 0, not {value}")
        if name in choices and value not in get_args(choices[name]):
            raise ShortlistError(f"{at}.{name}: must be {' or '.join(get_args(choices[name]))}, not {value!r}")


@dataclass(frozen=True)
class TrainingSet:
    """Items in ascending order, so that the order in which answers came in does not matter."""

    classes: Ints  # (k,) those with a label, ascending; the others get probability 0
    items: Ints  # (m,)
    codes: Ints  # (m,) labels as places in `classes`
    partial: Ints  # (q,) items of which at least one of the k classes is ruled out
    rejected: npt.NDArray[np.bool_]  # (q, k)
    n_classes: int

    @classmethod
    def of(cls, labelled: Labelled) -> Self:
        """
        >>> TrainingSet.of(Labelled(np.array([7, 2]), np.array([5, 3]), n_classes=6)).codes
        array([0, 1])
        """
        if not len(labelled.items):
            raise ShortlistError("a model cannot learn from no labels; label some items first")
        by_item = np.argsort(labelled.items)
        classes, codes = np.unique(labelled.labels[by_item], return_inverse=True)
        rejected = np.zeros((len(labelled.partial), labelled.n_classes), np.bool_)
        if labelled.rejected is not None:
            rejected |= labelled.rejected
        rejected = rejected[:, classes]
        ruling = np.flatnonzero(rejected.any(axis=1)) if len(classes) > 1 else np.empty(0, np.int64)
        ruling = ruling[np.argsort(labelled.partial[ruling])]
        own = (labelled.items[by_item], codes, labelled.partial[ruling], rejected[ruling])
        return cls(classes, *own, labelled.n_classes)

    @property
    def labels(self) -> Ints:  # (m,)
        return self.classes[self.codes]

    @property
    def digest(self) -> str:
        return digest(self.classes, self.items, self.codes, self.partial, self.rejected, self.n_classes)


class SplitModel(ABC, Generic[Split, Fitted]):
    """A model that prepares a training and perhaps a test split, and predicts rows of either by its last fit."""

    batch: int  # rows predicted together
    _train: Split | None = None
    _test: Split | None = None
    _fitted: Fitted | None = None

    @staticmethod
    @abstractmethod
    def _predict(fitted: Fitted, split: Split, rows: Ints) -> Predictions: ...

    def forget(self) -> None:
        """Discard the fit; keep the data."""
        self._fitted = None

    def predict(self, items: Ints) -> Stream:
        return self._stream(items, self._prepared())

    def predict_test(self) -> Stream:
        if self._test is None:
            raise ShortlistError(f"{self!r} has no test rows to predict: the dataset has no test split")
        n = self._test.shape[0] if hasattr(self._test, "shape") else len(self._test)  # a sparse matrix has no len
        return self._stream(np.arange(n), self._test)

    def _prepared(self) -> Split:
        if self._train is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return self._train

    def _learnt(self) -> Fitted:
        if self._fitted is None:
            raise ShortlistError(f"{self!r} has learnt nothing yet; call fit(labelled) first")
        return self._fitted

    def _stream(self, rows: Ints, split: Split) -> Stream:
        # The stream holds on to this fit, so its predictions stay the same after the next one.
        return Batches(rows, self.batch, partial(self._predict, self._learnt(), split))


@dataclass(frozen=True)
class Batches:
    """A stream of `predict(rows)`, `batch` rows at a time. Each reading predicts anew, so nothing is stored.

    >>> stream = Batches(np.arange(5), 2, lambda rows: Predictions(np.ones((len(rows), 1))))
    >>> [len(predictions.probs) for predictions in stream], sum(1 for _ in stream)
    ([2, 2, 1], 3)
    """

    rows: Ints  # (n,)
    batch: int
    predict: Callable[[Ints], Predictions]

    def __iter__(self) -> Iterator[Predictions]:
        return (self.predict(self.rows[block]) for block in blocks(len(self.rows), self.batch))


def is_same(dataset: Dataset, inputs: tuple[Any, Any] | None) -> bool:
    """Whether the dataset holds these training and test inputs.

    By identity: to compare what is in them would take as long as to read them.
    """
    return inputs is not None and dataset.inputs is inputs[0] and dataset.test_inputs is inputs[1]
