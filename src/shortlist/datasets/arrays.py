"""Items that are already in memory, and the checks that every other source shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.datasets.deferred import Deferred
from shortlist.datasets.name_file import NameFile
from shortlist.types import Array, Ints, Kind, ShortlistError

Cells: TypeAlias = Ints | list[str | None]  # labels as given: class indices (-1 missing), or names (None missing)


class Arrays:
    """The record that every dataset of this package is: what was read, checked once, ready to be indexed.

    `inputs` say by their shape what they are: numbers (N, D), dense or sparse, are features; uint8 (N, H, W) or
    (N, H, W, 3) are images; strings are texts. Labels are class indices (-1: not known) or class names (None or
    "": not known). Classes are names, or a file of them.

    >>> letters = Arrays(["alpha", "beta", "Athens"], ["greek", None, "city"], keys=["a", "b", "c"])
    >>> letters.kind, letters.classes, letters.labels
    ('texts', ('city', 'greek'), array([ 1, -1,  0]))
    >>> letters.labelled().keys
    ('a', 'c')
    >>> Arrays([[0.5], [1.0]], ["x", "y"], keys=["a", "a"])
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: keys: rows 0 and 1 (counting from 0) both have the key 'a'
    """

    def __init__(
        self,
        inputs: Any,
        labels: Sequence[Any] | npt.NDArray[Any] | None = None,
        *,
        classes: Iterable[Any] | str | Path | None = None,
        keys: Iterable[Any] | None = None,
        features: Any | None = None,
        test_inputs: Any | None = None,
        test_labels: Sequence[Any] | npt.NDArray[Any] | None = None,
        name: str = "arrays",
    ) -> None:
        self._inputs = as_inputs(inputs, field="inputs")
        n = self._inputs.shape[0]
        cells = np.full(n, -1) if labels is None else same_length(as_cells(labels, field="labels"), n, field="labels")
        self.name = name
        self.kind: Kind = kind_of(self._inputs, field="inputs")
        self.classes = as_classes(inferred_classes(cells) if classes is None else classes)
        self.labels = encode(cells, self.classes, field="labels")
        self.keys = tuple(map(str, range(n))) if keys is None else as_keys(keys, n, field="keys")
        self.features = None if features is None else as_features(features, n)
        self._test_inputs, self.test_labels = self._test_split(test_inputs, test_labels)

    def _test_split(self, inputs: Any | None, labels: Any | None) -> tuple[Any | None, Ints | None]:
        if inputs is None and labels is None:
            return None, None
        if inputs is None or labels is None:
            raise ShortlistError("test_inputs and test_labels go together: give both or neither")
        stored = as_inputs(inputs, field="test_inputs")
        if kind_of(stored, field="test_inputs") != self.kind or stored.shape[1:] != self._inputs.shape[1:]:
            raise ShortlistError(
                f"test_inputs: {described(stored)} cannot be compared with inputs: {described(self._inputs)}"
            )
        cells = same_length(as_cells(labels, field="test_labels"), stored.shape[0], "test_labels", of="test_inputs")
        return stored, encode_test(cells, self.classes, field="test_labels")

    @property
    def inputs(self) -> Any:
        return self._inputs.values if isinstance(self._inputs, Deferred) else self._inputs

    @property
    def test_inputs(self) -> Any | None:
        return self._test_inputs.values if isinstance(self._test_inputs, Deferred) else self._test_inputs

    def __len__(self) -> int:
        return len(self.keys)

    def subset(self, positions: Sequence[int] | Ints) -> Arrays:
        """These items in this order; the classes and the test split stay as they are."""
        chosen = np.asarray(positions)
        if chosen.dtype.kind not in "iu":
            raise ShortlistError(
                f"positions: {chosen.dtype} given; they have to be whole numbers (of a mask, np.flatnonzero)"
            )
        return Arrays(
            taken(self, chosen),
            self.labels[chosen],
            classes=self.classes,
            keys=[self.keys[i] for i in chosen],
            features=None if self.features is None else self.features[chosen],
            test_inputs=self._test_inputs,
            test_labels=self.test_labels,
            name=self.name,
        )

    def labelled(self) -> Arrays:
        """The items whose label is known: a simulation can answer for no others."""
        known = self.labels >= 0
        return self if known.all() else self.subset(np.flatnonzero(known))

    def spec(self) -> dict[str, object]:
        """What a recipe says of this dataset. Other sources can be rebuilt from theirs; this one only described."""
        tests = 0 if self.test_labels is None else len(self.test_labels)
        return {"name": self.name, "items": len(self), "test_items": tests}


# --- inputs ----------------------------------------------------------------------------------------------------


def as_inputs(inputs: Any, *, field: str) -> Any:
    """Something with a shape and a type whose rows an int64 array can pick."""
    if hasattr(inputs, "tocsr"):  # scipy sparse, told by its method so that scipy is not imported for it
        stored = inputs.tocsr()
    elif isinstance(inputs, (list, tuple)) and any(isinstance(row, str) for row in inputs):
        stored = as_objects(inputs)  # np.asarray would pad every text to the longest
    elif isinstance(inputs, Deferred):
        stored = inputs
    else:
        stored = as_array(inputs, field=field)
    if not stored.shape or stored.shape[0] == 0:
        raise ShortlistError(f"{field}: there are no items")
    if kind_of(stored, field=field) == "texts":
        return as_texts(stored, field=field)
    if kind_of(stored, field=field) == "features":
        refuse_not_finite(stored, field=field)
    return stored


def as_array(rows: Any, *, field: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(rows)
    except (ValueError, TypeError) as error:
        raise ShortlistError(f"{field}: the rows do not make an array: {error}") from error


def as_objects(rows: Sequence[Any]) -> npt.NDArray[np.object_]:
    stored = np.empty(len(rows), object)
    stored[:] = rows
    return stored


def kind_of(inputs: Any, *, field: str) -> Kind:
    """What the inputs are, from their shape and type.

    >>> kind_of(np.zeros((2, 28, 28), np.uint8), field="inputs")
    'images'
    """
    shape, dtype = inputs.shape, inputs.dtype
    if len(shape) == 1 and dtype.kind in "OUT":
        return "texts"
    if len(shape) == 2 and dtype.kind in "biuf" and shape[1] > 0:
        return "features"
    if dtype == np.uint8 and (len(shape) == 3 or (len(shape) == 4 and shape[3] == 3)):
        return "images"
    raise ShortlistError(
        f"{field}: {described(inputs)} is none of: numbers (N, D), uint8 images (N, H, W) or (N, H, W, 3), texts (N,)"
    )


def described(inputs: Any) -> str:
    return f"an array of shape {tuple(map(int, inputs.shape))} and type {inputs.dtype}"


def as_texts(rows: npt.NDArray[Any], *, field: str) -> npt.NDArray[np.object_]:
    texts = rows.astype(object)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise ShortlistError(f"{field}, row {row} (counting from 0): {text!r} is not a text")
    return texts


def refuse_not_finite(features: Any, *, field: str) -> None:
    sparse = hasattr(features, "tocsr")
    values = features.data if sparse else features
    # NaN goes through min and max, which need no (N, D) mask; the row is worked out only when there is one to name.
    if values.dtype.kind != "f" or values.size == 0 or np.isfinite([values.min(), values.max()]).all():
        return
    where = np.argwhere(~np.isfinite(values))[0]
    row = np.searchsorted(features.indptr, where[0], side="right") - 1 if sparse else where[0]
    raise ShortlistError(f"{field}, row {row} (counting from 0): holds {values[tuple(where)]}, which is not a number")


def as_features(features: Any, n: int) -> Array:
    stored = features.tocsr() if hasattr(features, "tocsr") else as_array(features, field="features")
    if len(stored.shape) != 2 or stored.dtype.kind not in "biuf":
        raise ShortlistError(f"features: {described(stored)} is not numbers (N, F)")
    if stored.shape[0] != n:
        raise ShortlistError(f"features: {stored.shape[0]} rows, but inputs have {n}")
    refuse_not_finite(stored, field="features")
    return stored


def taken(dataset: Arrays, positions: Ints) -> Any:
    """These rows of the inputs; rows of what was not read yet are not read yet either."""
    inputs = dataset._inputs
    if not isinstance(inputs, Deferred):
        return inputs[positions]
    shape = (len(positions), *inputs.shape[1:])
    return Deferred(lambda: inputs.values[positions], shape=shape, dtype=inputs.dtype)


# --- keys, classes, labels -------------------------------------------------------------------------------------


def as_keys(keys: Iterable[Any], n: int, *, field: str) -> tuple[str, ...]:
    named = tuple("" if key is None else str(key) for key in keys)
    same_length(named, n, field)
    if len({"", *named}) <= n:  # something is empty or repeated: find it
        first: dict[str, int] = {}
        for row, key in enumerate(named):
            if not key:
                raise ShortlistError(f"{field}, row {row} (counting from 0): the key is empty")
            if key in first:
                raise ShortlistError(
                    f"{field}: rows {first[key]} and {row} (counting from 0) both have the key {key!r}"
                )
            first[key] = row
    refuse_half_characters(named, field)
    return named


def refuse_half_characters(names: Iterable[str], field: str) -> None:
    """What no file can hold: half of a pair, or the bytes of a file's name that are not UTF-8."""
    for name in names:
        if not name.isascii() and any("\ud800" <= sign <= "\udfff" for sign in name):
            raise ShortlistError(f"{field}: {name!a} is no text (not UTF-8); rename it")


def as_classes(names: Iterable[Any] | str | Path, *, field: str = "classes") -> tuple[str, ...]:
    """The names, or those that a file lists."""
    if isinstance(names, str | Path):
        return NameFile.read(names).classes()
    classes = tuple("" if name is None else str(name) for name in names)
    for index, name in enumerate(classes):
        if not name.strip():
            raise ShortlistError(f"{field}: the name of class {index} (counting from 0) is empty: {name!r}")
    repeated = [name for name, count in Counter(classes).items() if count > 1]
    if repeated:
        raise ShortlistError(f"{field}: the name {repeated[0]!r} appears more than once")
    refuse_half_characters(classes, field)
    if not classes:
        raise ShortlistError(f"{field}: no label is known, so the names of the classes have to be given")
    if len(classes) < 2:
        raise ShortlistError(f"{field}: there is only {classes[0]!r}; at least 2 classes are needed")
    return classes


def as_cells(labels: Any, *, field: str) -> Cells:
    """Labels as indices or as names, with one sign for a missing one.

    >>> as_cells(["b", "", None, "a"], field="labels")
    ['b', None, None, 'a']
    """
    if hasattr(labels, "__array__"):  # pandas, polars, torch
        labels = np.asarray(labels)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.ndim == 1:
        return labels.astype(np.int64)
    rows = list(labels)
    if rows and all(isinstance(row, (int, np.integer)) and not isinstance(row, bool) for row in rows):
        return np.array(rows, np.int64)
    return [name_or_missing(cell, row, field=field) for row, cell in enumerate(rows)]


def name_or_missing(cell: Any, row: int, *, field: str) -> str | None:
    if isinstance(cell, str):
        return str(cell) or None
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):  # pandas writes a missing name as nan
        return None
    raise ShortlistError(
        f"{field}, row {row} (counting from 0): {cell!r} is a {type(cell).__name__}; "
        "give names throughout, or whole numbers throughout"
    )


def inferred_classes(cells: Cells) -> list[str]:
    """The names that occur, sorted; for indices "0", "1", ... up to the largest.

    >>> inferred_classes(["b", None, "a"]), inferred_classes(np.array([2, -1]))
    (['a', 'b'], ['0', '1', '2'])
    """
    if isinstance(cells, np.ndarray):
        return [str(index) for index in range(int(cells.max(initial=-1)) + 1)]
    return sorted({cell for cell in cells if cell is not None})


def encode(cells: Cells, classes: Sequence[str], *, field: str) -> Ints:
    """Class indices, -1 where the label is missing.

    >>> encode(["b", None], ("a", "b"), field="labels")
    array([ 1, -1])
    """
    return checked(cells, classes, field=field) if isinstance(cells, np.ndarray) else indexed(cells, classes, field)


def checked(labels: Ints, classes: Sequence[str], *, field: str) -> Ints:
    outside = np.flatnonzero((labels < -1) | (labels >= len(classes)))
    if outside.size:
        row = outside[0]
        raise ShortlistError(
            f"{field}, row {row} (counting from 0): {labels[row]} is not in 0..{len(classes) - 1} (-1: not known)"
        )
    return labels


def indexed(names: list[str | None], classes: Sequence[str], field: str) -> Ints:
    index: dict[str | None, int] = {None: -1, **{name: c for c, name in enumerate(classes)}}
    for row, name in enumerate(names):
        if name not in index:
            some = ", ".join(map(repr, classes[:5])) + (", ..." if len(classes) > 5 else "")
            raise ShortlistError(
                f"{field}, row {row} (counting from 0): {name!r} is not one of the {len(classes)} classes ({some})"
            )
    return np.array([index[name] for name in names], np.int64)


def encode_test(cells: Cells, classes: Sequence[str], *, field: str) -> Ints:
    """As `encode`, for labels of which none may be missing."""
    labels = encode(cells, classes, field=field)
    missing = np.flatnonzero(labels < 0)
    if missing.size:
        raise ShortlistError(f"{field}, row {missing[0]} (counting from 0): is missing; every test item needs a label")
    return labels


def same_length(rows: Any, n: int, field: str, *, of: str = "inputs") -> Any:
    if len(rows) != n:
        raise ShortlistError(f"{field}: {len(rows)} rows, but {of} have {n}")
    return rows
