"""JSON lines: a JSON object a row, by column or as doccano reads them.

doccano has `text` or `filename`, a list of labels, and all the rest in `meta`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.format import READ, FileLabel, Format, Row, Sheet, first_known, only, whole
from shortlist.types import ShortlistError


def write(sheet: Sheet, path: Path) -> None:
    _write_lines(sheet.rows, path)


def write_doccano(sheet: Sheet, path: Path) -> None:
    _write_lines((_example(row, sheet.describe(row["key"])) for row in sheet.rows), path)


def _example(row: Row, content: Mapping[str, Any]) -> Row:
    shown = {"filename": content["image"]} if "image" in content else {"text": content.get("text", row["key"])}
    return {**shown, "label": [] if row["label"] is None else [row["label"]], "meta": row}


def _write_lines(rows: Iterable[Row], path: Path) -> None:
    with path.open("w", newline="\n", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)


def read(path: Path, columns: Sequence[str] = READ) -> Iterator[FileLabel]:
    seen: set[str] = set()
    for at, row in _lines(path):
        seen |= row.keys()
        yield FileLabel(at, *(row.get(name) for name in columns))
    if seen and columns[1] not in seen:
        raise ShortlistError(f"{path}: no line has a {columns[1]!r} (another name for the label: --label NAME)")


def read_doccano(path: Path) -> Iterator[FileLabel]:
    for at, row in _lines(path):
        meta = row["meta"] if isinstance(row.get("meta"), dict) else row  # doccano spreads what it does not know
        key = first_known(meta.get("key"), row.get("key"), row.get("filename"))
        yield FileLabel(at, key, only(at, row.get("label")), meta.get("person"), meta.get("seconds"))


def _lines(path: Path) -> Iterator[tuple[str, Row]]:
    """("labels.jsonl: line 1", object) and so on; empty lines are passed over."""
    with path.open(newline="\n", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            at = f"{path}: line {number}"
            try:
                row = json.loads(line, object_pairs_hook=whole)
            except (ValueError, RecursionError) as error:
                raise ShortlistError(f"{at} is not JSON ({error})") from None
            if not isinstance(row, dict):
                raise ShortlistError(f"{at} is no JSON object: {line.strip()[:60]}")
            yield at, row


JSON_LINES = Format("jsonl", "JSON Lines", "A JSON object a row.", ".jsonl", "application/jsonl", write, read)
DOCCANO = Format(
    "doccano",
    "doccano",
    "JSON Lines as doccano reads them.",
    ".doccano.jsonl",
    "application/jsonl",
    write_doccano,
    read_doccano,
    shows_items=True,
)
