"""doccano: a JSON object a line, with `text` or `filename`, a list of labels, and all the rest in `meta`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shortlist.campaign.formats.given import Given, given, only
from shortlist.campaign.formats.jsonl_file import lines, write_lines
from shortlist.campaign.formats.rows import Row, Sheet


def write(sheet: Sheet, path: Path) -> int:
    return write_lines((_example(row, sheet.describe(row["key"])) for row in sheet.rows), path)


def _example(row: Row, content: Mapping[str, Any]) -> Row:
    shown = {"filename": content["image"]} if "image" in content else {"text": content.get("text", row["key"])}
    return {**shown, "label": [] if row["label"] is None else [row["label"]], "meta": row}


def read(path: Path) -> Iterator[Given]:
    for at, row in lines(path):
        meta = row["meta"] if isinstance(row.get("meta"), dict) else row  # doccano spreads what it does not know
        key = next((k for k in (meta.get("key"), row.get("key"), row.get("filename")) if k is not None), None)
        label = only(at, row.get("label"))
        if found := given(at, key, label, meta.get("person"), meta.get("seconds")):
            yield found
