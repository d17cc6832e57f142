from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RECIPE = Path(__file__).with_name("demo.toml").read_text("utf-8")
GLYPHS = {"name": "glyphs", "classes": 100, "items": 5000}
CHANGES = {  # to the recipe
    "digits": {},
    "glyphs": {"dataset": GLYPHS, "initial": 300, "budget": 500, "queries": {"CSQ": {"n_cal": 100}}},
}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the campaigns and report.html.")] = Path("runs/demo"),
    dataset: Annotated[
        str, typer.Option(help="digits (10 classes, seconds) or glyphs (100 classes, minutes).")
    ] = "digits",
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Campaigns at a time.")] = 1,
) -> None:
    """A whole comparison on built-in data, with a report at the end.

    Asks for the same items conventionally (CQ) and with candidate sets (CSQ), and selects them at random, by
    entropy, and by entropy per cost. A simulated annotator answers.
    """
    import tomllib

    from shortlist.cli.run import run_recipe
    from shortlist.recipes.recipe import merged, parse_recipe
    from shortlist.types import ShortlistError

    if dataset not in CHANGES:
        raise ShortlistError(f"--dataset: {dataset!r} is none of {', '.join(CHANGES)}")
    recipe = parse_recipe(merged(tomllib.loads(RECIPE), CHANGES[dataset]), "demo")
    run_recipe(recipe, out / dataset, data=None, workers=jobs)
