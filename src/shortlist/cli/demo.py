from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RECIPE = """
name = "demo"
initial = {initial}
budget = {budget}
rounds = 8
seeds = [0, 1, 2]
model = "scikit"
{dataset}

[queries]
CQ = "conventional"
CSQ = {{ name = "candidate_set", n_cal = {n_cal} }}

[acquisitions]
Rand = "random"
Ent = "entropy"
"Cost(Ent)" = {{ name = "cost_aware", inner = "entropy", d = 0.3 }}

[[runs]]
queries = ["CQ", "CSQ"]
acquisitions = ["Rand", "Ent"]

[[runs]]
queries = ["CSQ"]
acquisitions = ["Cost(Ent)"]
"""
SIZES = {
    "digits": {"dataset": 'dataset = "digits"', "initial": 50, "budget": 120, "n_cal": 40},
    "glyphs": {
        "dataset": 'dataset = { name = "glyphs", classes = 100, items = 5000 }',
        "initial": 300,
        "budget": 500,
        "n_cal": 100,
    },
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
    from shortlist.experiments.recipes import parse_recipe
    from shortlist.types import ShortlistError

    if dataset not in SIZES:
        raise ShortlistError(f"--dataset: {dataset!r} is none of {', '.join(SIZES)}")
    recipe = parse_recipe(tomllib.loads(RECIPE.format(**SIZES[dataset])), "demo")
    run_recipe(recipe, out / dataset, data=None, workers=jobs)
