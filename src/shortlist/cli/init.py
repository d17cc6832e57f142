from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.system.terminal import plain_console, say
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    from shortlist.recipes.starter import NewDataset, NewModel

FITS = {  # which options go with which kind of data
    "images": {"classes", "keys", "folder_labels"},
    "table": {"classes", "text", "key", "label"},
    "features": {"classes", "keys"},
}


def init(
    folder: Annotated[Path, typer.Argument(help="The campaign's folder; it is made.")],
    images: Annotated[Path | None, typer.Option(help="A folder of images.")] = None,
    table: Annotated[Path | None, typer.Option(help="A file of texts: .csv, .csv.gz or .parquet.")] = None,
    features: Annotated[Path | None, typer.Option(help="A file of numbers (items, features): .npy.")] = None,
    classes: Annotated[
        Path | None,
        typer.Option(
            help="The classes: one name a line, a JSON list, a table with the columns name, description and example, "
            "or a folder of what is about each. (Default: the sub folders of --images, or the names in the column "
            "--label.)"
        ),
    ] = None,
    guidelines: Annotated[
        Path | None, typer.Option(help="A text that people can read while they label: .md or .txt.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="The column of the table that people read.")] = None,
    key: Annotated[str | None, typer.Option(help="The column that names each row. (Default: its number.)")] = None,
    label: Annotated[str | None, typer.Option(help="A column of labels, empty where not known.")] = None,
    keys: Annotated[
        Path | None, typer.Option(help="The names of the rows of --features, or which of --images to take; one a line.")
    ] = None,
    folder_labels: Annotated[
        bool,
        typer.Option("--folder-labels", help="With --classes: an image's folder, if named so, is its known label."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="package:NAME or hub:NAME, an encoder in a package or of transformers, or scikit for none. (Default: "
            "the best package that is installed; no download.)"
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a campaign.toml, if no answer has been given yet.")
    ] = False,
) -> None:
    """Make a campaign for people to label: looks at the data and writes FOLDER/campaign.toml, with a comment on every
    setting.

    Example: shortlist init pets --images photos --classes classes.txt
    """
    import tomllib

    from shortlist.models.encoders.packages import best_installed
    from shortlist.recipes.build import FILE
    from shortlist.recipes.starter import campaign_toml, new_model, refuse_written
    from shortlist.system.files import write_text

    options = {"text": text, "key": key, "label": label, "keys": keys, "folder_labels": folder_labels or None}
    refuse_written(folder, force=force)
    places = {"images": images, "table": table, "features": features}
    data = _data(folder, places, {"classes": classes, **options}, model or best_installed("images") or "scikit")
    chosen = new_model(data.dataset, model)
    if guidelines is not None and not guidelines.is_file():
        raise ShortlistError(f"--guidelines: {guidelines}: there is no such file")
    written = campaign_toml(folder, data, chosen, guidelines=guidelines)
    write_text(folder / FILE, written)
    _tell(data, chosen)
    asked = tomllib.loads(written)
    measure = f"{asked['holdout']:,} to measure with and " if asked["holdout"] else ""
    say(f"first {measure}{asked['initial']:,} to learn from are asked with all classes shown; lists come after them")
    say(f"written: {folder / FILE} (read it: every setting has a comment)\nnext: shortlist label {folder}")


def _data(folder: Path, places: dict[str, Path | None], options: dict[str, Any], reader: str) -> NewDataset:
    """What was pointed at, looked at; images for the model that reads them."""
    from shortlist.datasets.table import column_names
    from shortlist.recipes.starter import SMALL, new_features, new_images, new_table

    pointed_at = [(kind, place) for kind, place in places.items() if place is not None]
    if len(pointed_at) != 1:
        raise ShortlistError("init: give one of --images DIR, --table FILE and --features FILE")
    kind, place = pointed_at[0]
    chosen = {name: value for name, value in options.items() if value is not None}
    for name in chosen.keys() - FITS[kind]:
        kinds = " or ".join(f"--{other}" for other, fitting in FITS.items() if name in fitting)
        raise ShortlistError(f"--{name.replace('_', '-')} goes with {kinds}, not with --{kind}")
    if kind == "images":
        return new_images(folder, place, size=SMALL if reader == "scikit" else None, **chosen)
    if kind == "features":
        return new_features(folder, place, **chosen)
    if "text" not in chosen:
        columns = ", ".join(column_names(place))
        raise ShortlistError(f"--table: which column do people read? give --text COLUMN; {place} has {columns}")
    return new_table(folder, place, **chosen)


def _tell(data: NewDataset, model: NewModel) -> None:
    for warning in data.warnings:
        plain_console(stderr=True).print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    known = int((data.dataset.labels >= 0).sum())
    names = list(data.dataset.classes)
    some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    about = ((data.dataset.descriptions, "a description"), (data.dataset.examples, "examples"))
    told = ", ".join(f"{len(those):,} have {what}" for those, what in about if those)
    if told:
        some += f" ({told})"
    say(f"{data.summary}; a label is known of {known:,}\n{len(names):,} classes: {some}\nmodel: {model.words}")
    if model.better is not None:
        say(model.better)
