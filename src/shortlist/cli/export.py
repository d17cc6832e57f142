from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from shortlist.campaign.formats import ENDINGS, NAMES

FormatName = Annotated[str | None, typer.Option(help=f"{NAMES}. (Default: by the ending.)")]


def export(
    folder: Annotated[Path, typer.Argument(help="A campaign.")],
    target: Annotated[Path, typer.Argument(help=f"File to write: {ENDINGS}.")],
    format: FormatName = None,
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
    from shortlist.campaign.formats import format_of
    from shortlist.campaign.formats.export import export as write
    from shortlist.campaign.formats.format import Describe, by_dataset, by_key
    from shortlist.campaign.formats.label_studio import labelling_interface
    from shortlist.campaign.view import View
    from shortlist.recipes.build import dataset_of
    from shortlist.types import ShortlistError

    if all and answers:
        raise ShortlistError("export: give --all or --answers, not both")
    chosen = format_of(target, format)
    describe: Describe = by_key
    if chosen.shows_items:
        with View.of(folder) as view:
            table, first = view.config()["dataset"], view.keys()[0]
        try:
            describe = by_dataset(dataset_of(table))
        except ShortlistError as error:
            print(f"items are given by their keys only, as the dataset cannot be read: {error}", file=sys.stderr)
    what: Literal["labels", "all", "answers"] = "all" if all else "answers" if answers else "labels"
    n = write(folder, target, format=chosen.name, what=what, describe=describe)
    print(f"{n} {'items' if all else what}: {target}")
    if chosen.name == "label-studio":
        print("The labelling interface of a Label Studio project that takes it:")
        print(labelling_interface(describe(first)))
