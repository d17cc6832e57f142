"""Data for a smoke run where the real data is not at hand: made up, in the published layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.annotators.simulated import noisy
from shortlist.datasets.examples import write_example
from shortlist.datasets.location import OFFICIAL, data_folder
from shortlist.experiments.builder import Builder
from shortlist.experiments.recipes import Recipe, as_table, each_variant
from shortlist.types import ShortlistError

WRONG = 0.4  # share of a made-up crowd's answers that are not the truth, as in CIFAR-100N


def data_or_example(recipe: Recipe, data: Path | None, made: Path, say: Callable[[str], None]) -> Path | None:
    """The data folder, if it has all datasets of the recipe; or else `made`, filled with made-up ones."""
    recipes = each_variant(recipe).values()
    named = dict.fromkeys(str(as_table(one.dataset).get("name")) for one in recipes if _is_looked_for(one))
    missing = [name for name in named if not _is_there(name, data)]
    if not missing:
        return data
    for name in named:
        write_example(name, made)
    say(f"no {' and no '.join(missing)} in the data folder: this run is on made-up records in {made}")
    for one in recipes:
        _make_crowd(one, made)
    return made


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


def _make_crowd(recipe: Recipe, made: Path) -> None:
    """A file of labels that the annotator would answer from, in the official order."""
    if recipe.annotator.labels is None:
        return
    name, _, array = recipe.annotator.labels.partition(":")
    whole = {key: value for key, value in as_table(recipe.dataset).items() if key in ("name", "size")}
    dataset = Builder(made).dataset(recipe.model_copy(update={"dataset": whole}))
    labels = noisy(dataset.labels, WRONG, len(dataset.classes), seed=0)
    path = made / name
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {array: labels}
    if array:
        np.savez(path, **arrays)
    else:
        np.save(path, labels)
