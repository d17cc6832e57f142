from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shortlist.campaign.formats import ENDINGS
from shortlist.cli.export import FormatName
from shortlist.system.terminal import say


def import_(
    folder: Annotated[Path, typer.Argument(help="A campaign.")],
    file: Annotated[Path, typer.Argument(help=f"Labels: {ENDINGS}.")],
    format: FormatName = None,
    key: Annotated[str | None, typer.Option(help="The column with the item's key. (Default: key.)")] = None,
    label: Annotated[str | None, typer.Option(help="The column with its class. (Default: label.)")] = None,
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

    A table needs the columns key and label, or what --key and --label call them, and may have person and seconds; what
    shortlist export writes fits. Items that have a label keep it. The same import twice changes nothing.

    Example: shortlist import my-campaign labels.csv --key filename --label class
    """
    from shortlist.campaign.formats.import_ import import_labels, read_labels, some_of
    from shortlist.types import ShortlistError

    rows = read_labels(file, format, key=key, label=label)
    if not rows:
        raise ShortlistError(f"{file}: no row of it has a label, so nothing was imported")
    done = import_labels(folder, rows, person=person, overwrite=overwrite, skip_unknown=skip_unknown)
    say(f"{done.written} labels imported: {folder}")
    for n, what in ((done.same, "had that label"), (done.kept, "keep what people said"), (done.unknown, "are unknown")):
        if n:
            say(f"{n} {what}")
    if done.refused:
        say(some_of(done.refused))
