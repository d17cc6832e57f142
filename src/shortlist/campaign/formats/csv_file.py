"""CSV: exact, or safe to open in a spreadsheet.

Lists stand in a cell as JSON; a cell that is empty is a null. An exact file keeps every text as it is, also one that a
spreadsheet would run as a formula (it begins with = + - @). `spreadsheet` files put a ' before such texts, and begin
with the mark by which spreadsheets know UTF-8; reading them as `spreadsheet` takes it off again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.format import Column, FileLabel, Format, Row, Sheet, check_columns
from shortlist.types import ShortlistError

_FORMULAS = tuple("=+-@\t\r")
csv.field_size_limit(1 << 30)  # bytes of a cell; of the whole process, so it is said once


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
    return value if column.kind in ("int", "float") else json.dumps(value, ensure_ascii=False)


def _read(path: Path, unquote: Callable[[str], str] = str) -> Iterator[FileLabel]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, restkey="", strict=True)
        try:
            check_columns(path, reader.fieldnames or [])
            for number, row in enumerate(reader, start=2):  # as a spreadsheet counts
                at = f"{path}: row {number}"
                if row.get("") is not None:
                    raise ShortlistError(f"{at} has more cells than the first row has names")
                key, label, person = (unquote(row.get(name) or "") for name in ("key", "label", "person"))
                yield FileLabel(at, key, label, person, row.get("seconds"))
        except csv.Error as error:
            raise ShortlistError(f"{path}: line {reader.reader.line_num} is not CSV ({error})") from None


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
