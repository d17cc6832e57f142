"""Items from the rows of a CSV or Parquet file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortlist.datasets.arrays import Arrays, as_classes, as_keys, encode, encode_test, inferred_classes
from shortlist.types import Ints, ShortlistError

# A cell may not be longer than a block; pyarrow's own 1 MB is too little for a book in a cell.
BLOCK_BYTES = 1 << 26


class Table(Arrays):
    """One item a row: a column of texts or several of numbers, a label where there is one, a key if there is one.

    Labels are text, whatever they look like: "01", "NA" and "null" are classes, and only an empty cell (or a
    Parquet null) is a missing label. Classes are names, or a file of them; without, the labels that occur.

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
    ) -> None:
        given = input_columns(text, columns)
        refuse_label_among_inputs(label, given)
        refuse_test_without_label(test, label)
        rows = read(Path(path), [name for name in (*given, label, key) if name is not None])
        cells = label_cells(rows, label)
        names = class_names(path, label, cells, classes)
        test_inputs, test_labels = (None, None) if test is None else test_split(test, text, given, label, names)
        super().__init__(
            input_rows(path, rows, text, given),
            encode(cells, names, field=f"{path}, column {label!r}"),
            classes=names,
            keys=None if key is None else as_keys(strings(rows[key]), len(cells), field=f"{path}, column {key!r}"),
            test_inputs=test_inputs,
            test_labels=test_labels,
            name="table",
        )
        options: dict[str, object] = {"path": str(path), "text": text, "label": label, "key": key}
        options["columns"] = None if columns is None else given
        options["test"] = None if test is None else str(test)
        options["classes"] = None if classes is None else list(names)
        self._options = {option: value for option, value in options.items() if value is not None}  # TOML has no null

    def spec(self) -> dict[str, object]:
        return {"name": "table", **self._options}


# --- which columns ---------------------------------------------------------------------------------------------


def input_columns(text: str | None, columns: Sequence[str] | None) -> list[str]:
    if (text is None) == (columns is None):
        raise ShortlistError("table: give either text (one column of texts) or columns (columns of numbers)")
    if text is not None:
        return [text]
    if isinstance(columns, str) or not columns:
        raise ShortlistError(f"table: columns has to be a list of column names, not {columns!r}")
    return list(columns)


def refuse_label_among_inputs(label: str | None, inputs: Sequence[str]) -> None:
    if label in inputs:
        raise ShortlistError(f"table: the column {label!r} is both the label and an input; a model would copy it")


def refuse_test_without_label(test: str | Path | None, label: str | None) -> None:
    if test is not None and label is None:
        raise ShortlistError(f"table: the test file {test} is of no use without label: name the column of labels")


def test_split(
    path: str | Path, text: str | None, columns: Sequence[str], label: str | None, classes: Sequence[str]
) -> tuple[npt.NDArray[Any], Ints]:
    rows = read(Path(path), [name for name in (*columns, label) if name is not None])
    labels = encode_test(label_cells(rows, label), classes, field=f"{path}, column {label!r}")
    return input_rows(path, rows, text, columns), labels


def class_names(
    path: str | Path, label: str | None, cells: list[str | None], given: Iterable[str] | str | Path | None
) -> tuple[str, ...]:
    if given is not None:
        return as_classes(given)
    return as_classes(inferred_classes(cells), field=f"classes of {path}, column {label!r}" if label else "classes")


# --- reading ---------------------------------------------------------------------------------------------------


def read(path: Path, wanted: Sequence[str]) -> Any:
    """A pyarrow table of the wanted columns: strings from CSV, whatever was stored from Parquet."""
    with readable(path):
        rows = read_parquet(path, wanted) if path.suffix == ".parquet" else read_csv(path, wanted)
    if rows.num_rows == 0:
        raise ShortlistError(f"{path}: the file has no rows")
    return rows


def column_names(path: Path) -> list[str]:
    with readable(path):
        return parquet_columns(path) if path.suffix == ".parquet" else csv_columns(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Refuses by a sentence what is no table that can be read."""
    from pyarrow import ArrowException

    if not path.is_file():
        raise ShortlistError(f"{path}: there is no such file")
    if not path.name.endswith((".parquet", ".csv", ".csv.gz")):
        raise ShortlistError(f"{path}: only .csv, .csv.gz and .parquet files can be read")
    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise ShortlistError(f"{path}: cannot be read: {error}") from error


def read_csv(path: Path, wanted: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    refuse_missing_columns(path, wanted, csv_columns(path))
    # Everything as text with "" the only null: guessing types would turn "01" into 1 and "NA" into nothing.
    convert = csv.ConvertOptions(
        column_types={name: pa.large_string() for name in wanted},
        include_columns=list(dict.fromkeys(wanted)),
        null_values=[""],
        strings_can_be_null=True,
    )
    return csv.read_csv(str(path), convert_options=convert, **csv_options())


def csv_columns(path: Path) -> list[str]:
    from pyarrow import csv

    with csv.open_csv(str(path), **csv_options()) as reader:
        names: list[str] = reader.schema.names
        return names


def csv_options() -> dict[str, Any]:
    from pyarrow import csv

    return {
        "read_options": csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False),  # with threads, errors name no row
        "parse_options": csv.ParseOptions(newlines_in_values=True),
    }


def parquet_columns(path: Path) -> list[str]:
    from pyarrow import parquet

    names: list[str] = parquet.read_schema(path).names
    return names


def read_parquet(path: Path, wanted: Sequence[str]) -> Any:
    from pyarrow import parquet

    refuse_missing_columns(path, wanted, parquet_columns(path))
    return parquet.ParquetFile(path).read(columns=list(dict.fromkeys(wanted)))


def refuse_missing_columns(path: Path, wanted: Sequence[str], existing: Sequence[str]) -> None:
    for name in wanted:
        if name not in existing:
            raise ShortlistError(f"{path}: there is no column {name!r}; its columns are {', '.join(existing)}")
        if list(existing).count(name) > 1:
            raise ShortlistError(f"{path}: the column {name!r} appears more than once")


# --- columns ---------------------------------------------------------------------------------------------------


def input_rows(path: str | Path, rows: Any, text: str | None, columns: Sequence[str]) -> npt.NDArray[Any]:
    if text is not None:
        return texts(strings(rows[text]), field=f"{path}, column {text!r}")
    return np.column_stack([numbers(rows[name], field=f"{path}, column {name!r}") for name in columns])


def strings(column: Any) -> list[str | None]:
    import pyarrow as pa

    try:
        cells: list[str | None] = column.cast(pa.large_string()).to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise ShortlistError(f"table: a column of {column.type} cannot be read as text: {error}") from None
    return [cell or None for cell in cells]  # a Parquet "" is as missing as an empty CSV cell


def label_cells(rows: Any, label: str | None) -> list[str | None]:
    return [None] * rows.num_rows if label is None else strings(rows[label])


def texts(cells: list[str | None], *, field: str) -> npt.NDArray[np.object_]:
    for row, cell in enumerate(cells):
        if cell is None:
            raise ShortlistError(f"{field}, row {row} (counting from 0): the text is missing")
    return np.array(cells, object)


def numbers(column: Any, *, field: str) -> npt.NDArray[np.float64]:
    """(N,) float64; the first cell that is no number is refused by row and value."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column) if pa.types.is_large_string(column.type) else column
    try:
        values: npt.NDArray[np.float64] = trimmed.cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        row = next(row for row, cell in enumerate(trimmed) if not is_number(cell))
        raise ShortlistError(f"{field}, {not_a_number(column, row)}") from error
    if not np.isfinite(values).all():
        raise ShortlistError(f"{field}, {not_a_number(column, int(np.flatnonzero(~np.isfinite(values))[0]))}")
    return values


def is_number(cell: Any) -> bool:
    import pyarrow as pa

    try:
        cell.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


def not_a_number(column: Any, row: int) -> str:
    return f"row {row} (counting from 0): {column[row].as_py()!r} is not a number"
