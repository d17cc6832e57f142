from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shortlist.probabilities import as_array
from shortlist.types import Answer, Ints, Question, ShortlistError


class Simulated:
    """Answers from given labels: true ones, noisy ones (see `noisy`), or a crowd's."""

    def __init__(self, labels: Any) -> None:
        self.labels: Ints = np.asarray(as_array(labels, "labels"))
        if self.labels.ndim != 1 or self.labels.dtype.kind not in "iu":
            raise ShortlistError(
                f"simulated: labels must be whole numbers, one per item, got {self.labels.dtype} {self.labels.shape}"
            )

    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """The answer to each question, in their order.

        >>> question = Question(id=1, round=2, item=0, key="a", purpose="query", classes=(3, 0), cuts=(2,), n_classes=5)
        >>> next(Simulated([4]).answer([question])).path  # "None of the above", then class 4
        (-1, 4)
        """
        for question in questions:
            path = question.path_to(self._label(question))
            yield Answer(question.id, "none" if path[-1] < 0 else "label", path)

    def _label(self, question: Question) -> int:
        if question.item >= len(self.labels):
            raise ShortlistError(
                f"simulated: {len(self.labels)} labels, but item {question.key} is number {question.item}"
            )
        label = int(self.labels[question.item])
        if not 0 <= label < question.n_classes:
            raise ShortlistError(
                f"simulated: item {question.key} has no label among {question.n_classes} classes (it says {label}); "
                "use dataset.labelled() to leave such items out"
            )
        return label


def noisy(labels: Any, epsilon: float, n_classes: int, seed: int) -> Ints:
    """Uniform label noise: with probability ε another class, uniformly; drawn once per item from the seed.

    Every design and every re-ask of an item then hears the same answer. Unknown labels (−1) stay unknown.

    >>> noisy([0, 1, 2, 0], 0.5, n_classes=3, seed=1)
    array([0, 1, 0, 2])
    """
    if not 0 <= epsilon <= 1:
        raise ShortlistError(f"noise: epsilon must be from 0 to 1, got {epsilon}")
    truth: Ints = np.asarray(as_array(labels, "labels"), np.int64)
    rng = np.random.default_rng([seed, 0x6E6F6973])
    wrong = rng.random(len(truth)) < epsilon
    shift = rng.integers(1, max(2, n_classes), len(truth))
    return np.where(wrong & (truth >= 0), (truth + shift) % n_classes, truth)
