from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortlist.system.terminal import plain_console

if TYPE_CHECKING:
    from shortlist.recipes.recipe import Recipe


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
        typer.Option(
            "--set",
            help="Another setting, such as model.training=paper; may be repeated. Names the run, unless it is seeds.",
        ),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="The recipe made small: shows in a minute that everything works.")
    ] = False,
    trust_code: Annotated[
        bool,
        typer.Option("--trust-code", help="Run parts of your own, such as mine:Gini, from files beside the recipe."),
    ] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="End with report.html.")] = True,
) -> None:
    """Run a recipe: one campaign, or a grid over queries × acquisitions × seeds, for each of its variants.

    Interrupt it at any moment: the same command goes on where it stopped. Ends with a table and report.html.

    Example: shortlist run recipes/text.toml --data data
    """
    from shortlist.experiments.sweep import MADE_UP, data_or_example
    from shortlist.recipes.recipe import changed, folder_name, read_recipe, setting, smoke_recipe

    found, where = read_recipe(recipe), str(recipe)
    if smoke:
        found = smoke_recipe(found, where)
    for text in set_ or []:
        above = setting(text)
        named = {} if above.keys() <= {"seed", "seeds"} else {"name": f"{found.name}-{text.replace(' ', '')}"}
        found = changed(found, named | above, where)
    if seeds is not None:
        found = changed(found, {"seeds": whole_numbers("--seeds", seeds, "0,1,2"), "seed": None}, where)
    folder, code = out or Path("runs") / folder_name(found.name), recipe.parent if trust_code else None
    if smoke:
        say = partial(plain_console(stderr=True).print, highlight=False, soft_wrap=True)
        found, data = data_or_example(found, data, folder / MADE_UP, say, code)
    run_recipe(found, folder, data=data, workers=jobs, only=only or [], report=report, code=code)


def whole_numbers(option: str, text: str, example: str) -> list[int]:
    """What an option lists."""
    from shortlist.types import ShortlistError

    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ShortlistError(f"{option}: {text!r} is not a list of whole numbers such as {example}") from None


def run_recipe(
    recipe: Recipe,
    out: Path,
    *,
    data: Path | None,
    workers: int,
    only: Sequence[str] = (),
    report: bool = True,
    code: Path | None = None,
) -> None:
    """Every campaign, then the report, or the table alone where none is wanted or nothing can draw it."""
    from shortlist.cli.report import NEEDED, tell
    from shortlist.experiments.sweep import sweep
    from shortlist.experiments.tables import terminal_table
    from shortlist.measures import read
    from shortlist.recipes.recipe import chosen, jobs

    everything, console = jobs(recipe, out), plain_console(stderr=True)
    try:
        sweep(chosen(everything, only), data=data, workers=workers, console=console, code=code)
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here", highlight=False)
        raise typer.Exit(130) from None
    begun = [job.folder for job in everything if (job.folder / "campaign.db").exists()]  # also by other commands
    missing = next((name for name in NEEDED if find_spec(name) is None), None)
    if report and not missing:
        tell(begun, out / "report.html")
        return
    console = plain_console()
    console.print(terminal_table([read(folder) for folder in begun]))
    line = f"the report can be made: shortlist report {out}"
    if missing:
        install = "pip install 'shortlist-al[report]'"
        line = f"no report: {missing} is not installed; run: {install}, then: shortlist report {out}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)
