from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shortlist.experiments.recipes import Recipe


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
) -> None:
    """Run a recipe: one campaign, or a grid over queries × acquisitions × seeds.

    Interrupt it at any moment: the same command goes on where it stopped. Ends with a table and report.html.

    Example: shortlist run recipes/text.toml --data data
    """
    from shortlist.experiments.recipes import read_recipe
    from shortlist.types import ShortlistError

    found = read_recipe(recipe)
    if seeds is not None:
        try:
            chosen = [int(s) for s in seeds.split(",")]
        except ValueError:
            raise ShortlistError(f"--seeds: {seeds!r} is not a list of whole numbers such as 0,1,2") from None
        found = found.model_copy(update={"seeds": chosen, "seed": None})
    run_recipe(found, out or Path("runs") / found.name, data=data, workers=jobs)


def run_recipe(recipe: Recipe, out: Path, *, data: Path | None, workers: int) -> None:
    """Every campaign, then the table and the report."""
    from rich.console import Console

    from shortlist.cli.report import tell
    from shortlist.experiments.recipes import jobs
    from shortlist.experiments.sweep import sweep

    listed, console = jobs(recipe, out), Console(stderr=True)
    try:
        sweep(listed, data=data, workers=workers, console=console)
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here", highlight=False)
        raise typer.Exit(130) from None
    tell([job.folder for job in listed], out / "report.html")
