"""Arrays: what it works out, and every sentence it refuses with."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.datasets.arrays import Arrays, Deferred
from shortlist.types import ShortlistError

TWO = np.array([[0.0, 1.0], [2.0, 3.0]])
NAN = np.array([[0.0, 1.0], [2.0, np.nan], [np.nan, 0.0]])


@pytest.mark.parametrize(
    ("inputs", "kind"),
    [
        (TWO, "features"),
        (TWO.astype(np.float32), "features"),
        ([[1, 2], [3, 4]], "features"),
        (sparse.coo_matrix(TWO), "features"),
        (sparse.csr_array(TWO), "features"),
        (np.zeros((2, 5, 6), np.uint8), "images"),
        (np.zeros((2, 5, 6, 3), np.uint8), "images"),
        (["a text", "another"], "texts"),
        (np.array(["a text", "another"]), "texts"),
        (np.array(["a text", "another"], object), "texts"),
    ],
)
def test_kind_is_worked_out_and_int64_arrays_pick_rows(inputs: Any, kind: str) -> None:
    dataset = Arrays(inputs, [0, 1])
    assert dataset.kind == kind
    assert dataset.inputs[np.array([1, 0, 1], np.int64)].shape[0] == 3
    assert dataset.keys == ("0", "1")
    assert dataset.classes == ("0", "1")


def test_texts_are_python_strings_in_an_object_array() -> None:
    texts = Arrays(np.array(["a", "bcd"]), [0, 1]).inputs
    assert texts.dtype == object
    assert [type(text) for text in texts] == [str, str]


def test_names_missing_in_every_way() -> None:
    dataset = Arrays(np.zeros((6, 1)), ["b", None, "", float("nan"), "a", np.str_("b")])
    assert dataset.classes == ("a", "b")
    assert dataset.labels.tolist() == [1, -1, -1, -1, 0, 1]
    assert dataset.labels.dtype == np.int64


def test_labels_are_copied() -> None:
    labels = np.array([0, 1])
    dataset = Arrays(TWO, labels)
    labels[0] = 1
    assert dataset.labels.tolist() == [0, 1]


def test_given_classes_keep_their_order_and_may_have_no_items() -> None:
    dataset = Arrays(TWO, ["b", ""], classes=["z", "b", "a"], keys=[7, "x"])
    assert dataset.classes == ("z", "b", "a")
    assert dataset.labels.tolist() == [1, -1]
    assert dataset.keys == ("7", "x")


def test_no_labels_at_all() -> None:
    assert Arrays(TWO, classes=["a", "b"]).labels.tolist() == [-1, -1]


def test_test_split() -> None:
    dataset = Arrays(TWO, ["a", "b"], test_inputs=TWO[:1], test_labels=["b"])
    assert dataset.test_inputs is not None
    assert dataset.test_inputs.shape == (1, 2)
    assert dataset.test_labels is not None
    assert dataset.test_labels.tolist() == [1]
    assert dataset.spec() == {"name": "arrays", "items": 2, "test_items": 1}


def test_labelled_keeps_what_belongs_to_the_items() -> None:
    dataset = Arrays(
        np.arange(8.0).reshape(4, 2),
        [1, -1, 0, -1],
        classes=["a", "b", "c"],
        keys="wxyz",
        features=np.arange(4.0).reshape(4, 1),
        test_inputs=TWO,
        test_labels=[0, 2],
    )
    known = dataset.labelled()
    assert known.keys == ("w", "y")
    assert known.labels.tolist() == [1, 0]
    assert known.inputs.tolist() == [[0, 1], [4, 5]]
    assert known.features is not None
    assert known.features.tolist() == [[0], [2]]
    assert known.classes == ("a", "b", "c")
    assert known.test_inputs is not None
    assert known.labelled() is known


def test_a_subset_of_what_is_not_read_is_not_read() -> None:
    touched: list[str] = []

    def read() -> np.ndarray[Any, Any]:
        touched.append("read")
        return np.arange(12, dtype=np.uint8).reshape(3, 2, 2)

    dataset = Arrays(Deferred(read, (3, 2, 2)), [0, -1, 1])
    known = dataset.labelled()
    assert (known.kind, len(known), touched) == ("images", 2, [])
    assert known.inputs[1, 0, 0] == 8
    assert dataset.inputs.shape == (3, 2, 2)
    assert touched == ["read"]


def test_a_mask_is_not_taken_for_positions() -> None:
    with pytest.raises(ShortlistError, match="positions: bool"):
        Arrays(TWO, [0, 1]).subset(np.array([True, False]))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"inputs": []}, "inputs: there are no items"),
        ({"inputs": np.zeros((0, 3))}, "inputs: there are no items"),
        ({"inputs": 3.0}, "inputs: there are no items"),
        ({"inputs": [1.0, 2.0]}, "inputs: an array of shape (2,) and type float64 is none of"),
        ({"inputs": np.zeros((2, 0))}, "inputs: an array of shape (2, 0)"),
        ({"inputs": np.zeros((2, 4, 4))}, "inputs: an array of shape (2, 4, 4) and type float64 is none of"),
        ({"inputs": np.zeros((2, 3, 4, 4), np.uint8)}, "inputs: an array of shape (2, 3, 4, 4) and type uint8"),
        ({"inputs": [[1.0], [1.0, 2.0]]}, "inputs: the rows do not make an array"),
        ({"inputs": ["a", None]}, "inputs, row 1 (counting from 0): None is not a text"),
        ({"inputs": NAN, "labels": [0, 1, 0]}, "inputs, row 1 (counting from 0): holds nan"),
        ({"inputs": sparse.csr_array(NAN), "labels": [0, 1, 0]}, "inputs, row 1 (counting from 0): holds nan"),
        ({"inputs": [[0.0], [-np.inf]]}, "inputs, row 1 (counting from 0): holds -inf"),
        ({"features": NAN[:2]}, "features, row 1 (counting from 0): holds nan"),
        ({"features": NAN}, "features: 3 rows, but inputs have 2"),
        ({"features": [1.0, 2.0]}, "features: an array of shape (2,) and type float64 is not numbers (N, F)"),
        ({"labels": [0]}, "labels: 1 rows, but inputs have 2"),
        ({"labels": ["a", "b", "a"]}, "labels: 3 rows, but inputs have 2"),
        ({"keys": ["x"]}, "keys: 1 rows, but inputs have 2"),
        ({"keys": ["x", "x"]}, "keys: row 0 and row 1 (counting from 0) are both the key 'x'"),
        ({"keys": ["x", ""]}, "keys, row 1 (counting from 0): the key is empty"),
        ({"classes": ["a", "b", "a"]}, "classes: name 0 and name 2 (counting from 0) are both the class 'a'"),
        ({"classes": ["a", " "]}, "classes, name 1 (counting from 0): the class is empty"),
        ({"classes": ["a", None]}, "classes, name 1 (counting from 0): the class is empty"),
        ({"classes": ["a"], "labels": [0, 0]}, "classes: there is only the class 'a'; at least 2"),
        ({"labels": [-1, -1]}, "classes: no label is known"),
        ({"labels": None}, "classes: no label is known"),
        (
            {"labels": ["a", "c"], "classes": ["a", "b"]},
            "labels, row 1 (counting from 0): 'c' is not one of the 2 classes",
        ),
        ({"labels": [0, 2], "classes": ["a", "b"]}, "labels, row 1 (counting from 0): 2 is not in 0..1"),
        ({"labels": [1, -2]}, "labels, row 1 (counting from 0): -2 is not in 0..1"),
        ({"labels": ["a", 3]}, "labels, row 1 (counting from 0): 3 is a int; give names throughout"),
        ({"labels": [True, False]}, "labels, row 0 (counting from 0): True is a bool"),
        ({"labels": np.array([0.0, 1.0])}, "labels, row 0 (counting from 0)"),
        ({"test_inputs": TWO}, "test_inputs and test_labels go together"),
        ({"test_labels": [0, 1]}, "test_inputs and test_labels go together"),
        ({"test_inputs": TWO, "test_labels": [0]}, "test_labels: 1 rows, but test_inputs have 2"),
        ({"test_inputs": TWO, "test_labels": [0, -1]}, "test_labels, row 1 (counting from 0): is missing"),
        ({"test_inputs": TWO, "test_labels": ["1", None]}, "test_labels, row 1 (counting from 0): is missing"),
        ({"test_inputs": TWO, "test_labels": [0, 2]}, "test_labels, row 1 (counting from 0): 2 is not in 0..1"),
        ({"test_inputs": TWO, "test_labels": ["0", "c"]}, "test_labels, row 1 (counting from 0): 'c' is not one of"),
        ({"test_inputs": TWO[:, :1], "test_labels": [0, 1]}, "test_inputs: an array of shape (2, 1)"),
        ({"test_inputs": ["a", "b"], "test_labels": [0, 1]}, "test_inputs: an array of shape (2,)"),
        ({"test_inputs": NAN[:2], "test_labels": [0, 1]}, "test_inputs, row 1 (counting from 0): holds nan"),
        ({"test_inputs": TWO[:0], "test_labels": []}, "test_inputs: there are no items"),
    ],
)
def test_refusals_name_the_field_and_the_first_bad_row(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=re.escape(sentence)):
        Arrays(**{"inputs": TWO, "labels": [0, 1], **arguments})


# --- whole numbers as labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("labels", "n", "lost", "first"), [([1, 2, 1], 3, 1, 0), ([0, 5, -1], 6, 4, 1)])
def test_numbers_with_gaps_are_warned_of(labels: list[int], n: int, lost: int, first: int) -> None:
    """64 codes once became 631 classes, and every question 55% dearer, without a word."""
    with pytest.warns(
        UserWarning, match=rf"make {n} classes, and {lost} of them have no item \(the first is {first}\)"
    ):
        assert len(Arrays(np.zeros((3, 1)), labels).classes) == n
    Arrays(np.zeros((3, 1)), [0, 1, -1])
    Arrays(np.zeros((3, 1)), [0, 1, -1], classes=["a", "b", "never seen"])


def test_classes_that_are_numbers_are_what_labels_say() -> None:
    codes = np.array([431, 7, -1, 90])
    data = Arrays(np.zeros((4, 1)), codes, classes=sorted({7, 90, 431}), test_inputs=np.zeros((1, 1)), test_labels=[90])
    assert data.classes == ("7", "90", "431")
    assert data.labels.tolist() == [2, 0, -1, 1]
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [1]
    assert data.subset([0, 1]).labels.tolist() == [2, 0]
    assert Arrays(np.zeros((2, 1)), [-1, 1], classes=iter([-1, 1])).labels.tolist() == [0, 1]
    with pytest.raises(ShortlistError, match=r"^labels, row 1 .*: 8 is not one of the 2 classes \(7, 9; -1: not known"):
        Arrays(np.zeros((2, 1)), [7, 8], classes=[7, 9])


@pytest.mark.parametrize("kind", ["list", "pandas", "nullable", "polars"])
def test_a_label_that_is_not_there_is_not_known(kind: str) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    make: Any = {
        "list": list,
        "pandas": pandas.Series,  # which makes floats of numbers with a None among them
        "nullable": lambda cells: pandas.Series(cells).convert_dtypes(),
        "polars": polars.Series,
    }[kind]
    assert Arrays(np.zeros((3, 1)), make([1, 0, None])).labels.tolist() == [1, 0, -1]
    named = Arrays(np.zeros((3, 1)), make(["b", "a", None]))
    assert (named.classes, named.labels.tolist()) == (("a", "b"), [1, 0, -1])
    assert Arrays(np.zeros((3, 1)), ["b", "a", pandas.NA]).labels.tolist() == [1, 0, -1]
