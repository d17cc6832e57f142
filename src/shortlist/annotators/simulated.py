from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shortlist.probabilities import as_array
from shortlist.types import Answer, Ints, Question, ShortlistError


class Simulated:
    """Answers from given labels: true ones, noisy ones (see `noisy`), or a crowd's.

    Parameters
    ----------
    labels : (N,) the class that is answered for each item; (P, N) one row for each of P people, who take turns, where
        questions want several answers
    owner : (N,) what the owner decides where people differ and no majority settles it; None: it stays open
    """

    def __init__(self, labels: Any, owner: Any = None) -> None:
        self.labels: Ints = np.atleast_2d(_whole_numbers(labels, "labels", (1, 2)))
        self.owner: Ints | None = None if owner is None else _whole_numbers(owner, "owner", (1,))

    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """The answers to each question, in their order: as many as it wants, each by another person.

        >>> question = Question(id=1, round=2, item=0, key="a", purpose="query", classes=(3, 0), cuts=(2,), n_classes=5)
        >>> next(Simulated([4]).answer([question])).path  # "None of the above", then class 4
        (-1, 4)
        """
        people = len(self.labels)
        for question in questions:
            if question.wanted > people:
                raise ShortlistError(
                    f"simulated: {question.wanted} people are to answer, and there are labels of {people}; give labels "
                    "(P, N), a row for each person"
                )
            for person in ((question.item + turn) % people for turn in range(question.wanted)):
                path = question.path_to(_label(self.labels[person], question))
                name = f"simulated {person + 1}" if people > 1 else "simulated"
                yield Answer(question.id, "none" if path[-1] < 0 else "label", path, name)

    def decide(self, questions: Sequence[Question]) -> Iterator[Answer]:
        """The owner's last word on questions that people differ about.

        >>> question = Question(id=1, round=2, item=0, key="a", purpose="query", classes=(3, 0), cuts=(2,), n_classes=5)
        >>> [(answer.label, answer.final) for answer in Simulated([[4], [3]], owner=[3]).decide([question])]
        [(3, True)]
        """
        if self.owner is None:
            return
        for question in questions:
            path = question.path_to(_label(self.owner, question), decided=True)
            yield Answer(question.id, "label", path, "owner", final=True)


def _whole_numbers(labels: Any, what: str, dimensions: tuple[int, ...]) -> Ints:
    array: Ints = np.asarray(as_array(labels, what))
    if array.ndim not in dimensions or array.dtype.kind not in "iu":
        raise ShortlistError(f"simulated: {what} must be whole numbers, one per item, got {array.dtype} {array.shape}")
    return array


def _label(labels: Ints, question: Question) -> int:
    if question.item >= len(labels):
        raise ShortlistError(f"simulated: {len(labels)} labels, but item {question.key} is number {question.item}")
    label = int(labels[question.item])
    if not 0 <= label < question.n_classes:
        raise ShortlistError(
            f"simulated: item {question.key} has no label among {question.n_classes} classes (it says {label}); "
            "use dataset.labelled() to leave such items out"
        )
    return label


def noisy(labels: Any, epsilon: float, n_classes: int, seed: int | tuple[int, ...]) -> Ints:
    """Uniform label noise: with probability ε another class, uniformly; drawn once per item from the seed (or several).

    Every design and every re-ask of an item then hears the same answer. Unknown labels (−1) stay unknown.

    >>> noisy([0, 1, 2, 0], 0.5, n_classes=3, seed=1)
    array([0, 1, 0, 2])
    """
    if not 0 <= epsilon <= 1:
        raise ShortlistError(f"noise: epsilon must be from 0 to 1, got {epsilon}")
    truth: Ints = np.asarray(as_array(labels, "labels"), np.int64)
    rng = np.random.default_rng([*np.atleast_1d(seed).tolist(), 0x6E6F6973])
    wrong = rng.random(len(truth)) < epsilon
    shift = rng.integers(1, max(2, n_classes), len(truth))
    return np.where(wrong & (truth >= 0), (truth + shift) % n_classes, truth)
