"""Glyphs: the same pixels for the same seed, no two classes that look alike, and every refusal."""

from __future__ import annotations

import sys
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from shortlist.datasets.builtin.glyphs import FONTS, Glyphs, code_points, first_characters, master, masters
from shortlist.types import ShortlistError


def digest(glyphs: Glyphs) -> str:
    assert glyphs.test_inputs is not None
    return sha256(glyphs.inputs.tobytes() + glyphs.test_inputs.tobytes() + glyphs.labels.tobytes()).hexdigest()


def test_same_seed_same_pixels() -> None:
    one, two, other = (Glyphs(20, 100, test_items=20, seed=seed) for seed in (5, 5, 6))
    assert digest(one) == digest(two)
    assert digest(one) != digest(other)
    assert one.classes == other.classes


def test_an_item_does_not_depend_on_how_many_there_are() -> None:
    few, many = Glyphs(20, 30, test_items=5), Glyphs(20, 100, test_items=40)
    assert (few.inputs == many.inputs[:30]).all()
    assert (few.labels == many.labels[:30]).all()
    assert few.test_inputs is not None
    assert many.test_inputs is not None
    assert (few.test_inputs == many.test_inputs[:5]).all()


def test_the_test_split_is_not_the_pool() -> None:
    glyphs = Glyphs(20, 40, test_items=40)
    assert glyphs.test_inputs is not None
    pool = {image.tobytes() for image in glyphs.inputs}
    assert not pool & {image.tobytes() for image in glyphs.test_inputs}


def test_classes_are_balanced() -> None:
    counts = np.bincount(Glyphs(30, 1000).labels, minlength=30)
    assert set(counts.tolist()) == {33, 34}


def test_characters_come_in_order_and_look_different() -> None:
    characters = first_characters(2000)
    assert len(set(characters)) == 2000
    assert "".join(characters[:62]) == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert characters[62:] == sorted(characters[62:])
    bitmaps = {master(FONTS[0], character, 56).tobytes() for character in characters}
    assert len(bitmaps) == 2000
    assert bytes(56 * 56) not in bitmaps


def test_look_alikes_are_dropped_in_favour_of_the_earlier() -> None:
    characters = set(first_characters(2000))
    assert "A" in characters
    assert not {"Α", "А"} & characters  # Greek and Cyrillic
    assert {"Ж", "Ψ"} <= characters


def test_only_fonts_that_have_the_character_draw_it() -> None:
    for character in ("A", "Ж", "ॐ"):
        having = [font for font in FONTS if ord(character) in code_points(font)]
        assert len(masters(character, 56)) == len(having)
    assert len(masters("A", 56)) == len(FONTS)


def test_two_thousand_classes() -> None:
    glyphs = Glyphs(2000, 50, test_items=10, size=16)
    assert len(glyphs.classes) == 2000
    assert glyphs.inputs.shape == (50, 16, 16)
    assert glyphs.classes[10] == "U+0041 A"


def test_ink_is_there_and_noise_is_what_was_asked_for() -> None:
    clean = Glyphs(10, 20, noise=0).inputs
    assert (clean.max(axis=(1, 2)) > 60).all()
    assert (clean == 0).mean() > 0.5
    assert (Glyphs(10, 20, noise=0.3).inputs == 0).mean() < 0.5


def test_no_test_items() -> None:
    glyphs = Glyphs(10, 10, test_items=0)
    assert (glyphs.test_inputs, glyphs.test_labels) == (None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [("classes", 9), ("classes", 2001), ("items", 0), ("test_items", -1), ("size", 7), ("seed", -1), ("noise", 1.5)],
)
def test_refusals_name_the_field_and_the_value(field: str, value: float) -> None:
    options: dict[str, Any] = {"classes": 10, "items": 10, field: value}
    with pytest.raises(ShortlistError, match=f"glyphs: {field} is {value}; it has to be"):
        Glyphs(**options)


@pytest.mark.parametrize("module", ["PIL", "matplotlib"])
def test_a_missing_library_is_asked_for(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ShortlistError, match=rf"{module} is not installed; run: pip install 'shortlist-al\[images\]'"):
        Glyphs(10, 10)
