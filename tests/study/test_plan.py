"""What a study shows: the truth inside, different options, the same items for everybody, even groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.image_folder import ImageFolder
from shortlist.study.plan import (
    KEYS,
    SIDE,
    Item,
    Settings,
    check_groups,
    next_group,
    order_for,
    pictures,
    plan_study,
    signs,
)
from shortlist.study.store import Person
from shortlist.types import Array, Ints, ShortlistError
from shortlist.web.items import png

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 5))
NOW = datetime(2025, 1, 1, tzinfo=UTC)


def planned(labels: Ints, n_classes: int, probs: Array | None = None, **asked: Any) -> list[Item]:
    return plan_study(labels, n_classes, Settings({"name": "toy"}, **asked), probs)


@given(st.integers(0, 10_000), st.sets(st.integers(2, 35), min_size=1, max_size=4), st.integers(1, 60))
def test_the_laws_of_a_plan(seed: int, sizes: set[int], items: int) -> None:
    groups = sorted(sizes)
    plan = planned(LABELS, 40, items=items, groups=tuple(groups), seed=seed)
    assert [item.practice for item in plan] == [True] * 3 + [False] * items
    assert len({item.position for item in plan}) == items + 3
    for item in plan:
        assert item.truth == LABELS[item.position]
        assert list(item.options) == groups
        for k, options in item.options.items():
            assert len(options) == len(set(options)) == k
            assert item.truth in options
            assert all(0 <= c < 40 for c in options)
        for small, large in pairwise(groups):
            assert set(item.options[small]) < set(item.options[large])


def test_one_item_a_class_until_all_had_a_turn() -> None:
    plan = planned(LABELS, 40, items=37, seed=1)
    assert len({item.truth for item in plan}) == 40
    again = Counter(item.truth for item in planned(LABELS, 40, items=77, seed=1))
    assert set(again.values()) == {2}


def test_the_same_seed_is_the_same_study_and_another_is_another() -> None:
    assert planned(LABELS, 40, seed=5) == planned(LABELS, 40, seed=5)
    assert planned(LABELS, 40, seed=5) != planned(LABELS, 40, seed=6)


def test_a_group_more_changes_nothing_for_the_others() -> None:
    few, more = planned(LABELS, 40, groups=(4, 8)), planned(LABELS, 40, groups=(4, 8, 16))
    assert [item.options[8] for item in few] == [item.options[8] for item in more]


def test_the_truth_stands_anywhere() -> None:
    places = Counter(item.options[4].index(item.truth) for seed in range(60) for item in planned(LABELS, 40, seed=seed))
    assert set(places) == {0, 1, 2, 3}
    assert min(places.values()) > 0.8 * max(places.values())


def test_with_probabilities_the_wrong_options_are_the_likeliest() -> None:
    probs = np.random.default_rng(3).dirichlet(np.ones(40), len(LABELS))
    for item in planned(LABELS, 40, groups=(2, 6), probs=probs):
        row = probs[item.position].copy()
        row[item.truth] = -1
        assert set(item.options[6]) - {item.truth} == set(np.argsort(-row)[:5].tolist())


def test_items_without_a_label_are_never_shown() -> None:
    labels = LABELS.copy()
    labels[::2] = -1
    assert all(labels[item.position] >= 0 for item in planned(labels, 40))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"groups": (4, 64)}, "from 2 to 35"),
        ({"groups": (8, 4)}, "that grow"),
        ({"groups": ()}, "that grow"),
        ({"groups": (1, 4)}, "from 2"),
        ({"items": 0}, "at least 1"),
        ({"items": 500}, "503 are needed .* only 200"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], words: str) -> None:
    with pytest.raises(ShortlistError, match=words):
        planned(LABELS, 40, **asked)


def test_more_options_than_classes_are_refused_with_what_would_fit() -> None:
    with pytest.raises(ShortlistError, match=r"32 options need as many classes, and there are 10; .* 2,4,8"):
        planned(np.repeat(np.arange(10), 9), 10)


# --- people ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 60))
def test_groups_never_differ_by_more_than_one(seed: int, n: int) -> None:
    there: Counter[int] = Counter()
    for person in range(n):
        there[next_group((4, 8, 16, 32), there, seed, person)] += 1
        assert max(there.values()) - min(there[k] for k in (4, 8, 16, 32)) <= 1


def test_ties_fall_to_any_group() -> None:
    assert {next_group((4, 8, 16), Counter(), 0, person) for person in range(40)} == {4, 8, 16}


def test_who_gave_up_is_no_longer_under_way() -> None:
    began = {"now": NOW, "just in time": NOW - timedelta(minutes=59), "long ago": NOW - timedelta(hours=1)}
    people = {when: Person(1, None, 4, [], started.isoformat(), None, 0) for when, started in began.items()}
    assert [when for when, person in people.items() if person.is_under_way(NOW)] == ["now", "just in time"]
    assert not replace(people["now"], finished=NOW.isoformat()).is_under_way(NOW)


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(0, 4))
def test_everybody_sees_every_item_once_and_practice_first(seed: int, items: int, practice: int) -> None:
    flags = [True] * practice + [False] * items
    orders = [order_for(person, flags, seed) for person in range(3)]
    assert all(sorted(order) == list(range(items + practice)) for order in orders)
    assert all(order[:practice] == list(range(practice)) for order in orders)


# --- what is shown ---------------------------------------------------------------------------------------------


def test_signs_are_those_on_no_key() -> None:
    names = ["Latin a", "Greek Ω", "Digit 7", "Cyrillic Ж", "Latin É"]
    pixels = np.arange(7 * 4, dtype=np.uint8).reshape(7, 2, 2)
    glyphs = Arrays(pixels, [0, 1, 2, 3, 4, 3, 1], classes=names, keys=[f"k{i}" for i in range(7)])
    kept = signs(glyphs)
    assert (kept.classes, kept.keys) == (("Ω", "Ж"), ("k1", "k3", "k5", "k6"))
    assert kept.labels.tolist() == [0, 1, 1, 0]
    np.testing.assert_array_equal(np.asarray(kept.inputs), pixels[[1, 3, 5, 6]])
    shown = pictures(kept, [3, 0])
    assert shown == [png(pixels[6]), png(pixels[1])]
    with pytest.raises(ShortlistError, match="its items are features; a study shows images"):
        pictures(Arrays(np.ones((2, 2)), [0, 1]), [0])


def test_the_least_and_the_most_that_can_be_asked_for() -> None:
    """The bounds themselves will do."""
    assert Settings({}, items=1, practice=0, seed=0).items == 1
    assert len(plan_study(np.arange(4), 4, Settings({}, items=4, groups=(2, 4), practice=0))) == 4
    check_groups((2, len(KEYS)), len(KEYS))
    for groups, n_classes, words in (
        ((2, len(KEYS) + 1), 99, "from 2 to 35"),
        ((4, 4), 9, "that grow"),
        ((2, 3), 2, "3 options need as many classes, and there are 2; give smaller ones, such as 2$"),
        ((2, 17), 16, "such as 2,4,8,16$"),
        ((2, 9), 1, "such as 2$"),
    ):
        with pytest.raises(ShortlistError, match=words):
            check_groups(groups, n_classes)
    for wrong in ({"practice": -1}, {"seed": -1}, {"items": 2.0}, {"groups": (2, 4.0)}):
        with pytest.raises(ShortlistError, match="whole number"):
            Settings({}, **wrong)


def test_photographs_are_made_no_longer_than_a_page_shows(tmp_path: Path) -> None:
    for name, size in (("a", (2 * SIDE, SIDE)), ("b", (30, 40))):
        (tmp_path / name).mkdir()
        Image.new("RGB", size, (9, 9, 9)).save(tmp_path / name / "1.png")
    found = [Image.open(BytesIO(shot)).size for shot in pictures(ImageFolder(tmp_path), [0, 1])]
    assert found == [(SIDE, SIDE // 2), (30, 40)]


def test_a_setting_that_there_is_not_is_named() -> None:
    asked = {"dataset": {"name": "digits"}, "items": 5, "groups": [2, 3]}
    assert Settings.of(asked, "study.toml").groups == (2, 3)
    assert Settings.of({"dataset": {"name": "digits"}}, "x").groups == (4, 8, 16, 32)
    with pytest.raises(ShortlistError, match=r"study\.toml: itmes is no setting of a study"):
        Settings.of({**asked, "itmes": 5}, "study.toml")
    with pytest.raises(ShortlistError, match="there is nothing to show yet"):
        Settings.of({"items": 5}, "study.toml")
