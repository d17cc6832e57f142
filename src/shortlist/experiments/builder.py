"""From a recipe's jobs to campaigns: data found, parts built, answers at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.annotators.simulated import Simulated, noisy
from shortlist.campaign.config import describe
from shortlist.campaign.engine import Campaign, Step
from shortlist.campaign.folder import Folder
from shortlist.campaign.overlap import Overlap
from shortlist.campaign.settings import Settings
from shortlist.campaign.stopping import Stopping
from shortlist.datasets.location import CROWDS, OFFICIAL, VARIABLE, data_folder
from shortlist.experiments.parts import build, names
from shortlist.experiments.recipes import Job, Part, Recipe, as_table
from shortlist.types import Acquisition, Dataset, Ints, ShortlistError

PATHS = {"path", "folder", "test", "classes", "keys", "labels"}  # settings of a dataset that name a file or folder
FOLDERS = {"r52", *OFFICIAL}  # datasets that live in a folder of their own in the data folder


@dataclass
class Builder:
    """Makes campaigns from jobs. A dataset is read once for all of them; a model keeps what it has on its device."""

    data: Path | None = None
    _made: dict[str, Any] = field(default_factory=dict)  # datasets, features and models, by what was asked for

    def check(self, job: Job) -> None:
        """Refuse what `campaign` would refuse, before any campaign of a sweep has begun."""
        _refuse_people(job.recipe)
        settings = self.settings(job)
        if hasattr(settings.model, "check"):  # an encoder that cannot be found is not to be missed hours from now
            settings.model.check()
        Folder(job.folder).check(settings.config, settings.dataset)
        self.answers(job.recipe, settings.dataset, job.seed)

    def campaign(self, job: Job, watch: Callable[[Step], None] | None = None) -> tuple[Campaign, Simulated]:
        _refuse_people(job.recipe)
        settings = self.settings(job)
        campaign = opened(job.folder, settings, watch)
        return campaign, Simulated(self.answers(job.recipe, settings.dataset, job.seed))

    def settings(self, job: Job) -> Settings:
        recipe = job.recipe
        query = recipe.queries[job.query] if job.query else recipe.query
        acquisition = recipe.acquisitions[job.acquisition] if job.acquisition else recipe.acquisition
        assert query is not None
        assert acquisition is not None
        at = f"acquisitions.{job.acquisition}" if job.acquisition else "acquisition"
        selecting = build("acquisition", acquisition, at)
        return Settings(
            dataset=self._seen_by(selecting, recipe),
            model=self._once("model", recipe.model, lambda: build("models", recipe.model, "model")),
            query=build("queries", query, f"queries.{job.query}" if job.query else "query"),
            acquisition=selecting,
            initial=recipe.initial,
            budget=recipe.budget,
            seed=job.seed,
            holdout=recipe.holdout,
            ahead=recipe.ahead,
            stop=_stopping(recipe),
            overlap=_overlap(recipe),
            annotator=recipe.annotator.model_dump(exclude_defaults=True) or None,
            price=recipe.price,
        )

    def _once(self, what: str, table: object, make: Callable[[], Any]) -> Any:
        key = f"{what}: {table!r}"
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    # --- data --------------------------------------------------------------------------------------------------

    def dataset(self, recipe: Recipe) -> Dataset:
        """The recipe's dataset, without the items nobody could answer about."""
        made: Dataset = self._once("dataset", recipe.dataset, lambda: self._read(recipe.dataset))
        return made

    def _read(self, table: Part) -> Dataset:
        made = build("datasets", self._placed(table), "dataset")
        if (made.labels < 0).all():
            raise ShortlistError("dataset: no item has a label, and a recipe's annotator answers from labels")
        known: Dataset = made.labelled()
        return known

    def _seen_by(self, acquisition: Acquisition, recipe: Recipe) -> Dataset:
        """The dataset, with features of the recipe's encoder where the acquisition needs some."""
        dataset = self.dataset(recipe)
        if recipe.features is None or not acquisition.needs & {"features", "labelled_features"}:
            return dataset
        asked_for = (recipe.dataset, recipe.features)
        made: Dataset = self._once("features", asked_for, lambda: _featured(dataset, self._encoder(recipe.features)))
        return made

    def _encoder(self, table: Part | None) -> Any:
        encoder = build("models", table or {}, "features")
        if not hasattr(encoder, "features"):
            raise ShortlistError(f"features.name: {encoder!r} learns labels and makes no features")
        return encoder

    def _placed(self, table: Part) -> dict[str, Any]:
        """Datasets that live in a folder are looked for in the data folder, unless they say where they are."""
        settings = as_table(table)
        name = str(settings.get("name"))
        if name in FOLDERS and "folder" not in settings and name in names("datasets"):
            settings["folder"] = str(data_folder(name, self.data))
        for key in PATHS & settings.keys():
            if isinstance(settings[key], str):  # classes may be names, or how many
                settings[key] = str(self.found(settings[key]))
        return settings

    def found(self, path: str) -> Path:
        """A path from where the command was started, or else from the data folder."""
        from_data = (self.data or Path(os.environ.get(VARIABLE, ""))) / path
        return from_data if not Path(path).exists() and from_data.exists() else Path(path)

    # --- answers -----------------------------------------------------------------------------------------------

    def answers(self, recipe: Recipe, dataset: Dataset, seed: int) -> Any:
        """What the simulated annotator says about each item."""
        table = recipe.annotator
        labels = dataset.labels if table.labels is None else _at_positions(self._given(table.labels), dataset)
        if len(labels) != len(dataset.labels):
            whole = getattr(dataset, "official_size", len(dataset.labels))
            more = f", of {whole} in all" if whole != len(dataset.labels) else ""
            raise ShortlistError(f"annotator.labels: {len(labels)} labels for {len(dataset.labels)} items{more}")
        wrong = np.flatnonzero((labels < 0) | (labels >= len(dataset.classes)))
        if len(wrong):
            told = f"item {wrong[0]} has label {labels[wrong[0]]}"
            raise ShortlistError(f"annotator.labels: {told}; there are {len(dataset.classes)} classes")
        return noisy(labels, table.noise, len(dataset.classes), seed) if table.noise else labels

    def _given(self, where: str) -> Any:
        name, _, array = where.partition(":")
        path = self.found(name)
        if not path.exists():
            how = f"; {CROWDS[name]}" if name in CROWDS else ", neither from here nor in the data folder"
            raise ShortlistError(f"annotator.labels: there is no {path}{how}")
        try:
            found = np.load(path, allow_pickle=False)
            return np.asarray(found[array] if array else found, np.int64)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ShortlistError(f"annotator.labels: {path} cannot be read: {error}") from None


def opened(
    folder: Path, settings: Settings, watch: Callable[[Step], None] | None = None, *, growing: bool = True
) -> Campaign:
    """The campaign in a folder, new or as it was left."""
    asked_for = {f.name: getattr(settings, f.name) for f in fields(settings)}
    return Campaign(folder, **asked_for, watch=watch, growing=growing)


def _refuse_people(recipe: Recipe) -> None:
    if recipe.annotator.name == "people":
        raise ShortlistError(
            f"{recipe.name}: its annotator is people, and run simulates; open the campaign's folder with: shortlist "
            "label FOLDER (where all labels are known, --set annotator=simulated --data FOLDER simulates it)"
        )


def _at_positions(labels: Ints, dataset: Dataset) -> Ints:
    """Labels of the whole official training set, taken where the items of a part of it stand."""
    positions: Ints | None = getattr(dataset, "positions", None)
    if positions is None or len(labels) != getattr(dataset, "official_size", None):
        return labels
    return labels[positions]


def _featured(dataset: Dataset, encoder: Any) -> Dataset:
    """The same items with features, and in the campaign's record what made them."""
    made: Any = copy(dataset)
    made.features = encoder.features(dataset)
    record = {**describe(dataset), "features": describe(encoder)}
    made.spec = lambda: record
    featured: Dataset = made
    return featured


def _overlap(recipe: Recipe) -> Overlap | None:
    if recipe.overlap is None:
        return None
    _refuse_unknown("overlap", recipe.overlap, Overlap)
    return Overlap(**recipe.overlap)


def _refuse_unknown(at: str, table: dict[str, Any], record: type[Stopping] | type[Overlap]) -> None:
    known = [f.name for f in fields(record)]
    if unknown := [name for name in table if name not in known]:
        raise ShortlistError(f"{at}.{unknown[0]}: no such setting; there are {', '.join(known)}")


def _stopping(recipe: Recipe) -> Stopping:
    _refuse_unknown("stop", recipe.stop, Stopping)
    if recipe.rounds is not None and "rounds" in recipe.stop:
        raise ShortlistError("stop.rounds: give either rounds or stop.rounds")
    return Stopping(**{"rounds": recipe.rounds, **recipe.stop})
