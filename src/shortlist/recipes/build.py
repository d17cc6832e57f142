"""From a recipe to campaigns: dataset read, parts built, answers at hand. And from a folder to its campaign."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shortlist.annotators.simulated import Simulated, noisy
from shortlist.campaign.accounting.stopping import Stopping
from shortlist.campaign.config import describe, snake
from shortlist.campaign.engine import Campaign, Step
from shortlist.campaign.formats.format import FileLabel
from shortlist.campaign.formats.import_ import import_labels
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.settings import Settings
from shortlist.campaign.storage.folder import Folder
from shortlist.campaign.view import View
from shortlist.datasets import CROWDS, OFFICIAL, VARIABLE, data_folder
from shortlist.recipes.parts import build, check, names, setting_of
from shortlist.recipes.recipe import Job, Part, Recipe, as_table, read_recipe
from shortlist.types import Acquisition, Dataset, ShortlistError

Made = TypeVar("Made")

PATHS = {"path", "folder", "test", "classes", "keys", "labels"}  # settings of a dataset that name a file or folder
FOLDERS = {"r52", *OFFICIAL}  # datasets that live in a folder of their own in the data folder


# --- data ------------------------------------------------------------------------------------------------------


def dataset_of(table: Part, *, home: Path | None = None, data: Path | None = None, code: Path | None = None) -> Dataset:
    """The dataset that a table names: of a recipe, of a campaign's or a study's settings, or of an export.

    Files are looked for in `home` (a campaign's or a study's folder), then from where the command was started, then
    in the folder `data` (the command line's --data, or else $SHORTLIST_DATA), then in the folders above `home`.
    `code`: as `parts.build` has it.

    >>> len(dataset_of({"name": "digits"}).keys)
    1347
    """
    settings = as_table(table)
    settings.pop("features", None)  # a campaign's record of the encoder that made them: `Recipe` has it for itself
    name = str(settings.get("name"))
    if name in FOLDERS and "folder" not in settings and name in names("datasets"):
        settings["folder"] = str(data_folder(name, data))
    for key in PATHS & settings.keys():
        if isinstance(settings[key], str):  # classes may be names, or how many
            found = find_file(settings[key], home=home, data=data)
            # the campaign remembers where it was, to be read from another folder too
            settings[key] = str(found if name in FOLDERS else found.absolute())
    dataset: Dataset = build("datasets", settings, "dataset", code)
    return dataset


def find_file(path: str, *, home: Path | None = None, data: Path | None = None) -> Path:
    """Where a file or folder that a table names is; the first place to look in if it is nowhere."""
    places = [Path(path), (data or Path(os.environ.get(VARIABLE, ""))) / path]
    if home is not None:
        places.insert(0, (home / path).resolve())
        places += [above / path for above in home.absolute().parents]  # where the command that made it was started
    return next((place for place in places if place.exists()), places[0])


# --- campaigns -------------------------------------------------------------------------------------------------


@dataclass
class Builder:
    """Makes campaigns from jobs. A dataset is read once for all of them; a model keeps what it has on its device."""

    data: Path | None = None  # the folder with the datasets
    home: Path | None = None  # the folder of the campaign whose settings the recipe is
    code: Path | None = None  # the folder with the parts of one's own, where they are trusted
    _made: dict[str, Any] = field(default_factory=dict)  # datasets, features and models, by what was asked for

    def check(self, job: Job) -> None:
        """Refuse what `campaign` would refuse, before any campaign of a sweep has begun."""
        _refuse_people(job.recipe)
        settings = self.settings(job)
        if hasattr(settings.model, "check"):  # a missing encoder is to be noticed now, not in hours
            settings.model.check()
        if Folder(job.folder).check(settings.config, settings.dataset) is None:
            settings.try_model()
        self.annotator(job.recipe, settings.dataset, job.seed)

    def campaign(self, job: Job, watch: Callable[[Step], None] | None = None) -> tuple[Campaign, Simulated]:
        _refuse_people(job.recipe)
        settings = self.settings(job)
        campaign = Campaign(job.folder, settings, watch=watch)
        return campaign, self.annotator(job.recipe, settings.dataset, job.seed)

    def settings(self, job: Job) -> Settings:
        """What a campaign of the recipe is asked to do; fields of both Recipe and Settings are passed on by name."""
        recipe = job.recipe
        if recipe.rounds is not None and "rounds" in recipe.stop:
            raise ShortlistError("stop.rounds: give either rounds or stop.rounds")
        if recipe.features is not None:  # also where nothing needs them
            _check_encoder(recipe.features, self.code)
        acquisition = self._named(recipe, "acquisition", job.acquisition, one="acquisition", many="acquisitions")
        built = {
            "dataset": self._seen_by(acquisition, recipe),
            "model": self._once("model", recipe.model, lambda: self._model(recipe.model)),
            "query": self._named(recipe, "queries", job.query, one="query", many="queries"),
            "acquisition": acquisition,
            "seed": job.seed,
            "stop": _record("stop", Stopping, {"rounds": recipe.rounds, **recipe.stop}),
            "overlap": None if recipe.overlap is None else _record("overlap", Overlap, recipe.overlap),
            "annotator": recipe.annotator.model_dump(exclude_defaults=True) or None,
            "initial": recipe.initial,
            "budget": recipe.budget,
            "schedule": recipe.schedule and build("campaign.schedule", recipe.schedule, "schedule", self.code),
        }
        plain = {f.name: getattr(recipe, f.name) for f in fields(Settings) if f.name in Recipe.model_fields}
        return Settings(**{**plain, **built})

    def _model(self, table: Part) -> Any:
        return build("models", self._with_files(table), "model", self.code)

    def _with_files(self, table: Part) -> Part:
        """With files of its experts where they are, to be read from another folder too."""
        if isinstance(table, str) or not isinstance(table.get("experts"), list):
            return table
        experts = [dict(one) if isinstance(one, Mapping) else one for one in table["experts"]]
        for one in experts:
            if isinstance(one, dict) and one.get("name") == "given" and isinstance(one.get("path"), str):
                one["path"] = str(find_file(one["path"], home=self.home, data=self.data).absolute())
        return {**table, "experts": experts}

    def _named(self, recipe: Recipe, kind: str, name: str, *, one: str, many: str) -> Any:
        """A part of a job: one that the recipe names, or the only one."""
        table = getattr(recipe, many)[name] if name else getattr(recipe, one)
        return build(kind, table, f"{many}.{name}" if name else one, self.code)

    def _once(self, what: str, table: object, make: Callable[[], Made]) -> Made:
        key = f"{what}: {table!r}"
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def dataset(self, recipe: Recipe) -> Dataset:
        """The recipe's dataset; only its items with a label where answers are simulated from them."""
        dataset: Any = self._once(
            "dataset",
            recipe.dataset,
            lambda: dataset_of(recipe.dataset, home=self.home, data=self.data, code=self.code),
        )
        if recipe.annotator.name != "people":
            if (dataset.labels < 0).all():
                raise ShortlistError("dataset: no item has a label, and a recipe's annotator answers from labels")
            dataset = self._once("labelled", recipe.dataset, dataset.labelled)
        read: Dataset = dataset
        return read

    def _seen_by(self, acquisition: Acquisition, recipe: Recipe) -> Dataset:
        """The dataset, with features of the recipe's encoder where the acquisition needs some."""
        dataset = self.dataset(recipe)
        if recipe.features is None or not acquisition.needs & {"features", "labelled_features"}:
            return dataset
        table = recipe.features
        return self._once("features", (recipe.dataset, table), lambda: _featured(dataset, table, self.code))

    # --- answers -----------------------------------------------------------------------------------------------

    def annotator(self, recipe: Recipe, dataset: Dataset, seed: int) -> Simulated:
        """Who answers, from labels; an owner who knows the dataset's own decides what they differ about."""
        table, labels = recipe.annotator, self._answers(recipe, dataset)
        wanted = 1 if recipe.overlap is None else _record("overlap", Overlap, recipe.overlap).answers
        if wanted > table.people:
            raise ShortlistError(
                f"annotator.people: {table.people}, and overlap.answers wants {wanted} people; write annotator = "
                f"{{ people = {wanted} }} or more"
            )
        seeds: list[tuple[int, ...]] = [(seed,), *((seed, person) for person in range(1, table.people))]
        heard = [noisy(labels, table.noise, len(dataset.classes), of) if table.noise else labels for of in seeds]
        return Simulated(heard, owner=dataset.labels)

    def _answers(self, recipe: Recipe, dataset: Dataset) -> Any:
        """(N,) the class that everybody answers for each item, but for their own errors."""
        table = recipe.annotator
        labels = dataset.labels if table.labels is None else self._labels_in(table.labels)
        whole = getattr(dataset, "official_size", len(dataset.labels))
        if table.labels is not None and len(labels) == whole:  # the items may be a part of the official training set
            labels = labels[getattr(dataset, "positions", slice(None))]
        if len(labels) != len(dataset.labels):
            more = f", of {whole} in all" if whole != len(dataset.labels) else ""
            raise ShortlistError(f"annotator.labels: {len(labels)} labels for {len(dataset.labels)} items{more}")
        wrong = np.flatnonzero((labels < 0) | (labels >= len(dataset.classes)))
        if len(wrong):
            first = f"item {wrong[0]} has label {labels[wrong[0]]}"
            raise ShortlistError(f"annotator.labels: {first}; there are {len(dataset.classes)} classes")
        return labels

    def _labels_in(self, where: str) -> Any:
        """Labels from an .npy file, or from the array after a colon in an .npz file."""
        name, _, array = where.partition(":")
        path = find_file(name, home=self.home, data=self.data)
        if not path.exists():
            how = f"; {CROWDS[name]}" if name in CROWDS else ", neither from here nor in the data folder"
            raise ShortlistError(f"annotator.labels: there is no {path}{how}")
        try:
            loaded = np.load(path, allow_pickle=False)
            labels = np.asarray(loaded[array] if array else loaded, np.int64)
        except Exception as error:  # as in `read_array`
            raise ShortlistError(f"annotator.labels: {path} cannot be read: {error}") from None
        if labels.ndim != 1:
            raise ShortlistError(f"annotator.labels: {path} holds an array of shape {labels.shape}; one label an item")
        return labels


def _refuse_people(recipe: Recipe) -> None:
    if recipe.annotator.name == "people":
        raise ShortlistError(
            f"{recipe.name}: its annotator is people, and run simulates; open the campaign's folder with: shortlist "
            "label FOLDER (where all labels are known, --set annotator=simulated --data FOLDER simulates it)"
        )


def _check_encoder(table: Part, code: Path | None) -> None:
    encoder = check("models", table, "features", code)
    if not hasattr(encoder, "features"):
        raise ShortlistError(f"features.name: {snake(encoder.__name__)} learns labels and makes no features")


def _featured(dataset: Dataset, table: Part, code: Path | None) -> Dataset:
    """The same items with features of an encoder, and in the campaign's record what made them."""
    encoder = build("models", table, "features", code)
    made: Any = copy(dataset)
    made.features = encoder.features(dataset)
    record = {**describe(dataset), "features": describe(encoder)}
    made.spec = lambda: record
    featured: Dataset = made
    return featured


def _record(at: str, kind: type[Made], table: dict[str, Any]) -> Made:
    known = [*signature(kind).parameters]
    if unknown := [name for name in table if name not in known]:
        raise ShortlistError(f"{at}.{unknown[0]}: no such setting; there are {', '.join(known)}")
    made: Callable[..., Made] = getattr(kind, "written", kind)  # where a file has other units than Python
    return made(**{name: setting_of(kind, at, name, value, f"{at}.{name}") for name, value in table.items()})


# --- the campaign in a folder, which people answer --------------------------------------------------------------

FILE = "campaign.toml"


def open_campaign(
    folder: str | Path,
    watch: Callable[[Step], None] | None = None,
    *,
    growing: bool = True,
    trust_code: bool = False,
) -> Campaign:
    """The campaign that the folder's campaign.toml asks for: new, or as it was left.

    With `trust_code` its parts may be classes in files of the folder; without, nothing in the folder is run.

    Of the processes that have it open only the server takes in new items (`growing`): the others would know of items
    that it does not.
    """
    return Campaign(folder, settings_in(folder, trust_code=trust_code), watch=watch, growing=growing)


def use_known(campaign: Campaign) -> int:
    """Import the labels of the dataset, at no cost, if campaign.toml has known = "use"; returns how many are new.

    Answers of people stay as they are, and a second call changes nothing.
    """
    if _read(campaign.folder.path).known == "ask":
        return 0
    dataset, items = campaign.settings.dataset, set(campaign.view.ids.keys)
    labels = zip(dataset.keys, np.asarray(dataset.labels).tolist(), strict=True)
    known = [(key, dataset.classes[cls]) for key, cls in labels if cls >= 0 and key in items]
    rows = [FileLabel("the dataset", key, name, "dataset") for key, name in known]
    return import_labels(campaign.folder.path, rows).written


def control_share(folder: str | Path) -> float:
    """The share of questions that are control questions."""
    return _read(Path(folder)).control


def guidelines_of(folder: str | Path) -> Path | None:
    """The file of text that those who label can read."""
    home = Path(folder)
    named = _read(home).guidelines
    return None if named is None else find_file(named, home=home)


def settings_in(folder: str | Path, *, trust_code: bool = False) -> Settings:
    """The settings in a folder's campaign.toml, parts built. Every item is asked about, labelled or not."""
    home = Path(folder)
    recipe = _read(home)
    recipe = recipe.model_copy(update={"dataset": _lenient(recipe.dataset, home)})
    # one campaign of a grid has no names of its own
    job = Job(recipe, query="", acquisition="", seed=recipe.seed or 0, folder=home)
    return Builder(home=home, code=home if trust_code else None).settings(job)


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


def _lenient(table: Part, home: Path) -> Part:
    """Set aside images that cannot be read, also those deleted since, rather than refuse to open the campaign."""
    settings = as_table(table)
    if settings.get("name") != "image_folder" or settings.setdefault("strict", False):
        return settings
    if not Folder(home).database.exists():
        return settings
    with View.of(home) as view:
        return {**settings, "remembered": view.keys()}
