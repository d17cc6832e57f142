"""JSON lines: a JSON object a row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.given import Given, given
from shortlist.campaign.formats.rows import Sheet
from shortlist.types import ShortlistError


def write(sheet: Sheet, path: Path) -> int:
    return write_lines(sheet.rows, path)


def write_lines(rows: Iterable[Any], path: Path) -> int:
    n = 0
    with path.open("w", newline="\n", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            n += 1
    return n


def read(path: Path) -> Iterator[Given]:
    for at, row in lines(path):
        if found := given(at, *(row.get(name) for name in ("key", "label", "person", "seconds"))):
            yield found


def lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """("labels.jsonl: line 1", object) and so on; empty lines are passed over."""
    with path.open(newline="\n", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                at = f"{path}: line {number}"
                yield at, _object(line, at)


def _object(line: str, at: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ShortlistError(f"{at} is not JSON ({error})") from None
    if not isinstance(row, dict):
        raise ShortlistError(f"{at} is no JSON object: {line.strip()[:60]}")
    return row
