"""Handwritten digits that come with scikit-learn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shortlist.datasets.arrays import Arrays
from shortlist.types import Ints, ShortlistError

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Digits(Arrays):
    """1,797 digits of 8×8 pixels as 64 features in 0..1, with a stratified test split that `seed` fixes.

    Keys are rows of scikit-learn's table, so an item keeps its key under any split. With `images` they are drawings to
    look at, grey on black, (N, 8, 8).

    >>> digits = Digits()
    >>> digits.inputs.shape, digits.test_inputs.shape, digits.kind
    ((1347, 64), (450, 64), 'features')
    """

    def __init__(self, test_share: float = 0.25, seed: int = 0, *, images: bool = False, words: bool = False) -> None:
        from sklearn.datasets import load_digits

        if not 0 <= test_share < 1:
            raise ShortlistError(f"digits: test_share is {test_share}; it has to be at least 0 and below 1")
        pixels, labels = load_digits(return_X_y=True)
        drawn = np.round(pixels * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8)
        inputs = drawn if images else (pixels / 16).astype(np.float32)  # 17 grey levels
        test = stratified(labels, test_share, seed)
        super().__init__(
            inputs[~test],
            labels[~test],
            keys=np.flatnonzero(~test),
            test_inputs=inputs[test] if test.any() else None,
            test_labels=labels[test] if test.any() else None,
            classes=WORDS if words else None,
            name="digits",
        )
        self._rebuilt_from(test_share=test_share, seed=seed, images=images or None, words=words or None)


def stratified(labels: Ints, share: float, seed: int) -> npt.NDArray[np.bool_]:
    """A mask that marks the same share of every class, at random."""
    marked = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = np.random.default_rng([seed, int(label)]).permutation(np.flatnonzero(labels == label))
        marked[members[: round(share * len(members))]] = True
    return marked
