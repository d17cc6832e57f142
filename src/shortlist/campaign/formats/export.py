"""Labels to a file, with how each came about. Run twice, the file is the same.

`rows.LABEL_COLUMNS` and `rows.ANSWER_COLUMNS` say what the columns mean. A file is complete or is not there: it is
written beside its place and moved there last. What it says was true at one moment, also while people are labelling.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from shortlist.campaign.formats import csv_file, doccano, jsonl_file, label_studio, parquet_file
from shortlist.campaign.formats.content import Describe
from shortlist.campaign.formats.names import Format, format_of
from shortlist.campaign.formats.rows import Sheet, What, sheet_of
from shortlist.campaign.formats.snapshot import snapshot_of
from shortlist.types import ShortlistError

OWN = ("campaign.", "people.", "server.")  # files of a campaign's folder
WRITERS: dict[Format, Callable[[Sheet, Path], int]] = {
    "csv": csv_file.write,
    "jsonl": jsonl_file.write,
    "parquet": parquet_file.write,
    "label-studio": label_studio.write,
    "doccano": doccano.write,
    "spreadsheet": csv_file.write_spreadsheet,
}


def export(
    folder: Path,
    target: Path,
    *,
    format: str | None = None,
    what: What = "labels",
    describe: Describe | None = None,
) -> int:
    """Write a campaign's labels to `target`, or a row for every item, or every answer; how many rows.

    The ending says in which format, unless it is given. `describe` says what an item is (`content.py`), for Label
    Studio and doccano; without it they get its key, as a path where it looks like one of an image.
    """
    target = Path(target)
    chosen = format_of(target, format)
    if what == "answers" and chosen in ("label-studio", "doccano"):
        raise ShortlistError(f"{target}: {chosen} has a label an item; write single answers as csv, jsonl or parquet")
    if target.exists() and not target.is_file():
        raise ShortlistError(f"{target}: is no ordinary file; choose another name")
    if target.resolve().parent == Path(folder).resolve() and target.name.startswith(OWN):
        raise ShortlistError(f"{target}: belongs to the campaign; choose another name")
    if not target.parent.is_dir():
        raise ShortlistError(f"{target}: there is no folder {target.parent}")
    fresh = target.with_name(f"{target.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        with snapshot_of(Path(folder)) as store:
            n = WRITERS[chosen](sheet_of(store, what, describe), fresh)
        fresh.replace(target)
    except OSError as error:
        raise ShortlistError(f"{target}: cannot be written: {error.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)
    return n
