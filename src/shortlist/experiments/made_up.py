"""Data for a smoke run where the real data is not at hand: made up, in the published layout.

All of it lies in one folder that is marked as made up, so nothing of anybody's is ever written over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from shortlist.annotators.simulated import noisy
from shortlist.datasets.examples import claimed, write_example
from shortlist.datasets.location import OFFICIAL, data_folder
from shortlist.experiments.builder import Builder
from shortlist.experiments.recipes import Recipe, as_table, each_variant, folder_name, merged
from shortlist.types import ShortlistError

FOLDER = "made-up"  # beside the campaigns of a smoke run
WRONG = 0.4  # share of a made-up crowd's answers that are not the truth, as in CIFAR-100N

Say = Callable[[str], None]


def data_or_example(recipe: Recipe, data: Path | None, made: Path, say: Say) -> tuple[Recipe, Path | None]:
    """The recipe and its data folder; where either lacks something, with made-up records from `made` instead."""
    recipes = each_variant(recipe)
    named = dict.fromkeys(str(as_table(one.dataset).get("name")) for one in recipes.values() if _is_looked_for(one))
    missing = [name for name in named if not _is_there(name, data)]
    if missing:
        for name in named:
            write_example(name, made)
        say(f"no {' and no '.join(missing)} in the data folder: this run is on made-up records in {made}")
    found = Builder(made if missing else data)
    crowds = {
        variant: str(_made_crowd(one, found, made, variant))
        for variant, one in recipes.items()
        if one.annotator.labels is not None and (missing or not _has_crowd(one, found))
    }
    if crowds and not missing:
        say(f"no {' and no '.join(_crowds(recipes, crowds))}: these answers are made up, in {made}")
    return _answered_from(recipe, crowds), found.data


def _is_looked_for(recipe: Recipe) -> bool:
    table = as_table(recipe.dataset)
    return table.get("name") in OFFICIAL and "folder" not in table


def _is_there(name: str, data: Path | None) -> bool:
    try:
        return data_folder(name, data).is_dir()
    except ShortlistError:
        if data is not None:  # somebody has named a folder that is none
            raise
        return False


# --- crowds ----------------------------------------------------------------------------------------------------


def _crowds(recipes: dict[str, Recipe], variants: dict[str, str]) -> list[str]:
    return list(dict.fromkeys(_crowd_file(recipes[variant]) for variant in variants))


def _crowd_file(recipe: Recipe) -> str:
    return (recipe.annotator.labels or "").partition(":")[0]


def _has_crowd(recipe: Recipe, found: Builder) -> bool:
    return found.found(_crowd_file(recipe)).exists()


def _made_crowd(recipe: Recipe, found: Builder, made: Path, variant: str) -> Path:
    """A file of labels for the annotator to answer from, one for each item of the recipe's dataset."""
    dataset = found.dataset(recipe)
    path = claimed(made / "crowd") / f"{folder_name(variant) or 'labels'}.npy"
    np.save(path, noisy(dataset.labels, WRONG, len(dataset.classes), seed=0))
    return path


def _answered_from(recipe: Recipe, crowds: dict[str, str]) -> Recipe:
    """The recipe with other files of labels, by variant."""
    if "" in crowds:
        return recipe.model_copy(update={"annotator": recipe.annotator.model_copy(update={"labels": crowds[""]})})
    variants = {
        name: merged(table, {"annotator": {"labels": crowds[name]}}) if name in crowds else table
        for name, table in recipe.variants.items()
    }
    return recipe.model_copy(update={"variants": variants}) if crowds else recipe
