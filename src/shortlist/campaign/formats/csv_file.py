"""CSV: exact, or safe to open in a spreadsheet.

Lists stand in a cell as JSON; a cell that is empty is a null. An exact file keeps every text as it is, also one that a
spreadsheet would run as a formula (it begins with = + - @). `spreadsheet` files put a ' before such texts, and begin
with the mark by which spreadsheets know UTF-8; reading them as `spreadsheet` takes it off again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.given import Given, check_columns, given
from shortlist.campaign.formats.rows import Column, Row, Sheet
from shortlist.types import ShortlistError

_FORMULAS = tuple("=+-@\t\r")
csv.field_size_limit(1 << 30)  # bytes of a cell; of the whole process, so it is said once


def write(sheet: Sheet, path: Path) -> int:
    return _write(sheet, path, "utf-8", lambda text: text)


def write_spreadsheet(sheet: Sheet, path: Path) -> int:
    return _write(sheet, path, "utf-8-sig", quoted)


def quoted(text: str) -> str:
    """
    >>> quoted("=SUM(A1)"), quoted("'tis"), quoted("a=b")
    ("'=SUM(A1)", "''tis", 'a=b')
    """
    return "'" + text if text.startswith((*_FORMULAS, "'")) else text


def unquoted(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith((*_FORMULAS, "'")) else text


def _write(sheet: Sheet, path: Path, encoding: str, told: Callable[[str], str]) -> int:
    n = 0
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in sheet.columns])
        for row in sheet.rows:
            writer.writerow([_cell(row, column, told) for column in sheet.columns])
            n += 1
    return n


def _cell(row: Row, column: Column, told: Callable[[str], str]) -> Any:
    value = row[column.name]
    if value is None:
        return ""
    if column.kind == "text":
        return told(value)
    return value if column.kind in ("int", "float") else json.dumps(value, ensure_ascii=False)


def read(path: Path) -> Iterator[Given]:
    return _read(path, lambda text: text)


def read_spreadsheet(path: Path) -> Iterator[Given]:
    return _read(path, unquoted)


def _read(path: Path, told: Callable[[str], str]) -> Iterator[Given]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, restkey="", strict=True)
        try:
            check_columns(path, reader.fieldnames or [])
            for number, row in enumerate(reader, start=2):  # as a spreadsheet counts
                if found := _given(f"{path}: row {number}", row, told):
                    yield found
        except csv.Error as error:
            raise ShortlistError(f"{path}: line {reader.reader.line_num} is not CSV ({error})") from None


def _given(at: str, row: Mapping[Any, Any], told: Callable[[str], str]) -> Given | None:
    if row.get("") is not None:
        raise ShortlistError(f"{at} has more cells than the first row has names")
    key, label, person = (told(row.get(name) or "") for name in ("key", "label", "person"))
    return given(at, key, label, person, row.get("seconds"))
