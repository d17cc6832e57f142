"""Which format a file is in: by its ending, unless somebody says."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from shortlist.types import ShortlistError

Format: TypeAlias = Literal["csv", "jsonl", "parquet", "label-studio", "doccano", "spreadsheet"]
FORMATS: tuple[Format, ...] = get_args(Format)
_ENDINGS: dict[str, Format] = {  # the first that fits
    ".csv": "csv",
    ".doccano.jsonl": "doccano",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".json": "label-studio",
}


def format_of(path: Path, wanted: str | None = None) -> Format:
    """
    >>> format_of(Path("labels.json")), format_of(Path("labels.doccano.jsonl")), format_of(Path("x"), "csv")
    ('label-studio', 'doccano', 'csv')
    """
    if wanted is not None:
        if wanted not in FORMATS:
            raise ShortlistError(f"format: {wanted!r} is none of {', '.join(FORMATS)}")
        return wanted
    for ending, found in _ENDINGS.items():
        if path.name.lower().endswith(ending):
            return found
    raise ShortlistError(
        f"{path}: the name must end in .csv, .jsonl, .parquet, .json (Label Studio) or .doccano.jsonl, "
        f"or the format be given: {', '.join(FORMATS)}"
    )
