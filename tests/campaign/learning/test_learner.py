"""How good a model is said to be, and what is asked of it."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.campaign.learning.learner import evaluate
from tests.cases import in_turn


@in_turn(
    ("predicted", "truth", "accuracy", "macro_f1"),
    [
        ([0, 1, 1, 1], [0, 0, 1, 1], 75, 100 * (2 / 3 + 4 / 5) / 2),
        ([0, 0], [0, 1], 50, 100 * (2 / 3 + 0) / 2),  # a class that is only in the truth counts
        ([0, 1], [0, 0], 50, 100 * (2 / 3 + 0) / 2),  # and one that is only predicted
        ([0, 4], [0, 4], 100, 100),  # those that are in neither do not
        ([2, 2], [1, 1], 0, 0),
    ],
)
def test_accuracy_and_macro_f1_by_hand(
    predicted: list[int], truth: list[int], accuracy: float, macro_f1: float
) -> None:
    found = evaluate(np.asarray(predicted), np.asarray(truth))
    assert (found["accuracy"], found["macro_f1"]) == pytest.approx((accuracy, macro_f1))
    low, high = found["interval"]
    assert 0 <= low <= accuracy <= high <= 100
