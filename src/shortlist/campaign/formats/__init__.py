"""File formats that labels leave and enter a campaign in. A new one is a file here and an entry of `FORMATS`."""

from __future__ import annotations

from pathlib import Path

from shortlist.campaign.formats.csv_file import CSV, SPREADSHEET
from shortlist.campaign.formats.format import Format
from shortlist.campaign.formats.json_lines import DOCCANO, JSON_LINES
from shortlist.campaign.formats.label_studio import LABEL_STUDIO
from shortlist.campaign.formats.parquet_file import PARQUET
from shortlist.types import ShortlistError

FORMATS: dict[str, Format] = {
    format.name: format for format in (CSV, SPREADSHEET, JSON_LINES, PARQUET, LABEL_STUDIO, DOCCANO)
}
NAMES = ", ".join(FORMATS)
ENDINGS = ", ".join(f"{f.ending} ({f.title})" for f in FORMATS.values() if f.is_default)


def format_of(path: Path, name: str | None = None) -> Format:
    """The format of this name; without one, by the longest ending that fits.

    >>> format_of(Path("labels.json")).name, format_of(Path("x.doccano.jsonl")).name, format_of(Path("x"), "csv").name
    ('label-studio', 'doccano', 'csv')
    """
    if name is not None:
        if name not in FORMATS:
            raise ShortlistError(f"format: {name!r} is none of {NAMES}")
        return FORMATS[name]
    fitting = [f for f in FORMATS.values() if f.is_default and path.name.lower().endswith(f.ending)]
    if not fitting:
        raise ShortlistError(f"{path}: the name must end in one of {ENDINGS}, or the format be given: {NAMES}")
    return max(fitting, key=lambda f: len(f.ending))
