"""CSV: exact, or safe to open in a spreadsheet.

Lists stand in a cell as JSON; a cell that is empty is a null. An exact file keeps every text as it is, also one that a
spreadsheet would run as a formula (it begins with = + - @, full-width ones too). `spreadsheet` files put a ' before
such texts, and begin with the mark by which spreadsheets know UTF-8; reading them as `spreadsheet` takes it off again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.format import READ, Column, FileLabel, Format, Row, Sheet, check_columns
from shortlist.system.csv_rows import csv_rows

_FORMULAS = tuple("=+-@\t\r\n＝＋－＠")  # the last four are full-width, and taken for the others in some countries


def quoted(text: str) -> str:
    """
    >>> quoted("=SUM(A1)"), quoted("'tis"), quoted("a=b")
    ("'=SUM(A1)", "''tis", 'a=b')
    """
    return "'" + text if text.startswith((*_FORMULAS, "'")) else text


def unquoted(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith((*_FORMULAS, "'")) else text


def _write(sheet: Sheet, path: Path, encoding: str = "utf-8", quote: Callable[[str], str] = str) -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in sheet.columns])
        writer.writerows([_cell(row, column, quote) for column in sheet.columns] for row in sheet.rows)


def _cell(row: Row, column: Column, quote: Callable[[str], str]) -> Any:
    value = row[column.name]
    if value is None:
        return ""
    if column.kind == "text":
        return quote(value)
    if column.kind in ("int", "float"):
        return value
    if column.kind == "given" and not isinstance(value, bool | list | dict):  # a date, a decimal, an id
        return quote(str(value))
    return json.dumps(value, ensure_ascii=False, default=str)


def _read(path: Path, columns: Sequence[str] = READ, unquote: Callable[[str], str] = str) -> Iterator[FileLabel]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv_rows(file, path)
        header = next(rows, [])
        check_columns(path, header, columns)
        places = [header.index(name) if name in header else None for name in columns]
        for number, cells in enumerate(rows, start=2):  # as a spreadsheet counts
            key, label, person, seconds = ("" if place is None else cells[place] for place in places)
            yield FileLabel(f"{path}: row {number}", unquote(key), unquote(label), unquote(person), seconds)


CSV = Format("csv", "CSV", "A table as text, for any program.", ".csv", "text/csv; charset=utf-8", _write, _read)
SPREADSHEET = Format(
    "spreadsheet",
    "CSV for spreadsheets",
    "The same; no cell is taken for a formula.",
    ".csv",
    "text/csv; charset=utf-8",
    partial(_write, encoding="utf-8-sig", quote=quoted),
    partial(_read, unquote=unquoted),
    is_default=False,
)
