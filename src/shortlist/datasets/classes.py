"""The classes: their names, and for people descriptions and example items, from a list, a file or a folder.

A file is one name a line, a JSON list, or a table (.csv, .tsv or .parquet) with the column `name`, and `description`
and `example`, `example_2`, … where there are any. In a folder every text file, image or sub folder is about the class
that it is named after: texts describe it, images are examples.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from shortlist.system.csv_rows import csv_rows
from shortlist.system.extras import require
from shortlist.types import ShortlistError

TABLES = (".csv", ".tsv", ".parquet")
TEXTS = (".txt", ".md")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
LONGEST = 5000  # characters of a description or of an example that is a text
LARGEST = 64 << 20  # bytes of a file of classes
SHOWN = 3  # examples of a class

Example: TypeAlias = Path | str  # an image, or a text


@dataclass(frozen=True)
class Classes:
    """Names of classes, and what people can read and see of them, by name."""

    names: tuple[str, ...]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, tuple[Example, ...]] = field(default_factory=dict)

    def described(self, descriptions: Mapping[str, str] | None) -> Classes:
        """With these descriptions, which replace those of the same names."""
        if not descriptions:
            return self
        known = set(self.names)
        for name, text in descriptions.items():
            if name not in known:
                raise ShortlistError(f"descriptions: {name!r} is not one of the {len(known)} classes ({_some(self)})")
            if not isinstance(text, str):
                raise ShortlistError(f"descriptions: of {name!r}: {text!r} is not a text")
        new = {name: _bounded(text.strip(), f"descriptions: of {name!r}") for name, text in descriptions.items()}
        return replace(self, descriptions={**self.descriptions, **{name: text for name, text in new.items() if text}})


def _some(known: Classes) -> str:
    return ", ".join(map(repr, known.names[:5])) + (", ..." if len(known.names) > 5 else "")


def as_classes(names: Iterable[Any] | str | Path, *, field: str = "classes") -> tuple[str, ...]:
    """The names, or those that a file or folder has."""
    return class_list(names, field=field).names


def class_list(names: Classes | Iterable[Any] | str | Path, *, field: str = "classes") -> Classes:
    """The classes that are listed, or that a file or folder has."""
    if isinstance(names, Classes):
        return names
    if isinstance(names, str | Path):
        listed, known = _read(Path(names))
        none = "there are no names in it; write one class a line"
    else:
        texts = ("" if name is None else str(name) for name in names)
        listed = Names(field, tuple(text if text.strip() else "" for text in texts), "name")
        known, none = {}, "no label is known, so the names of the classes have to be given"
    if not listed.names:
        raise ShortlistError(f"{listed.place}: {none}")
    if len(listed.distinct("class")) < 2:
        raise ShortlistError(f"{listed.place}: there is only the class {listed.names[0]!r}; at least 2 are needed")
    descriptions = {name: about.description for name, about in known.items() if about.description}
    examples = {name: about.examples for name, about in known.items() if about.examples}
    return Classes(listed.names, descriptions, examples)


@dataclass(frozen=True)
class About:
    """What a file or folder says of a class."""

    description: str = ""
    examples: tuple[Example, ...] = ()


def _read(path: Path) -> tuple[Names, dict[str, About]]:
    if path.is_dir():
        return _folder(path)
    if path.suffix.lower() in TABLES and (rows := _table(path)) is not None:
        return _columns(path, rows)
    return Names.read(path), {}


def _bounded(text: str, at: str) -> str:
    if len(text) > LONGEST:
        raise ShortlistError(f"{at}: {len(text):,} characters; at most {LONGEST:,} are shown, so shorten it")
    return text


# --- a table of classes ----------------------------------------------------------------------------------------

Cells: TypeAlias = list[list[str]]


def _table(path: Path) -> Cells | None:
    """The rows, the header first; None where it is a list of names after all, a line each."""
    rows = _parquet(path) if path.suffix.lower() == ".parquet" else _separated(path)
    header = rows[0] if rows else []
    if "name" not in header:
        if (len(header) == 1 and path.suffix.lower() != ".parquet") or not rows:
            return None
        has = "a table of classes has name, and description and example where there are any"
        raise ShortlistError(f"{path}: there is no column 'name'; its columns are {', '.join(header)} ({has})")
    for column in header:
        if header.count(column) > 1:
            raise ShortlistError(f"{path}: the column {column!r} appears more than once")
    return rows


def _separated(path: Path) -> Cells:
    lines = io.StringIO(_text(path), newline="")
    return [[cell.strip() for cell in row] for row in csv_rows(lines, path, "\t" if path.suffix == ".tsv" else ",")]


def _parquet(path: Path) -> Cells:
    require("pyarrow", extra="report")
    from pyarrow import parquet

    _refuse_large(path)
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such file") from None
    except (ValueError, NotImplementedError, OSError) as error:
        raise ShortlistError(f"{path}: cannot be read: {error}") from None
    columns = [[("" if cell is None else str(cell)).strip() for cell in column.to_pylist()] for column in table.columns]
    return [list(table.column_names), *map(list, zip(*columns, strict=True))]


def _columns(path: Path, rows: Cells) -> tuple[Names, dict[str, About]]:
    header, cells = rows[0], rows[1:]
    name = header.index("name")
    text = header.index("description") if "description" in header else None
    shown = [at for at, column in enumerate(header) if column == "example" or column.startswith("example_")]
    known = {}
    for number, row in enumerate(cells, start=2):
        at = f"{path}, row {number}"
        description = "" if text is None else _bounded(row[text], at)
        examples = tuple(_example(path.parent, row[place], at) for place in shown if row[place])
        known[row[name]] = About(description, examples[:SHOWN])
    return Names(str(path), tuple(row[name] for row in cells), "row", 2), known


def _example(home: Path, cell: str, at: str) -> Example:
    """An image beside the table, or the text itself."""
    if "\n" in cell or len(cell) > 300 or not cell.lower().endswith(PICTURES):
        return _bounded(cell, at)
    path = home / cell
    if not path.is_file():
        raise ShortlistError(f"{at}: there is no image {cell!r} in {home}")
    return _picture(path, home, at)


def _picture(path: Path, home: Path, at: str) -> Path:
    require("PIL", extra="images")
    refuse_elsewhere(path, home, at)
    return path.resolve()


# --- a folder of classes ---------------------------------------------------------------------------------------


def _folder(home: Path) -> tuple[Names, dict[str, About]]:
    try:
        entries = sorted(home.iterdir())
    except OSError as error:
        raise ShortlistError(f"{home}: cannot be read ({error.strerror})") from None
    known: dict[str, About] = {}
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            refuse_elsewhere(entry, home, str(entry))
            files = (file for file in sorted(entry.iterdir()) if not file.name.startswith("."))
            known[entry.name] = _with(known.get(entry.name), _of_files(files, home))
        elif entry.suffix.lower() in (*TEXTS, *PICTURES):
            known[entry.stem] = _with(known.get(entry.stem), _of_files([entry], home))
    if not known:
        what = "a file (.txt, .md or an image) or a sub folder for each class is wanted"
        raise ShortlistError(f"{home}: no class is in it; {what}")
    return Names(str(home), tuple(known), "entry", 1), known


def _of_files(files: Iterable[Path], home: Path) -> About:
    texts: list[str] = []
    pictures: list[Path] = []
    for file in files:
        kind = file.suffix.lower()
        if kind not in (*TEXTS, *PICTURES) or not file.is_file():
            continue
        if kind in PICTURES:
            pictures.append(_picture(file, home, str(file)))
            continue
        refuse_elsewhere(file, home, str(file))
        texts.append(_text(file).strip())
    return About(_bounded("\n\n".join(filter(None, texts)), str(home)), tuple(pictures[:SHOWN]))


def _with(before: About | None, more: About) -> About:
    if before is None:
        return more
    text = "\n\n".join(filter(None, (before.description, more.description)))
    return About(text, (*before.examples, *more.examples)[:SHOWN])


def refuse_elsewhere(path: Path, home: Path, at: str) -> None:
    """What people are shown lies in the folder that was named: a link or `..` may lead to anything on this machine."""
    inside, file = home.resolve(), path.resolve()
    if not file.is_relative_to(inside) or any(part.startswith(".") for part in file.relative_to(inside).parts):
        raise ShortlistError(f"{at}: it leads out of {home} or to something hidden, and only what lies there is shown")


# --- lists of names --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Names:
    """Names as they are listed, in a file or not, with a way to say where one of them stands."""

    place: str  # a file or a field
    names: tuple[str, ...]
    unit: str = "row"
    start: int = 0  # what the first one is called; an editor calls it line 1

    @classmethod
    def read(cls, path: str | Path) -> Names:
        """One name a line, or a JSON list. Blanks around a name and empty lines at the end do not count."""
        text = _text(Path(path))
        if (listed := _json_list(Path(path), text)) is not None:
            return cls(str(path), tuple(_entry(path, i, name) for i, name in enumerate(listed)), "entry", 1)
        lines = [line.strip() for line in text.rstrip().split("\n")]
        return cls(str(path), tuple(lines) if lines != [""] else (), "line", 1)

    def at(self, index: int) -> str:
        return f"{self.place}, {self.unit} {index + self.start}{self._counting}"

    @property
    def _counting(self) -> str:
        return "" if self.start else " (counting from 0)"

    def distinct(self, what: str) -> tuple[str, ...]:
        """The names, none of them empty, no two the same, and all of them text that a file can hold."""
        if len({"", *self.names}) > len(self.names) and all(map(str.isascii, self.names)):
            return self.names  # of a million there is hardly ever one to look for
        first: dict[str, int] = {}
        for index, name in enumerate(self.names):
            if not name:
                raise ShortlistError(f"{self.at(index)}: the {what} is empty")
            # half of a pair, or the bytes of a file's name that are not UTF-8
            if not name.isascii() and any("\ud800" <= sign <= "\udfff" for sign in name):
                raise ShortlistError(f"{self.at(index)}: {name!a} is no text (not UTF-8); rename it")
            if (before := first.setdefault(name, index)) != index:
                twice = f"{self.unit} {before + self.start} and {self.unit} {index + self.start}{self._counting}"
                raise ShortlistError(f"{self.place}: {twice} are both the {what} {name!r}")
        return self.names


def _text(path: Path) -> str:
    _refuse_large(path)
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ShortlistError(f"{path}: cannot be read as text (UTF-8): {error}") from None


def _refuse_large(path: Path) -> None:
    if path.exists() and not path.is_file():  # a pipe would be waited for, for ever
        raise ShortlistError(f"{path}: cannot be read as text (UTF-8): is no ordinary file")
    if path.is_file() and path.stat().st_size > LARGEST:
        raise ShortlistError(f"{path}: is larger than {LARGEST >> 20} MB; is it the file of classes?")


def _json_list(path: Path, text: str) -> list[Any] | None:
    """None where the file is plain lines, of which the first may well be "[other]"."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        if path.suffix == ".json":
            raise ShortlistError(f"{path}: cannot be read as JSON: {error}") from None
        return None
    if path.suffix == ".json" and not isinstance(listed, list):
        raise ShortlistError(f"{path}: a JSON list of names is wanted, not a {type(listed).__name__}")
    return listed if isinstance(listed, list) else None


def _entry(path: str | Path, index: int, name: Any) -> str:
    if isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return str(name).strip()
    raise ShortlistError(f"{path}, entry {index + 1}: {name!r} is not a name")
