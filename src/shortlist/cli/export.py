from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def export(
    folder: Annotated[Path, typer.Argument(help="A campaign.")],
    target: Annotated[
        Path,
        typer.Argument(help="File to write: .csv, .jsonl, .parquet, .json (Label Studio) or .doccano.jsonl."),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            help="csv, jsonl, parquet, label-studio, doccano, or spreadsheet: a CSV file in which no cell is run as a "
            "formula. (Default: by the ending.)"
        ),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="A row for every item, also those without a label.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="A row for every single answer, also those taken back.")
    ] = False,
) -> None:
    """Write a campaign's labels to a file, with how each came about. Safe while people are labelling.

    Texts are written as they are. A spreadsheet program may take one that begins with = + - or @ for a formula;
    --format spreadsheet prevents that.

    Example: shortlist export runs/demo/digits/CSQ+Rand/seed-0 labels.parquet
    """
    from shortlist.campaign.formats.export import export as write
    from shortlist.campaign.formats.names import format_of
    from shortlist.types import ShortlistError

    if all and answers:
        raise ShortlistError("export: give --all or --answers, not both")
    chosen = format_of(target, format)
    describe = _description(folder) if chosen in ("label-studio", "doccano") else None
    what: Literal["labels", "all", "answers"] = "all" if all else "answers" if answers else "labels"
    n = write(folder, target, format=chosen, what=what, describe=describe)
    print(f"{n} {'items' if all else what}: {target}")
    if chosen == "label-studio":
        _tell_interface(folder, describe)


def _description(folder: Path) -> Callable[[str], Mapping[str, Any]] | None:
    """What the items are, if the campaign's dataset can be read from here."""
    from shortlist.campaign.formats.content import by_dataset
    from shortlist.campaign.formats.snapshot import snapshot_of
    from shortlist.experiments.parts import build
    from shortlist.types import ShortlistError

    with snapshot_of(folder) as store:
        table = store.config()["dataset"]
    try:
        return by_dataset(build("datasets", table, "dataset"))
    except ShortlistError as error:
        print(f"items are given by their keys only, as the dataset cannot be read: {error}", file=sys.stderr)
        return None


def _tell_interface(folder: Path, describe: Callable[[str], Mapping[str, Any]] | None) -> None:
    from shortlist.campaign.formats.content import by_key
    from shortlist.campaign.formats.label_studio import labelling_interface
    from shortlist.campaign.formats.snapshot import snapshot_of

    with snapshot_of(folder) as store:
        first = store.keys()[0]
    print("The labelling interface of a Label Studio project that takes it:")
    print(labelling_interface((describe or by_key)(first)))
