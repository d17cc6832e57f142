"""Items from the rows of a CSV or Parquet file, R52 among them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortlist.datasets import refuse_missing
from shortlist.datasets.arrays import Arrays, as_keys, encode, encode_test, first, inferred_classes, wrong_row
from shortlist.datasets.classes import class_list
from shortlist.system.csv_rows import csv_rows
from shortlist.system.extras import require
from shortlist.types import Ints, ShortlistError


class Table(Arrays):
    """One item a row: a column of texts or several of numbers, a label where there is one, a key if there is one.

    Labels are text, whatever they look like: "01", "NA" and "null" are classes, and only an empty cell (or a
    Parquet null) is a missing label. Classes are names, or a file of them; without, the labels that occur.

    Parameters
    ----------
    path : a CSV (also .csv.gz) or Parquet file.
    text : the column of texts; give this or `columns`.
    columns : the columns of numbers.
    label : the column of class names; None: nothing is labelled.
    key : the column of stable names of the items; None: the number of the row.
    test : a file of the same columns, to measure accuracy on.
    classes : names of the classes, or a file or folder that has them, with descriptions where there are any.
    items : only so many rows, spread evenly over the file; None: all.
    descriptions : by name of a class, a text for people and for models that read; also from `classes`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mail.csv"
    ...     _ = path.write_text("id,body,topic\\nm1,hello,NA\\nm2,win now,01\\nm3,hi,\\n")
    ...     mail = Table(path, text="body", label="topic", key="id")
    >>> mail.classes, mail.labels, mail.keys
    (('01', 'NA'), array([ 1,  0, -1]), ('m1', 'm2', 'm3'))
    """

    def __init__(
        self,
        path: str | Path,
        *,
        text: str | None = None,
        columns: Sequence[str] | None = None,
        label: str | None = None,
        key: str | None = None,
        test: str | Path | None = None,
        classes: Iterable[str] | str | Path | None = None,
        items: int | None = None,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        inputs = input_columns(text, columns)
        if label in inputs:
            raise ShortlistError(f"table: the column {label!r} is both the label and an input; a model would copy it")
        if test is not None and label is None:
            raise ShortlistError(f"table: the test file {test} is of no use without label: name the column of labels")
        rows = read(Path(path), [*inputs, label, key])
        whole = len(rows[inputs[0]])
        places = np.arange(first(items, whole, field="table: items")) * whole // (items or whole)
        if items is not None:
            rows = {name: _taken(column, places) for name, column in rows.items()}
        cells = label_cells(rows, label)
        at = f"classes of {path}, column {label!r}" if label and classes is None else "classes"
        known = class_list(inferred_classes(cells) if classes is None else classes, field=at).described(descriptions)
        names = known.names
        test_inputs = test_labels = None
        if test is not None:
            tests = read(Path(test), [*inputs, label])
            test_labels = encode_test(label_cells(tests, label), names, field=f"{test}, column {label!r}")
            test_inputs = input_rows(test, tests, text, inputs)
        super().__init__(
            input_rows(path, rows, text, inputs),
            encode(cells, names, field=f"{path}, column {label!r}"),
            classes=known,
            keys=map(str, places.tolist())
            if key is None
            else as_keys(strings(rows[key]), len(cells), field=f"{path}, column {key!r}"),
            test_inputs=test_inputs,
            test_labels=test_labels,
            name="table",
        )
        self._rebuilt_from(
            path=path,
            text=text,
            label=label,
            key=key,
            columns=None if columns is None else inputs,
            test=test,
            classes=None if classes is None else list(names),
            items=items,
        )
        self._place = Path(path), key

    def as_given(self) -> Given:
        """The file as it is now: every column, every row, and which item it is."""
        return as_given(*self._place)


class R52(Table):
    """The single-topic subset of Reuters-21578 that the paper's text experiment uses.

    6,532 training and 2,568 test documents as two CSV files with the columns text and label, in a folder that you
    fill: the collection is for research use and does not come with this package.

    >>> R52("nowhere")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: r52: nowhere/train.csv is missing; put R52 of Reuters-21578 (research use; ...
    """

    def __init__(self, folder: str | Path) -> None:
        train, test = Path(folder) / "train.csv", Path(folder) / "test.csv"
        refuse_missing(
            "r52",
            (train, test),
            "put R52 of Reuters-21578 (research use; 6,532 training and 2,568 test documents, 52 classes) into "
            f"{Path(folder).as_posix()} as train.csv and test.csv (columns: text,label)",
        )
        super().__init__(train, text="text", label="label", test=test)
        self.name = "r52"
        self._rebuilt_from(folder=folder)


def input_columns(text: str | None, columns: Sequence[str] | None) -> list[str]:
    if (text is None) == (columns is None):
        raise ShortlistError("table: give either text (one column of texts) or columns (columns of numbers)")
    if text is not None:
        return [text]
    if isinstance(columns, str) or not columns:
        raise ShortlistError(f"table: columns has to be a list of column names, not {columns!r}")
    return list(columns)


# --- reading ---------------------------------------------------------------------------------------------------


def read(path: Path, wanted: Sequence[str | None]) -> dict[str, Any]:
    """The wanted columns: lists of texts (None: empty) from CSV, columns of pyarrow from Parquet."""
    names, existing = [name for name in wanted if name is not None], column_names(path)
    for name in names:
        if name not in existing:
            raise ShortlistError(f"{path}: there is no column {name!r}; its columns are {', '.join(existing)}")
    refuse_repeated(path, existing, names)
    with readable(path):
        rows = read_parquet(path, names) if path.suffix == ".parquet" else read_csv(path, names)
    if not len(rows[names[0]]):
        raise ShortlistError(f"{path}: the file has no rows")
    return rows


def _taken(column: Any, places: Ints) -> Any:
    """Some rows of a column, as `read` gives it."""
    return column.take(places) if hasattr(column, "take") else [column[place] for place in places.tolist()]


def refuse_repeated(path: Path, existing: Sequence[str], wanted: Iterable[str]) -> None:
    """Of two columns of one name nobody knows which is meant."""
    for name in wanted:
        if existing.count(name) > 1:
            raise ShortlistError(f"{path}: the column {name!r} appears more than once")


def column_names(path: Path) -> list[str]:
    with readable(path):
        if path.suffix == ".parquet":
            from pyarrow import parquet

            return [*parquet.read_schema(path).names]
        with csv_lines(path) as lines:
            header = next(lines, None)
        if header is None:
            raise ValueError("the file is empty")
        return header


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Refuses by a sentence what is no table that can be read."""
    if not path.is_file():
        raise ShortlistError(f"{path}: there is no such file")
    if not path.name.endswith((".parquet", ".csv", ".csv.gz")):
        raise ShortlistError(f"{path}: only .csv, .csv.gz and .parquet files can be read")
    if path.suffix == ".parquet":
        require("pyarrow", extra="report")
    try:
        yield
    except ShortlistError:
        raise
    except (ValueError, NotImplementedError, OSError, EOFError, zlib.error) as error:
        raise ShortlistError(f"{path}: cannot be read: {error}") from error


def read_csv(path: Path, wanted: Sequence[str]) -> dict[str, Any]:
    """Everything as text, "" the only null: guessing types would turn "01" into 1 and "NA" into nothing."""
    with csv_lines(path) as lines:
        header = next(lines)
        places = {name: header.index(name) for name in wanted}
        columns: dict[str, list[str | None]] = {name: [] for name in places}
        for cells in lines:
            for name, place in places.items():
                columns[name].append(cells[place] or None)
    return columns


@contextmanager
def csv_lines(path: Path) -> Iterator[Iterator[list[str]]]:
    """The rows, the header first."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield csv_rows(file, path)


def read_parquet(path: Path, wanted: Sequence[str]) -> dict[str, Any]:
    from pyarrow import parquet

    rows = parquet.ParquetFile(path).read(columns=list(dict.fromkeys(wanted)))
    return {name: rows[name] for name in wanted}


# --- as it was given -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """A table as its owner has it, row by row."""

    types: Mapping[str, Any]  # of every column: its type in Parquet; None where it is a CSV's text
    rows: Iterator[tuple[str, dict[str, Any]]]  # the key of the item, and a value for each column


def as_given(path: Path, key: str | None) -> Given:
    """All columns and all rows of a file, each row with the key that `Table` gives its item."""
    names = column_names(path)
    refuse_repeated(path, names, names)
    if path.suffix == ".parquet":
        from pyarrow import parquet

        schema = parquet.read_schema(path)
        return Given(dict(zip(names, schema.types, strict=True)), _parquet_rows(path, key))
    return Given(dict.fromkeys(names), _csv_rows(path, key))


def _csv_rows(path: Path, key: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    with readable(path), csv_lines(path) as lines:
        header = next(lines)
        for number, cells in enumerate(lines):
            row = dict(zip(header, cells, strict=True))
            yield str(number) if key is None else row[key], row


def _parquet_rows(path: Path, key: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    from pyarrow import parquet

    number = 0
    with readable(path):
        for batch in parquet.ParquetFile(path).iter_batches():
            part = pa.Table.from_batches([batch])
            keys = [None] * len(part) if key is None else strings(part[key])
            for name, row in zip(keys, part.to_pylist(), strict=True):
                yield str(number) if name is None else name, row
                number += 1


# --- columns ---------------------------------------------------------------------------------------------------


def input_rows(path: str | Path, rows: Mapping[str, Any], text: str | None, columns: Sequence[str]) -> npt.NDArray[Any]:
    if text is None:
        return np.column_stack([numbers(rows[name], field=f"{path}, column {name!r}") for name in columns])
    cells = strings(rows[text])
    if None in cells:
        raise wrong_row(f"{path}, column {text!r}", cells.index(None), "the text is missing")
    return np.array(cells, object)


def strings(column: Any) -> list[str | None]:
    """A column as texts; a Parquet "" is as missing as an empty CSV cell."""
    if isinstance(column, list):
        return column
    try:
        cells: list[str | None] = column.cast("large_string").to_pylist()
    except (ValueError, NotImplementedError) as error:
        raise ShortlistError(f"table: a column of {column.type} cannot be read as text: {error}") from None
    return [cell or None for cell in cells]


def label_cells(rows: Mapping[str, Any], label: str | None) -> list[str | None]:
    return [None] * len(next(iter(rows.values()))) if label is None else strings(rows[label])


def numbers(column: Any, *, field: str) -> npt.NDArray[np.float64]:
    """(N,) float64; the first cell that is no number is refused by row and value."""
    try:
        values: npt.NDArray[np.float64] = column.cast("double").to_numpy()
    except (AttributeError, ValueError, NotImplementedError):  # texts, some of them perhaps no numbers
        column = column if isinstance(column, list) else column.to_pylist()
        values = np.array([_number(cell) for cell in column])
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        cell = column[row]
        raise wrong_row(field, row, f"{cell.as_py() if hasattr(cell, 'as_py') else cell!r} is not a number")
    return values


def _number(cell: Any) -> float:
    """NaN for what is no number; Python's own 1_000 is none in a table."""
    try:
        return float("nan" if "_" in str(cell) else cell)
    except (TypeError, ValueError):
        return float("nan")
