from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from shortlist.campaign.formats import ENDINGS, NAMES
from shortlist.system.terminal import say

if TYPE_CHECKING:
    from shortlist.types import Dataset

FormatName = Annotated[str | None, typer.Option(help=f"{NAMES}. (Default: by the ending.)")]


def export(
    folder: Annotated[Path, typer.Argument(help="A campaign.")],
    target: Annotated[Path, typer.Argument(help=f"File to write: {ENDINGS}.")],
    format: FormatName = None,
    all: Annotated[bool, typer.Option("--all", help="A row for every item, also those without a label.")] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="A row for every single answer, also those taken back.")
    ] = False,
    as_given: Annotated[
        bool,
        typer.Option("--as-given", help="Your own table again, every row and column as it is, with the labels behind."),
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the dataset, if it has moved. (Default: $SHORTLIST_DATA.)")
    ] = None,
) -> None:
    """Write a campaign's labels to a file, with how each came about. Safe while people are labelling.

    Texts are written as they are. A spreadsheet program may take one that begins with = + - or @ for a formula;
    --format spreadsheet prevents that.

    Example: shortlist export runs/demo/digits/CSQ+Rand/seed-0 labels.parquet
    """
    from shortlist.campaign.formats import format_of
    from shortlist.campaign.formats.export import export as write
    from shortlist.campaign.formats.format import by_dataset, by_key
    from shortlist.campaign.formats.label_studio import labelling_interface
    from shortlist.campaign.view import View
    from shortlist.types import ShortlistError

    if all + answers + as_given > 1:
        raise ShortlistError("export: give --all or --answers, not both; --as-given has a row for every item")
    chosen = format_of(target, format)
    dataset: Any = dataset_in(folder, data) if chosen.shows_items or as_given else None
    if as_given and not hasattr(dataset, "as_given"):
        raise ShortlistError("--as-given: the items of this campaign are no rows of a table; leave it out")
    describe = by_key if dataset is None else by_dataset(dataset)
    what: Literal["labels", "all", "answers"] = "all" if all else "answers" if answers else "labels"
    given = dataset.as_given() if as_given else None
    n = write(folder, target, format=chosen.name, what=what, describe=describe, given=given)
    say(f"{n} {'rows' if as_given else 'items' if all else what}: {target}")
    if chosen.name == "label-studio":
        say("The labelling interface of a Label Studio project that takes it:")
        with View.of(folder) as view:
            say(labelling_interface(describe(view.keys()[0])))


def dataset_in(folder: Path, data: Path | None) -> Dataset | None:
    """What a campaign asks about, from wherever the command was started; refused where it is not the same any more.

    None if it was in the memory of the program that made the campaign.
    """
    from shortlist.campaign.view import View
    from shortlist.recipes.build import PATHS, dataset_of
    from shortlist.types import ShortlistError

    with View.of(folder) as view:
        table, keys = view.config()["dataset"], view.keys()
    try:
        dataset = dataset_of(table, home=folder, data=data)
    except ShortlistError as error:
        if not PATHS & table.keys():
            say("the items were in memory and are given by their keys; Campaign.export knows what they are", error=True)
            return None
        raise ShortlistError(
            f"{folder}: what its items are cannot be read: {error}. --data FOLDER says where to look; csv, jsonl and "
            "parquet (without --as-given) need only the campaign"
        ) from None
    if lost := set(keys) - set(dataset.keys):
        gone = next(key for key in keys if key in lost)
        raise ShortlistError(f"{folder}: the dataset has lost {len(lost)} of its items, first {gone!r}; put them back")
    return dataset
