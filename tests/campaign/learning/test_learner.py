"""How good a model is said to be, and what is asked of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.campaign.learning.learner import Learner, checked_picks, evaluate, features_of
from shortlist.campaign.questions.resolution import Resolution
from shortlist.datasets.arrays import Arrays
from shortlist.types import Predictions, ShortlistError
from tests.campaign.toys import campaign, data
from tests.cases import in_turn


@in_turn(
    ("predicted", "truth", "accuracy", "macro_f1"),
    [
        ([0, 1, 1, 1], [0, 0, 1, 1], 0.75, (2 / 3 + 4 / 5) / 2),
        ([0, 0], [0, 1], 0.5, (2 / 3 + 0) / 2),  # a class that is only in the truth counts
        ([0, 1], [0, 0], 0.5, (2 / 3 + 0) / 2),  # and one that is only predicted
        ([0, 4], [0, 4], 1, 1),  # those that are in neither do not
        ([2, 2], [1, 1], 0, 0),
    ],
)
def test_accuracy_and_macro_f1_by_hand(
    predicted: list[int], truth: list[int], accuracy: float, macro_f1: float
) -> None:
    found = evaluate(np.asarray(predicted), np.asarray(truth))
    assert (found["accuracy"], found["macro_f1"]) == pytest.approx((accuracy, macro_f1))
    low, high = found["interval"]
    assert 0 <= low <= accuracy <= high <= 1


# --- what is asked of parts ------------------------------------------------------------------------------------


@in_turn(
    ("picked", "words"),
    [
        ([0, 4], None),
        (np.array([4, 0], np.uint8), None),
        ([0, 5], "chose a position twice, or one outside the pool of 5 items"),
        ([-1, 0], "outside the pool of 5 items"),
        ([3, 3], "chose a position twice"),
        ([1], r"chose int64 of shape \(1,\); it has to choose 2 positions"),
        ([0.0, 1.0], "chose float64 of shape"),
        ([[0, 1]], "it has to choose 2 positions"),
    ],
)
def test_picks_are_different_positions_of_the_pool(picked: Any, words: str | None) -> None:
    if words is None:
        found = checked_picks(picked, 2, 5, "Mine")
        assert found.tolist() == list(picked)
        assert found.dtype == np.int64
    else:
        with pytest.raises(ShortlistError, match=f"Mine: .*{words}"):
            checked_picks(picked, 2, 5, "Mine")
    assert checked_picks(np.empty(0, np.int64), 0, 0, "Mine").tolist() == []


def test_distances_are_between_features_or_inputs_that_are_such() -> None:
    features, inputs = np.ones((3, 2)), np.arange(6).reshape(3, 2)
    assert features_of(Arrays(inputs, [0, 1, 0], features=features)) is not None
    found = features_of(Arrays(inputs, [0, 1, 0]))
    assert found is not None
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, inputs)
    wide = inputs.astype(np.float64)
    assert features_of(Arrays(wide, [0, 1, 0])).dtype == np.float64  # type: ignore[union-attr]
    assert features_of(Arrays(["a", "b", "c"], [0, 1, 0])) is None


class Said:
    """A model that gives these batches, whatever it is asked."""

    def __init__(self, *batches: Any) -> None:
        self.batches, self.prepared = batches, 0

    def predict(self, items: Any) -> Any:
        return self.batches

    def prepare(self, dataset: Any) -> None:
        self.prepared += 1


def learner(tmp_path: Path, *batches: Any) -> Learner:
    dataset = data(4, 3, test=0)
    with campaign(tmp_path / "run", dataset) as going:
        return Learner(Said(*batches), dataset, going.known)  # type: ignore[arg-type]


@in_turn(
    ("batches", "words"),
    [
        ([Predictions(np.full((4, 2), 0.5))], "it predicts 2 classes, and the campaign has 3"),
        ([Predictions(np.full((3, 3), 1 / 3))], "it was asked about 4 items and predicts 3"),
        ([Predictions(np.full((5, 3), 1 / 3))], "it was asked about 4 items and predicts 5"),
        ([np.full((4, 3), 1 / 3)], r"has to give batches of Predictions\(probs\), got an array of shape \(4, 3\)"),
        ([[1]], "got list"),
        ([Predictions(np.full((4, 3), 1 / 3))], None),
        ([Predictions(np.full((n, 3), 1 / 3)) for n in (1, 2, 1)], None),
    ],
)
def test_predictions_are_of_every_item_and_every_class(tmp_path: Path, batches: Any, words: str | None) -> None:
    reading = learner(tmp_path, *batches).predictions(np.arange(4), Resolution())
    if words is None:
        assert sum(len(batch.probs) for batch in reading) == 4
    else:
        with pytest.raises(ShortlistError, match=f"model: .*{words}"):
            list(reading)


def test_what_an_acquisition_needs_comes_with_every_batch(tmp_path: Path) -> None:
    whole = Predictions(np.full((2, 3), 1 / 3), np.ones((2, 4)))
    reading = learner(tmp_path, whole, replace(whole, embeddings=None)).predictions(
        np.arange(4), Resolution(), frozenset({"embeddings", "features"})
    )
    with pytest.raises(
        ShortlistError, match=r"acquisition: it needs embeddings, and .* gives none for arrays; use dense"
    ):
        list(reading)
    assert len(list(learner(tmp_path, whole, whole).predictions(np.arange(4), Resolution()))) == 2


def test_what_was_ruled_out_is_taken_out_of_every_prediction(tmp_path: Path) -> None:
    """Of samples too, item by item, also in a later batch."""
    probs, samples = np.full((2, 3), 1 / 3), np.full((2, 5, 3), 1 / 3)
    first, second = learner(tmp_path, Predictions(probs, samples=samples), Predictions(probs)).predictions(
        np.arange(4), Resolution(rejected={1: {0}, 2: {0, 2}})
    )
    np.testing.assert_allclose(first.probs, np.array([[1 / 3] * 3, [0, 0.5, 0.5]]))
    np.testing.assert_allclose(second.probs, np.array([[0, 1, 0], [1 / 3] * 3]))
    assert first.samples is not None
    np.testing.assert_allclose(first.samples, np.array([[[1 / 3] * 3] * 5, [[0, 0.5, 0.5]] * 5]))


def test_the_model_reads_the_dataset_once(tmp_path: Path) -> None:
    made = learner(tmp_path)
    made.prepare()
    made.prepare()
    assert made.model.prepared == 1  # type: ignore[attr-defined]


def test_the_most_probable_class_and_how_probable(tmp_path: Path) -> None:
    batch = Predictions(np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], np.float32))
    best, probs = learner(tmp_path, batch, batch).most_probable(np.arange(4), Resolution())
    assert best.tolist() == [1, 0, 1, 0]
    assert best.dtype == np.int64
    assert probs.tolist() == pytest.approx([0.5, 0.6, 0.5, 0.6])


def test_only_what_an_acquisition_needs_is_worked_out(tmp_path: Path) -> None:
    made = learner(tmp_path, Predictions(np.full((4, 3), 1 / 3), np.ones((4, 2))))
    pool = made.pool(np.arange(4), frozenset({"probs"}), Resolution())
    assert (pool.features, pool.labelled_features, pool.labelled_embeddings, pool.losses) == (None, None, None, None)
    assert (pool.size, pool.n_classes, len(list(pool.probs))) == (4, 3, 1)
    pool = made.pool(np.arange(3), frozenset({"features", "labelled_features"}), Resolution(labels={3: 0}))
    assert pool.probs is None
    assert [len(pool.features), len(pool.labelled_features)] == [3, 1]  # type: ignore[arg-type]
