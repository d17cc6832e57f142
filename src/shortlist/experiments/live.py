"""From a folder's campaign.toml to the campaign that people answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shortlist.campaign.engine import Campaign, Step
from shortlist.campaign.folder import Folder
from shortlist.campaign.formats.given import Given
from shortlist.campaign.formats.import_ import import_labels
from shortlist.campaign.settings import Settings
from shortlist.campaign.store import Store
from shortlist.experiments.builder import Builder, opened
from shortlist.experiments.parts import build
from shortlist.experiments.recipes import Job, Part, Recipe, read_recipe
from shortlist.types import Dataset, ShortlistError

FILE = "campaign.toml"


def live_campaign(folder: str | Path, watch: Callable[[Step], None] | None = None, *, growing: bool = True) -> Campaign:
    """The campaign that the folder's campaign.toml asks for: new, or as it was left.

    Of the processes that have it open only the server takes in what is new: the others would know of items that it
    does not.
    """
    return opened(Path(folder), live_settings(folder), watch, growing=growing)


def use_known(campaign: Campaign) -> int:
    """Give the campaign the labels that its dataset has, at no cost, if its campaign.toml says so; how many are new.

    What people have said stands, and a second time changes nothing.
    """
    if _read(campaign.folder.path).known == "ask":
        return 0
    dataset, items = campaign.learner.dataset, set(campaign.known.keys)
    labels = zip(dataset.keys, np.asarray(dataset.labels).tolist(), strict=True)
    found = [(key, dataset.classes[cls]) for key, cls in labels if cls >= 0 and key in items]
    given = [Given("the dataset", key, name, "dataset", None) for key, name in found]
    return import_labels(campaign.store, given).written


def control_share(folder: str | Path) -> float:
    """How many of the questions are control questions."""
    return _read(Path(folder)).control


def live_settings(folder: str | Path) -> Settings:
    """What the folder's campaign.toml asks for, its parts built. Every item is asked about, labelled or not."""
    home = Path(folder)
    recipe = _read(home)
    # one campaign of a grid has no names of its own
    job = Job(recipe, query="", acquisition="", seed=recipe.seed or 0, folder=home)
    return _Builder(home=home).settings(job)


def _read(home: Path) -> Recipe:
    path = home / FILE
    if not path.exists():
        raise ShortlistError(f"{home}: there is no {FILE} in it; make one with: shortlist init {home} --images DIR …")
    recipe = read_recipe(path)
    for many in ("queries", "acquisitions", "seeds", "variants", "runs"):
        if getattr(recipe, many):
            raise ShortlistError(f"{path}: {many}: people answer one campaign, and this is a grid of several")
    if "annotator" in recipe.model_fields_set and recipe.annotator.model_dump(exclude_defaults=True) != {
        "name": "people"
    }:
        raise ShortlistError(f'{path}: annotator: its answers are simulated; write annotator = "people"')
    return recipe.model_copy(update={"annotator": recipe.annotator.model_copy(update={"name": "people"})})


@dataclass
class _Builder(Builder):
    """Takes items without a label too, and looks for files from the campaign's folder, wherever it was started."""

    home: Path = Path()

    def _read(self, table: Part) -> Dataset:
        settings = self._placed(table)
        if settings.get("name") == "image_folder":  # what cannot be read is set aside while people go on
            settings.setdefault("strict", False)
            settings["remembered"] = self._remembered() if not settings["strict"] else ()
        dataset: Dataset = build("datasets", settings, "dataset")
        return dataset

    def _remembered(self) -> list[str]:
        """Items that the campaign knows; one whose file is gone is set aside, and comes back with it."""
        if not Folder(self.home).database.exists():
            return []
        with Store(Folder(self.home).database, read_only=True) as store:
            return store.keys()

    def found(self, path: str) -> Path:
        beside = (self.home / path).resolve()
        return super().found(path) if not beside.exists() and super().found(path).exists() else beside
