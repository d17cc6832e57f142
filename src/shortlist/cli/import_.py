from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    folder: Annotated[Path, typer.Argument(help="A campaign.")],
    file: Annotated[
        Path, typer.Argument(help="Labels: .csv, .jsonl, .parquet, .json (Label Studio) or .doccano.jsonl.")
    ],
    format: Annotated[
        str | None,
        typer.Option(help="csv, jsonl, parquet, label-studio, doccano or spreadsheet. (Default: by the ending.)"),
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="In whose name. (Default: as the file says, or else import.)")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also where people have said something else: the file decides.")
    ] = False,
    skip_unknown: Annotated[
        bool, typer.Option("--skip-unknown", help="Leave out rows about items or classes that are not here.")
    ] = False,
) -> None:
    """Take labels from a file into a campaign, at no cost. Safe while people are labelling.

    A table needs the columns key and label, and may have person and seconds; what shortlist export writes fits. Items
    that have a label keep it. The same import twice changes nothing.

    Example: shortlist import my-campaign labels.csv --person ana
    """
    from shortlist.campaign.folder import Folder
    from shortlist.campaign.formats.import_ import import_labels, read_labels
    from shortlist.campaign.store import Store

    rows = read_labels(file, format)
    with Store(Folder(folder).database) as store:
        done = import_labels(store, rows, person=person, overwrite=overwrite, skip_unknown=skip_unknown)
    print(f"{done.written} labels imported: {folder}")
    for n, what in ((done.same, "had that label"), (done.kept, "keep what people said"), (done.unknown, "are unknown")):
        if n:
            print(f"{n} {what}")
