"""FeatureFile: rows, their keys and labels, and refusals that name the row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.datasets.feature_file import FeatureFile
from shortlist.types import ShortlistError

CLASSES = ["red", "blue"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    Path("keys.txt").write_text("a\nb\nc\n")
    Path("classes.txt").write_text("red\nblue\n")
    return tmp_path


def test_rows_keys_and_classes(here: Path) -> None:
    dots = FeatureFile("x.npy", keys="keys.txt", classes="classes.txt")
    assert (dots.keys, dots.classes, dots.kind) == (("a", "b", "c"), ("red", "blue"), "features")
    assert dots.inputs[np.array([2, 0])].tolist() == [[4, 5], [0, 1]]
    assert dots.labels.tolist() == [-1, -1, -1]
    assert dots.spec() == {"name": "feature_file", "path": "x.npy", "keys": "keys.txt", "classes": CLASSES}
    assert FeatureFile("x.npy", classes=CLASSES).keys == ("0", "1", "2")


def test_labels_from_either_file(here: Path) -> None:
    Path("y.txt").write_text("\nblue\n\n")
    assert FeatureFile("x.npy", labels="y.txt", classes=CLASSES).labels.tolist() == [-1, 1, -1]
    np.save("y.npy", np.array([1, -1, 0]))
    assert FeatureFile("x.npy", labels="y.npy").labels.tolist() == [1, -1, 0]
    assert FeatureFile("x.npy", labels=["red", None, "blue"], classes=CLASSES).labels.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.zeros(3), "x.npy: an array of shape (3,) and type float64 is not numbers (N, D)"),
        (np.zeros((3, 4, 4), np.uint8), "x.npy: an array of shape (3, 4, 4) and type uint8 is not numbers (N, D)"),
        (np.zeros((0, 4)), "x.npy: an array of shape (0, 4)"),
        (np.array([["a", "b"]]), "is not numbers (N, D)"),
        (np.array([[0, 1], [0, np.nan]]), "x.npy, row 1 (counting from 0): holds nan, which is not a number"),
        (np.array([[0, np.inf]]), "x.npy, row 0 (counting from 0): holds inf"),
    ],
)
def test_refused_rows(here: Path, rows: Any, sentence: str) -> None:
    np.save("x.npy", rows)
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        FeatureFile("x.npy", classes=CLASSES)


@pytest.mark.parametrize(
    ("name", "keys", "sentence"),
    [
        ("none.npy", None, "none.npy: there is no such file"),
        ("keys.txt", None, "keys.txt: cannot be read as .npy"),
        (
            "x.npy",
            "a\nb\nc\nd\ne\n",
            "k.txt, line 4: 'd', and what follows, has no features: there are 5 keys, and x.npy",
        ),
        ("x.npy", "a\nb\n", "k.txt: 2 keys, but x.npy has 3 rows"),
        ("x.npy", "a\n\nc\n", "k.txt, line 2: the key is empty"),
        ("x.npy", "a\nb\na\n", "k.txt: line 1 and line 3 are both the key 'a'"),
    ],
)
def test_refused_files(here: Path, name: str, keys: str | None, sentence: str) -> None:
    if keys is not None:
        Path("k.txt").write_text(keys)
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        FeatureFile(name, keys=None if keys is None else "k.txt", classes=CLASSES)


def test_several_arrays_in_one_file_are_refused(here: Path) -> None:
    np.savez("x.npz", np.eye(2))
    with pytest.raises(ShortlistError, match=re.escape("x.npz: holds several arrays; save the one to use as .npy")):
        FeatureFile("x.npz", classes=CLASSES)


def test_a_pickle_is_not_opened(here: Path) -> None:
    np.save("x.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(ShortlistError, match=re.escape("x.npy: cannot be read as .npy")):
        FeatureFile("x.npy", classes=CLASSES)


def header(text: str) -> bytes:
    line = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + b"\0" * 64


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2**62, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').getpid(), 1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True, 'x')}",
        "{'descr': [('x',)], 'fortran_order': False, 'shape': (2, 4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 900,
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}",
        "-" * 9000 + "1",
        "{[]: 1}",
    ],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(header(text))
    with pytest.raises(ShortlistError, match=r"x\.npy: "):
        FeatureFile(path, classes=["a", "b"])
