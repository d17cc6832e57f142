from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shortlist.experiments.recipes import Recipe

DRAWING = ("polars", "altair", "vl_convert")  # what a report needs and a campaign does not


def run(
    recipe: Annotated[
        Path, typer.Argument(help="A TOML file, such as recipes/text.toml, or the campaign.toml of a campaign.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the campaigns. (Default: runs/NAME OF THE RECIPE.)")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the datasets. (Default: $SHORTLIST_DATA.)")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Campaigns at a time.")] = 1,
    seeds: Annotated[str | None, typer.Option(help="Other seeds than the recipe's, such as 0,1,2.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this pair, such as CSQ+Ent, or this variant; may be repeated.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another setting, such as model.training=paper; may be repeated. Names the run."),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="The recipe made small: shows in a minute that everything works.")
    ] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="End with report.html.")] = True,
) -> None:
    """Run a recipe: one campaign, or a grid over queries × acquisitions × seeds, for each of its variants.

    Interrupt it at any moment: the same command goes on where it stopped. Ends with a table and report.html.

    Example: shortlist run recipes/text.toml --data data
    """
    from shortlist.experiments.recipes import changed, folder_name, read_recipe, setting, smoke_recipe

    found, where = read_recipe(recipe), str(recipe)
    if smoke:
        found = smoke_recipe(found, where)
    for text in set_ or []:
        found = changed(found, {"name": f"{found.name}-{text.replace(' ', '')}", **setting(text)}, where)
    if seeds is not None:
        found = changed(found, {"seeds": _numbers(seeds), "seed": None}, where)
    folder = out or Path("runs") / folder_name(found.name)
    if smoke:
        found, data = _data_or_example(found, data, folder)
    run_recipe(found, folder, data=data, workers=jobs, only=only or [], report=report)


def _numbers(text: str) -> list[int]:
    from shortlist.types import ShortlistError

    try:
        return [int(s) for s in text.split(",")]
    except ValueError:
        raise ShortlistError(f"--seeds: {text!r} is not a list of whole numbers such as 0,1,2") from None


def _data_or_example(recipe: Recipe, data: Path | None, out: Path) -> tuple[Recipe, Path | None]:
    from rich.console import Console

    from shortlist.experiments.made_up import FOLDER, data_or_example

    console = Console(stderr=True)

    def say(words: str) -> None:
        console.print(words, highlight=False, soft_wrap=True)

    return data_or_example(recipe, data, out / FOLDER, say)


def run_recipe(
    recipe: Recipe, out: Path, *, data: Path | None, workers: int, only: Sequence[str] = (), report: bool = True
) -> None:
    """Every campaign, then the table and the report."""
    from rich.console import Console

    from shortlist.experiments.recipes import chosen, jobs
    from shortlist.experiments.sweep import sweep

    everything, console = jobs(recipe, out), Console(stderr=True)
    try:
        sweep(chosen(everything, only), data=data, workers=workers, console=console)
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here", highlight=False)
        raise typer.Exit(130) from None
    begun = [job.folder for job in everything if (job.folder / "campaign.db").exists()]  # also by other commands
    _tell(begun, out, report)


def _tell(campaigns: Sequence[Path], out: Path, report: bool) -> None:
    """The report, or the table alone where none is wanted or nothing can draw it."""
    from rich.console import Console

    from shortlist.cli.report import tell
    from shortlist.experiments.tables import terminal_table
    from shortlist.measures import read

    missing = next((name for name in DRAWING if find_spec(name) is None), None)
    if report and not missing:
        tell(campaigns, out / "report.html")
        return
    console = Console()
    console.print(terminal_table([read(folder) for folder in campaigns]))
    why = f"{missing} is not installed here; the report can be made elsewhere" if missing else "the report can be made"
    console.print(f"{why}: shortlist report {out}", highlight=False, soft_wrap=True)
