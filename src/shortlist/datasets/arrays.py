"""Items that are already in memory, and the checks that every other source shares."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.datasets.classes import Classes, Names, class_list
from shortlist.types import Array, Ints, Kind, ShortlistError

# --- inputs that are read when they are first used -------------------------------------------------------------


class Deferred:
    """Images whose shape is known before their pixels are: keys and labels need not wait for them. Read once."""

    dtype = np.dtype(np.uint8)

    def __init__(self, read: Callable[[], Any], shape: tuple[int, ...]) -> None:
        self.shape, self._read = shape, cache(read)
        self._lock = threading.Lock()  # four pictures that are asked for at once are one reading

    @property
    def values(self) -> Any:
        with self._lock:
            return self._read()


# --- the record ------------------------------------------------------------------------------------------------


Cells: TypeAlias = Ints | list[str | None]  # labels as given: class indices (-1 missing), or names (None missing)


class Arrays:
    """The record that every dataset of this package is: what was read, checked once, ready to be indexed.

    `inputs` say by their shape what they are: numbers (N, D), dense or sparse, are features; uint8 (N, H, W) or
    (N, H, W, 3) are images; strings are texts. Labels are class indices (-1: not known) or class names (None or
    "": not known). Classes are names, or a file of them; whole numbers are the codes that labels then hold. Lists,
    pandas and polars are taken wherever an array is.

    Parameters
    ----------
    inputs : N rows, as above.
    labels : (N,) indices, codes or names; None: nothing is labelled.
    classes : names or codes of the classes, or a file or folder that has them, with descriptions and examples where
        there are any (`datasets/classes.py`); None: those that occur in the labels.
    keys : (N,) stable names of the items; None: "0", "1", ...
    features : (N, F) self-supervised features, for methods that compare items.
    test_inputs, test_labels : a test split, to measure accuracy on.
    descriptions : by name of a class, a text for people and for models that read; also from `classes`.
    name : what reports call the dataset.

    >>> letters = Arrays(["alpha", "beta", "Athens"], ["greek", None, "city"], keys=["a", "b", "c"])
    >>> letters.kind, letters.classes, letters.labels
    ('texts', ('city', 'greek'), array([ 1, -1,  0]))
    >>> Arrays([[0.5], [1.0]], [431, 7], classes=[7, 431]).labels
    array([1, 0])
    >>> letters.labelled().keys
    ('a', 'c')
    >>> Arrays([[0.5], [1.0]], ["x", "y"], keys=["a", "a"])
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: keys: row 0 and row 1 (counting from 0) are both the key 'a'
    """

    _settings: dict[str, object] | None = None

    def __init__(
        self,
        inputs: Any,
        labels: Sequence[Any] | npt.NDArray[Any] | None = None,
        *,
        classes: Classes | Iterable[Any] | str | Path | None = None,
        keys: Iterable[Any] | None = None,
        features: Any | None = None,
        test_inputs: Any | None = None,
        test_labels: Sequence[Any] | npt.NDArray[Any] | None = None,
        descriptions: Mapping[str, str] | None = None,
        name: str = "arrays",
    ) -> None:
        self._inputs = as_inputs(inputs, field="inputs")
        n = self._inputs.shape[0]
        if classes is not None and not isinstance(classes, str | Path | Classes):
            classes = list(classes)
        codes = as_codes(classes)
        cells = np.full(n, -1) if labels is None else same_length(as_cells(labels, field="labels"), n, field="labels")
        self.name = name
        self.kind: Kind = kind_of(self._inputs, field="inputs")
        known = class_list(inferred_classes(cells) if classes is None else classes).described(descriptions)
        self.classes, self.descriptions, self.examples = known.names, known.descriptions, known.examples
        self.labels = encode(places(cells, codes, field="labels"), self.classes, field="labels")
        if classes is None and isinstance(cells, np.ndarray):
            warn_of_gaps(self.labels, len(self.classes))
        self.keys = tuple(map(str, range(n))) if keys is None else as_keys(keys, n, field="keys")
        self.features = None if features is None else as_features(features, n)
        self._test_inputs, self.test_labels = self._test_split(test_inputs, test_labels, codes)

    def _test_split(
        self, inputs: Any | None, labels: Any | None, codes: list[int] | None
    ) -> tuple[Any | None, Ints | None]:
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
        return stored, encode_test(places(cells, codes, field="test_labels"), self.classes, field="test_labels")

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
        inputs = self._inputs
        if isinstance(inputs, Deferred):  # rows of what was not read yet are not read yet either
            rows: Any = Deferred(lambda: inputs.values[chosen], (len(chosen), *inputs.shape[1:]))
        else:
            rows = inputs[chosen]
        return Arrays(
            rows,
            self.labels[chosen],
            classes=Classes(self.classes, self.descriptions, self.examples),
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

    def _rebuilt_from(self, **settings: object) -> None:
        """What a recipe says to get this dataset again; None is left out, since TOML has no null."""
        self._settings = {
            setting: str(value) if isinstance(value, Path) else value
            for setting, value in settings.items()
            if value is not None
        }

    def spec(self) -> dict[str, object]:
        """What a recipe says of this dataset. Items that were in memory are only described."""
        if self._settings:
            return {"name": self.name, **self._settings}
        tests = 0 if self.test_labels is None else len(self.test_labels)
        return {"name": self.name, "items": len(self), "test_items": tests}


# --- inputs ----------------------------------------------------------------------------------------------------


def as_inputs(inputs: Any, *, field: str) -> Any:
    """Something with a shape and a type whose rows an int64 array can pick."""
    if isinstance(inputs, (list, tuple)) and any(isinstance(row, str) for row in inputs):
        stored: Any = np.empty(len(inputs), object)  # np.asarray would pad every text to the longest
        stored[:] = inputs
    else:
        stored = as_array(inputs, field=field)
    if not stored.shape or stored.shape[0] == 0:
        raise ShortlistError(f"{field}: there are no items")
    kind = kind_of(stored, field=field)
    if kind == "features":
        refuse_not_finite(stored, field=field)
    if kind == "texts":
        stored = stored.astype(object)
        for row, text in enumerate(stored):
            if not isinstance(text, str):
                raise wrong_row(field, row, f"{text!r} is not a text")
    return stored


def as_array(rows: Any, *, field: str) -> Any:
    if hasattr(rows, "tocsr"):  # scipy sparse, told by its method so that scipy is not imported for it
        return rows.tocsr()
    try:
        return rows if isinstance(rows, Deferred) else np.asarray(rows)
    except (ValueError, TypeError) as error:
        raise ShortlistError(f"{field}: the rows do not make an array: {error}") from error


def kind_of(inputs: Any, *, field: str) -> Kind:
    """What the inputs are, from their shape and type."""
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


def wrong_row(field: str, row: Any, what: str) -> ShortlistError:
    return ShortlistError(f"{field}, row {row} (counting from 0): {what}")


def refuse_not_finite(features: Any, *, field: str) -> None:
    sparse = hasattr(features, "tocsr")
    values = features.data if sparse else features
    # NaN goes through min and max, which need no (N, D) mask; the row is worked out only when there is one to name.
    if values.dtype.kind != "f" or values.size == 0 or np.isfinite([values.min(), values.max()]).all():
        return
    where = np.argwhere(~np.isfinite(values))[0]
    row = np.searchsorted(features.indptr, where[0], side="right") - 1 if sparse else where[0]
    raise wrong_row(field, row, f"holds {values[tuple(where)]}, which is not a number")


def as_features(features: Any, n: int) -> Array:
    stored = as_array(features, field="features")
    if len(stored.shape) != 2 or stored.dtype.kind not in "biuf":
        raise ShortlistError(f"features: {described(stored)} is not numbers (N, F)")
    if stored.shape[0] != n:
        raise ShortlistError(f"features: {stored.shape[0]} rows, but inputs have {n}")
    refuse_not_finite(stored, field="features")
    return stored


# --- keys, classes, labels -------------------------------------------------------------------------------------


def as_keys(keys: Iterable[Any], n: int, *, field: str) -> tuple[str, ...]:
    named = tuple("" if key is None else str(key) for key in keys)
    return Names(field, same_length(named, n, field)).distinct("key")


def as_cells(labels: Any, *, field: str) -> Cells:
    """Labels as indices or as names, with one sign for a missing one."""
    if hasattr(labels, "__array__"):  # pandas, polars, torch
        labels = np.asarray(labels)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.ndim == 1:
        return labels.astype(np.int64)
    rows = [None if is_missing(cell) else cell for cell in labels]
    known = [row for row in rows if row is not None]
    # pandas makes floats of whole numbers where some are missing
    if known and all(is_whole(row, floats=len(known) < len(rows)) for row in known):
        return np.array([-1 if row is None else int(row) for row in rows], np.int64)
    return [name_or_missing(cell, row, field=field) for row, cell in enumerate(rows)]


def is_missing(cell: Any) -> bool:
    """Whether a cell says nothing: None, NaN, or what pandas writes for either."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and np.isnan(cell))


def is_whole(cell: Any, *, floats: bool = False) -> bool:
    if floats and isinstance(cell, float | np.floating):
        return bool(cell.is_integer())
    return isinstance(cell, int | np.integer) and not isinstance(cell, bool)


def as_codes(classes: Classes | list[Any] | str | Path | None) -> list[int] | None:
    """Classes that are whole numbers; None where they are names, a file or not given."""
    if not isinstance(classes, list) or not all(map(is_whole, classes)):
        return None
    return [int(code) for code in classes]


def places(cells: Cells, codes: list[int] | None, *, field: str) -> Cells:
    """Labels that name classes by their codes, as indices; others as they are."""
    if codes is None or not isinstance(cells, np.ndarray):
        return cells
    place = {-1: -1, **{code: index for index, code in enumerate(codes)}}
    for row in np.flatnonzero([cell not in place for cell in cells.tolist()])[:1]:
        some = ", ".join(map(str, codes[:5])) + (", ..." if len(codes) > 5 else "")
        raise wrong_row(field, row, f"{cells[row]} is not one of the {len(codes)} classes ({some}; -1: not known)")
    return np.array([place[cell] for cell in cells.tolist()], np.int64)


def name_or_missing(cell: Any, row: int, *, field: str) -> str | None:
    if isinstance(cell, str):
        return str(cell) or None
    if is_missing(cell):
        return None
    kind = type(cell).__name__
    raise wrong_row(field, row, f"{cell!r} is a {kind}; give names throughout, or whole numbers throughout")


def inferred_classes(cells: Cells) -> list[str]:
    """The names that occur, sorted; for indices "0", "1", ... up to the largest."""
    if isinstance(cells, np.ndarray):
        return [str(index) for index in range(int(cells.max(initial=-1)) + 1)]
    return sorted({cell for cell in cells if cell is not None})


def warn_of_gaps(labels: Ints, n: int) -> None:
    """That some of the n classes do not occur among labels that are numbers: each makes all lists longer."""
    there = np.unique(labels[labels >= 0])
    if len(there) < n:
        warnings.warn(
            f"labels: whole numbers up to {n - 1} make {n} classes, and {n - len(there)} of them have no item (the "
            f"first is {np.setdiff1d(np.arange(n), there)[0]}), which makes every question dearer; name the classes "
            "there are: classes=sorted(set(labels))",
            stacklevel=3,
        )


def encode(cells: Cells, classes: Sequence[str], *, field: str) -> Ints:
    """Class indices, -1 where the label is missing."""
    if isinstance(cells, np.ndarray):
        for row in np.flatnonzero((cells < -1) | (cells >= len(classes)))[:1]:
            raise wrong_row(field, row, f"{cells[row]} is not in 0..{len(classes) - 1} (-1: not known)")
        return cells
    index: dict[str | None, int] = {None: -1, **{name: c for c, name in enumerate(classes)}}
    for row, name in enumerate(cells):
        if name not in index:
            some = ", ".join(map(repr, classes[:5])) + (", ..." if len(classes) > 5 else "")
            raise wrong_row(field, row, f"{name!r} is not one of the {len(classes)} classes ({some})")
    return np.array([index[name] for name in cells], np.int64)


def encode_test(cells: Cells, classes: Sequence[str], *, field: str) -> Ints:
    """As `encode`, for labels of which none may be missing."""
    labels = encode(cells, classes, field=field)
    for row in np.flatnonzero(labels < 0)[:1]:
        raise wrong_row(field, row, "is missing; every test item needs a label")
    return labels


def same_length(rows: Any, n: int, field: str, *, of: str = "inputs") -> Any:
    if len(rows) != n:
        raise ShortlistError(f"{field}: {len(rows)} rows, but {of} have {n}")
    return rows


def first(wanted: int | None, there: int, *, field: str) -> int:
    """How many are used of those that are there: all, or the first so many."""
    if wanted is not None and not 1 <= wanted <= there:
        raise ShortlistError(f"{field} is {wanted}; it has to be from 1 to {there}, or left out for all")
    return there if wanted is None else wanted
