"""What a file format is: how labels are written to it and read from it, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, TypeAlias

from shortlist.datasets.table import refuse_repeated
from shortlist.types import Dataset, ShortlistError

Row: TypeAlias = dict[str, Any]  # of an export: a value for each column
Describe: TypeAlias = Callable[[str], Mapping[str, Any]]  # what an item is, by its key
IMAGES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".svg", ".avif"})


@dataclass(frozen=True)
class Format:
    """A file format. It is a file of this folder, and an entry of `FORMATS`.

    The same rows give the same bytes. Every text comes back as it was, control characters too. `read` raises
    `ShortlistError`, `OSError` or `UnicodeDecodeError` for what is no such file, and never asks for its name's ending.
    A format that shows no items is a table, and is told which of its columns stand for those of `READ`.
    """

    name: str  # as the command line and the API call it
    title: str
    says: str  # in a sentence, for people who choose one
    ending: str
    media_type: str
    write: Callable[[Sheet, Path], None]
    read: Callable[..., Iterator[FileLabel]]  # (path), or (path, columns) of one that shows no items
    is_default: bool = True  # of its ending
    shows_items: bool = False  # says what an item is, and which one label it has: it does not take single answers


class Column(NamedTuple):
    name: str
    kind: Literal["text", "int", "float", "bool", "texts", "floats", "given"]
    says: str
    stored: Any = None  # of a given column: its type in Parquet


@dataclass(frozen=True)
class Sheet:
    """Rows to write, one after the other; `classes` and `describe` for formats that show items and options."""

    columns: Sequence[Column]
    rows: Iterable[Row]
    classes: Sequence[str]
    describe: Describe


class FileLabel(NamedTuple):
    """What a file says about an item: any values, until `read_labels` has checked them."""

    at: str  # "labels.csv: row 3"
    key: Any
    label: Any
    person: Any = None
    seconds: Any = None


READ = FileLabel._fields[1:]  # columns


# --- what an item is -------------------------------------------------------------------------------------------


def by_key(key: str) -> Mapping[str, Any]:
    """What can be said without the dataset: {"image": …}, or nothing.

    >>> by_key("cat/1.png"), by_key("m1")
    ({'image': 'cat/1.png'}, {})
    """
    return {"image": key} if PurePath(key).suffix.lower() in IMAGES else {}


def by_dataset(dataset: Dataset) -> Describe:
    """{"text": …}, {"image": …}, or nothing.

    >>> from shortlist.datasets.arrays import Arrays
    >>> by_dataset(Arrays(["hello", "win now"], ["ham", "spam"], keys=["m1", "m2"]))("m2")
    {'text': 'win now'}
    """
    if dataset.kind == "images":
        return lambda key: {"image": key}
    if dataset.kind == "features":
        return lambda key: {}
    at = {key: i for i, key in enumerate(dataset.keys)}
    return lambda key: {"text": str(dataset.inputs[at[key]])} if key in at else {}


# --- what readers share ----------------------------------------------------------------------------------------


def check_columns(path: Path, names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a table in which it is not clear what is the key, and what the label."""
    for name, option in zip(columns, ("--key", "--label"), strict=False):  # the others may be missing
        if name not in names:
            there = ", ".join(map(repr, names)) or "none"
            raise ShortlistError(
                f"{path}: there is no column {name!r}; the columns are {there} (another one: {option} COLUMN)"
            )
    refuse_repeated(path, names, columns)


def whole(pairs: list[tuple[str, Any]]) -> Row:
    """A JSON object, as `object_pairs_hook` of a decoder; of two values of one name nobody knows which is meant."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} appears more than once in it")
    return row


def only(at: str, labels: Any) -> Any:
    """The one label of a list; None if it is empty."""
    if not isinstance(labels, list):
        return labels
    if len(labels) > 1:
        raise ShortlistError(f"{at}: {len(labels)} labels ({labels!r}); an item has one")
    return labels[0] if labels else None


def first_known(*values: Any) -> Any:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)
