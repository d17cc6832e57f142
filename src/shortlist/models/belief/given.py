"""Probabilities that somebody brings along: of CLIP, of a language model, of last year's classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.models.belief.graph import Rows
from shortlist.models.model import TrainingSet
from shortlist.system.csv_rows import csv_rows
from shortlist.system.extras import require
from shortlist.types import Dataset, Ints, ShortlistError

KEY = "key"
GROUP = 5000  # rows read at once
LEAST = 1e-6  # probability
Told: TypeAlias = npt.NDArray[np.float16]  # (N, L) log-probabilities, three digits of them


@dataclass(frozen=True)
class _Voice:
    name: str
    usual: float
    held_out: Rows
    told: Told

    def logs(self, items: Ints) -> Rows:
        return self.told[items].astype(np.float32)

    def logs_of_test(self, rows: Ints) -> Rows:
        return np.zeros((len(rows), self.told.shape[1]), np.float32)  # a test split has no keys to be found by


class Given:
    """An expert that has its probabilities from a Parquet or CSV file: a row an item, a column a class.

    The column `key` (or else the first) holds the items' keys, the others are named as the classes. Rows need not sum
    to 1. Of an item that is missing this expert says nothing; a class that is missing, or a cell that is empty, counts
    as 1/L, and the others as their part of the rest. It keeps 2 bytes for each item and class.

    Parameters
    ----------
    path : the file, *.parquet or *.csv

    >>> from tempfile import TemporaryDirectory
    >>> from shortlist import Arrays
    >>> data = Arrays([[0.0], [1.0], [2.0]], classes=["cat", "cow", "dog"])
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "clip.csv").write_text("key,cat,dog\\n0,0.9,0.1\\n2,0.5,0.5\\n")
    ...     expert = Given(Path(folder) / "clip.csv")
    ...     expert.prepare(data)
    >>> expert.probs(np.array([0, 1])).round(2)
    array([[0.6 , 0.33, 0.07],
           [0.33, 0.33, 0.33]])
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._read: tuple[Told, Sequence[str]] | None = None  # with a column for each of these classes
        self._told: Told | None = None

    def __repr__(self) -> str:
        return f"Given({str(self.path)!r})"

    def spec(self) -> dict[str, object]:
        return {"name": "given", "path": str(self.path)}

    def check(self) -> None:
        if not self.path.is_file():
            raise ShortlistError(f"given: there is no file {self.path}")
        if self.path.suffix not in (".parquet", ".csv"):
            raise ShortlistError(f"given: {self.path.name} is neither *.parquet nor *.csv")

    def check_dataset(self, dataset: Dataset, n: int) -> None:
        """Refuses a file that does not fit the dataset, before anybody is asked."""
        self.prepare(dataset)

    def prepare(self, dataset: Dataset, model: Any = None) -> None:
        self.check()
        position = {key: at for at, key in enumerate(dataset.keys)}
        column = {name: at for at, name in enumerate(dataset.classes)}
        parts, found = _parts(self.path), np.zeros(len(position), np.bool_)
        key, classes = next(parts)
        if unknown := [name for name in classes if name not in column]:
            raise ShortlistError(
                f"given: column {unknown[0]!r} of {self.path} is no class of {dataset.name}; its columns are named as "
                f"the classes, after one of keys (here {key!r})"
            )
        if twice := [name for at, name in enumerate(classes) if name in classes[:at]]:
            raise ShortlistError(f"given: {self.path} has two columns {twice[0]!r}")
        told = np.zeros((len(position), len(column)), np.float16)
        n_unknown, first = 0, ""
        for keys, cells in parts:
            known = [name in position for name in keys]
            n_unknown, first = n_unknown + known.count(False), first or next((k for k in keys if k not in position), "")
            keys, cells = [k for k, is_known in zip(keys, known, strict=True) if is_known], cells[known]
            at = np.array([position[name] for name in keys], np.int64)
            self._refuse_twice(keys, at, found)
            told[at] = _as_logs(cells, [column[name] for name in classes], len(column), keys, self.path)
        if not found.any():
            raise ShortlistError(f"given: no key in {self.path} (column {key!r}) is one of {dataset.name}")
        if n_unknown:
            raise ShortlistError(
                f"given: {n_unknown} keys in {self.path} are of no item of {dataset.name}, first {first!r}"
            )
        self._read = told, tuple(dataset.classes)
        self._told = told

    def _refuse_twice(self, keys: Sequence[str], at: Ints, found: npt.NDArray[np.bool_]) -> None:
        values, counts = np.unique(at, return_counts=True)
        twice = np.concatenate([values[counts > 1], at[found[at]]])
        if len(twice):
            raise ShortlistError(f"given: key {keys[int(np.flatnonzero(at == twice[0])[0])]!r} is twice in {self.path}")
        found[at] = True

    def name_classes(self, names: Sequence[str]) -> None:
        """(L,) in the order of the labels' numbers."""
        if self._read is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        told, classes = self._read
        column = {name: at for at, name in enumerate(classes)}
        self._told = told if tuple(names) == classes else told[:, [column[name] for name in names]]

    def fit(self, training_set: TrainingSet) -> tuple[_Voice]:
        told = self._prepared()
        return (_Voice("given", 0.5, told[training_set.items].astype(np.float32), told),)

    def probs(self, items: Ints) -> npt.NDArray[np.float64]:
        """(n, L) as they were read."""
        p = np.exp(self._prepared()[items].astype(np.float64))
        shares: npt.NDArray[np.float64] = p / p.sum(axis=1, keepdims=True)
        return shares

    def _prepared(self) -> Told:
        if self._told is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return self._told


def _as_logs(cells: Any, columns: list[int], n_classes: int, keys: Sequence[str], path: Path) -> Told:
    """(n, L) from cells (n, k), where a masked one is empty."""
    there, values = ~np.ma.getmaskarray(cells), np.ma.getdata(cells)
    wrong = there & ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        row, at = np.argwhere(wrong)[0]
        raise ShortlistError(
            f"given: key {keys[row]!r} in {path} has {values[row, at]:g}; probabilities are numbers from 0 to 1"
        )
    totals, n_there = np.where(there, values, 0).sum(axis=1), there.sum(axis=1)
    empty = np.flatnonzero((totals <= 0) & (n_there > 0))
    if len(empty):
        raise ShortlistError(f"given: key {keys[empty[0]]!r} in {path} has 0 for every class; leave the row out")
    scale = n_there / n_classes / np.where(totals > 0, totals, 1)
    probs = np.full((len(keys), n_classes), 1 / n_classes)
    probs[:, columns] = np.where(there, values * scale[:, np.newaxis], 1 / n_classes)
    logs: Told = np.log(np.maximum(probs, LEAST)).astype(np.float16)
    return logs


def _parts(path: Path) -> Iterator[Any]:
    """First the key's column and the names of the others; then keys and masked cells (n, k), some rows at a time."""
    yield from _of_parquet(path) if path.suffix == ".parquet" else _of_csv(path)


def _of_parquet(path: Path) -> Iterator[Any]:
    require("pyarrow", extra="report")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            key = _key(names, path)
            classes = [name for name in names if name != key]
            yield key, classes
            for batch in file.iter_batches(GROUP):
                columns = [batch.column(name) for name in classes]
                values = [np.asarray(c.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)) for c in columns]
                empty = [np.asarray(c.is_null().to_numpy(zero_copy_only=False)) for c in columns]
                keys = [str(name) for name in batch.column(key).to_pylist()]
                yield keys, np.ma.array(np.stack(values, axis=1), mask=np.stack(empty, axis=1))
    except pa.ArrowException as error:
        raise ShortlistError(f"given: {path} cannot be read as probabilities ({error})") from None


def _of_csv(path: Path) -> Iterator[Any]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv_rows(file, path)
        names = next(rows, [])
        key = _key(names, path)
        at = names.index(key)
        yield key, [name for name in names if name != key]
        keys: list[str] = []
        cells: list[list[str]] = []
        for row in rows:
            keys.append(row[at])
            cells.append(row[:at] + row[at + 1 :])
            if len(keys) == GROUP:
                yield keys, _numbers(cells, keys, path)
                keys, cells = [], []
        if keys:
            yield keys, _numbers(cells, keys, path)


def _numbers(cells: list[list[str]], keys: Sequence[str], path: Path) -> Any:
    try:
        texts = np.array(cells, dtype=str)
        empty = np.strings.strip(texts) == ""
        return np.ma.array(np.where(empty, "0", texts).astype(np.float64), mask=empty)
    except ValueError as error:
        raise ShortlistError(f"given: {path} has a cell that is no number, near key {keys[0]!r} ({error})") from None


def _key(names: Sequence[str], path: Path) -> str:
    if len(names) < 2:
        raise ShortlistError(f"given: {path} needs a column of keys and one for each class")
    return KEY if KEY in names else names[0]
