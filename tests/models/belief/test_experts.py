"""Each expert by itself: what it says, and that what it says of labelled items does not rest on their labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shortlist import Arrays, Labelled, Means, Names, Neighbours, ShortlistError
from shortlist.models.belief.expert import Voice
from shortlist.models.model import TrainingSet
from shortlist.types import Ints

WORDS = {"card_theft": ["my card was stolen", "a thief took my card"], "weather": ["will it rain", "is it sunny"]}


def clouds(n: int = 90, test: int = 12) -> Arrays:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 8))
    labels = rng.integers(5, size=n + test)
    rows = (centres[labels] + 0.5 * rng.normal(size=(n + test, 8))).astype(np.float32)
    classes = ["a", "b", "c", "d", "e"]
    return Arrays(rows[:n], labels[:n], classes=classes, test_inputs=rows[n:], test_labels=labels[n:])


def learnt(items: Ints, labels: Ints, n_classes: int = 5) -> TrainingSet:
    return TrainingSet.of(Labelled(items, labels, n_classes))


def softmax(logs: Any) -> Any:
    e = np.exp(logs - logs.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("expert", [Neighbours(k=6), Neighbours(k=6, steps=1), Neighbours(k=6, steps=5), Means()])
def test_what_is_held_out_is_what_a_fit_without_the_item_says(expert: Any) -> None:
    data, items = clouds(), np.arange(0, 90, 2)
    expert.prepare(data)
    (voice,) = expert.fit(learnt(items, data.labels[items]))
    for at in (0, 7, 31, 44):
        rest = np.delete(items, at)
        (without,) = expert.fit(learnt(rest, data.labels[rest]))
        told, expected = voice.held_out[at : at + 1], without.logs(items[at : at + 1])
        np.testing.assert_allclose(softmax(told), softmax(expected), atol=1e-4)


@pytest.mark.parametrize("expert", [Neighbours(k=6), Means()])
def test_they_know_items_and_the_test_split(expert: Any) -> None:
    data, items = clouds(), np.arange(40)
    expert.prepare(data)
    voice: Voice
    (voice,) = expert.fit(learnt(items, data.labels[items]))
    rest = np.arange(40, 90)
    assert (voice.logs(rest).argmax(axis=1) == data.labels[rest]).mean() > 0.75
    assert data.test_labels is not None
    assert (voice.logs_of_test(np.arange(12)).argmax(axis=1) == data.test_labels).mean() > 0.6


def test_an_item_that_no_label_reaches_is_no_opinion() -> None:
    far = np.concatenate([np.eye(1, 4, 0) + 0.01 * np.eye(4)[:3], np.eye(1, 4, 3) + 0.01 * np.eye(4)[:3]])
    data = Arrays(far.astype(np.float32), classes=["a", "b"])
    expert = Neighbours(k=2)
    expert.prepare(data)
    (voice,) = expert.fit(learnt(np.array([0]), np.array([1]), 2))
    near, nothing = softmax(voice.logs(np.array([1, 4])))
    assert near[1] > 0.9
    np.testing.assert_allclose(nothing, 0.5, atol=1e-6)


def test_an_expert_without_data_says_so() -> None:
    for expert in (Neighbours(), Means(), Names("package:wordllama")):
        with pytest.raises(ShortlistError, match=r"has no data yet; call prepare\(dataset\) first"):
            expert.fit(learnt(np.array([0]), np.array([0])))
    lonely = Arrays(np.ones((1, 2), np.float32), classes=["a", "b"])
    with pytest.raises(ShortlistError, match="has one item, and no neighbours"):
        Neighbours().prepare(lonely)


# --- names -------------------------------------------------------------------------------------------------------


def requests(**fields: Any) -> Arrays:
    texts = [text for texts in WORDS.values() for text in texts]
    return Arrays(texts, np.array([0, 0, 1, 1]), classes=list(WORDS), **fields)


NONE = np.empty(0, np.int64)
NOTHING = TrainingSet(NONE, NONE, NONE, NONE, np.empty((0, 0), np.bool_), 2)


def test_names_need_no_label() -> None:
    pytest.importorskip("wordllama")
    expert = Names("package:wordllama")
    expert.prepare(requests(test_inputs=["rain"], test_labels=np.array([1])))
    for voice in expert.fit(NOTHING):
        assert voice.logs(np.arange(4)).argmax(axis=1).tolist() == [0, 0, 1, 1]
        assert voice.logs_of_test(np.arange(1)).argmax() == 1


def test_descriptions_are_read_instead_and_names_in_the_labels_order() -> None:
    pytest.importorskip("wordllama")
    data = Arrays(["a thief", "will it rain"], classes=["x1", "x2"])
    expert = Names("package:wordllama", descriptions={"x1": "rain and weather", "x2": "crime and theft"})
    expert.prepare(data)
    assert expert.fit(NOTHING)[0].logs(np.arange(2)).argmax(axis=1).tolist() == [1, 0]
    expert.name_classes(["x2", "x1"])
    assert expert.fit(NOTHING)[0].logs(np.arange(2)).argmax(axis=1).tolist() == [0, 1]


def test_names_by_the_encoder_of_the_model() -> None:
    pytest.importorskip("wordllama")
    expert = Names()
    expert.prepare(requests(), SimpleNamespace(encoder="package:wordllama"))
    assert expert.fit(NOTHING)[0].logs(np.arange(4)).argmax(axis=1).tolist() == [0, 0, 1, 1]


def test_what_names_refuse() -> None:
    pytest.importorskip("wordllama")
    with pytest.raises(ShortlistError, match="no encoder to read the classes' names with"):
        Names().prepare(requests())
    with pytest.raises(ShortlistError, match="a description is of 'theft', which is no class of"):
        Names("package:wordllama", descriptions={"theft": "crime"}).prepare(requests())
    with pytest.raises(ShortlistError, match="class '_' has no name to read"):
        Names("package:wordllama").prepare(Arrays(["x", "y"], classes=["_", "b"]))
    expert = Names("package:wordllama")
    expert.prepare(requests())
    with pytest.raises(ShortlistError, match="2 classes are named, and labels are of 3"):
        expert.fit(learnt(np.array([0]), np.array([2]), 3))
