"""A recipe is a TOML file: one campaign, or a grid over queries × acquisitions × seeds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shortlist.annotators.simulated import Simulated, noisy
from shortlist.campaign.engine import Campaign, Step
from shortlist.campaign.folder import Folder
from shortlist.campaign.settings import Settings
from shortlist.campaign.stopping import Stopping
from shortlist.datasets.location import data_folder
from shortlist.experiments.parts import build, names
from shortlist.types import Dataset, ShortlistError

Part = str | dict[str, Any]
PATHS = {"path", "folder", "test"}  # settings of a dataset that name a file or folder
FOLDERS = {"r52"}  # datasets that live in a folder of their own name in the data folder


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AnnotatorTable(_Table):
    """Who answers: the dataset's own labels, with uniform noise, or labels from a file."""

    name: str = "simulated"
    noise: float = Field(0.0, ge=0, le=1)
    labels: str | None = None  # an .npy, or an .npz with its array after a colon: "human_labels.npz:noisy"


class RunsTable(_Table):
    queries: list[str]
    acquisitions: list[str]


class Recipe(_Table):
    name: str = "campaign"
    dataset: Part
    model: Part
    query: Part | None = None
    queries: dict[str, Part] = {}
    acquisition: Part | None = None
    acquisitions: dict[str, Part] = {}
    runs: list[RunsTable] = []  # which of them meet; without it, all
    annotator: AnnotatorTable = AnnotatorTable()
    initial: int = Field(ge=1)
    budget: int = Field(ge=1)
    rounds: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=0)
    seeds: list[int] = []
    holdout: int = Field(0, ge=0)
    ahead: int = Field(0, ge=0)
    stop: dict[str, Any] = {}

    @model_validator(mode="after")
    def _one_or_many(self) -> Recipe:
        for one, many in (("query", "queries"), ("acquisition", "acquisitions")):
            if bool(getattr(self, one)) == bool(getattr(self, many)):
                raise ValueError(f"give either {one} or {many}")
        if self.seed is not None and self.seeds:
            raise ValueError("give either seed or seeds")
        for runs in self.runs:
            for kind in ("queries", "acquisitions"):
                if unknown := [n for n in getattr(runs, kind) if n not in getattr(self, kind)]:
                    raise ValueError(f"runs.{kind}: {unknown[0]!r} is not among {', '.join(getattr(self, kind))}")
        return self

    def pairs(self) -> list[tuple[str, str]]:
        """Which query meets which acquisition, by name; "" for the only one."""
        grids = self.runs or [
            RunsTable(queries=list(self.queries) or [""], acquisitions=list(self.acquisitions) or [""])
        ]
        met = [(q, a) for grid in grids for a in grid.acquisitions for q in grid.queries]
        return list(dict.fromkeys(met))


def read_recipe(path: Path) -> Recipe:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such recipe") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ShortlistError(f"{path}: cannot be read as TOML: {error}") from None
    return parse_recipe({"name": path.stem, **table}, str(path))


def parse_recipe(table: Mapping[str, Any], where: str) -> Recipe:
    try:
        return Recipe.model_validate(table)
    except ValidationError as error:
        # a field nobody knows is usually the missing one misspelt: say that first
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        at = ".".join(str(part) for part in first["loc"] if part not in ("str", "dict[str,any]"))
        known = f"; there are {', '.join(Recipe.model_fields)}" if first["type"] == "extra_forbidden" else ""
        what = "no such field" if known else first["msg"].removeprefix("Value error, ")
        raise ShortlistError(f"{where}: {at + ': ' if at else ''}{what}{known}") from None


@dataclass(frozen=True)
class Job:
    """One campaign of a recipe."""

    recipe: Recipe
    query: str
    acquisition: str
    seed: int
    folder: Path

    @property
    def label(self) -> str:
        pair = "+".join(part for part in (self.query, self.acquisition) if part)
        return f"{pair or self.recipe.name}, seed {self.seed}"


def jobs(recipe: Recipe, out: Path) -> list[Job]:
    """Every campaign of a recipe and its folder."""
    seeds = recipe.seeds or [recipe.seed or 0]
    listed = [
        Job(recipe, query, acquisition, seed, out / _folder_name(query, acquisition) / f"seed-{seed}")
        for query, acquisition in recipe.pairs()
        for seed in seeds
    ]
    folders = [job.folder for job in listed]
    for job in listed:
        if folders.count(job.folder) > 1:
            raise ShortlistError(f"{recipe.name}: two runs would share the folder {job.folder}; give them other names")
    return listed


def _folder_name(query: str, acquisition: str) -> str:
    """A name that needs no quoting in a shell; none for the only campaign.

    >>> _folder_name("CSQ", "Cost(Ent)"), _folder_name("", "")
    ('CSQ+Cost-Ent', '')
    """
    joined = "+".join(part for part in (query, acquisition) if part)
    return re.sub(r"[^A-Za-z0-9+=_.]+", "-", joined).strip("-.")


@dataclass
class Builder:
    """Makes campaigns from jobs; a dataset is read once for all of them."""

    data: Path | None = None
    _datasets: dict[str, Dataset] = field(default_factory=dict)

    def check(self, job: Job) -> None:
        """Refuse what `campaign` would refuse, before any campaign of a sweep has begun."""
        settings = self._settings(job)
        Folder(job.folder).check(settings.config, settings.dataset)
        self.answers(job.recipe, settings.dataset, job.seed)

    def campaign(self, job: Job, watch: Callable[[Step], None] | None = None) -> tuple[Campaign, Simulated]:
        settings = self._settings(job)
        asked_for = {f.name: getattr(settings, f.name) for f in fields(settings)}
        campaign = Campaign(job.folder, **asked_for, watch=watch)
        return campaign, Simulated(self.answers(job.recipe, settings.dataset, job.seed))

    def _settings(self, job: Job) -> Settings:
        recipe = job.recipe
        query = recipe.queries[job.query] if job.query else recipe.query
        acquisition = recipe.acquisitions[job.acquisition] if job.acquisition else recipe.acquisition
        assert query is not None
        assert acquisition is not None
        return Settings(
            dataset=self.dataset(recipe),
            model=build("models", recipe.model, "model"),
            query=build("queries", query, f"queries.{job.query}" if job.query else "query"),
            acquisition=build(
                "acquisition", acquisition, f"acquisitions.{job.acquisition}" if job.acquisition else "acquisition"
            ),
            initial=recipe.initial,
            budget=recipe.budget,
            seed=job.seed,
            holdout=recipe.holdout,
            ahead=recipe.ahead,
            stop=_stopping(recipe),
            annotator=recipe.annotator.model_dump(exclude_defaults=True, exclude={"name"}) or None,
        )

    def dataset(self, recipe: Recipe) -> Dataset:
        """The recipe's dataset, without the items nobody could answer about."""
        key = repr(recipe.dataset)
        if key not in self._datasets:
            made = build("datasets", self._placed(recipe.dataset), "dataset")
            if (made.labels < 0).all():
                raise ShortlistError("dataset: no item has a label, and a recipe's annotator answers from labels")
            self._datasets[key] = made.labelled()
        return self._datasets[key]

    def _placed(self, table: Part) -> dict[str, Any]:
        """Datasets that live in a folder are looked for in the data folder, unless they say where they are."""
        settings = {"name": table} if isinstance(table, str) else dict(table)
        name = str(settings.get("name"))
        if name in FOLDERS and "folder" not in settings and name in names("datasets"):
            settings["folder"] = str(data_folder(name, self.data))
        for key in PATHS & settings.keys():
            settings[key] = str(self._found(str(settings[key])))
        return settings

    def _found(self, path: str) -> Path:
        """A path from where the command was started, or else from the data folder."""
        from_data = (self.data or Path()) / path
        return from_data if not Path(path).exists() and from_data.exists() else Path(path)

    def answers(self, recipe: Recipe, dataset: Dataset, seed: int) -> Any:
        """What the simulated annotator says about each item."""
        table = recipe.annotator
        if table.name != "simulated":
            raise ShortlistError(f"annotator.name: {table.name!r} is none of simulated")
        labels = dataset.labels if table.labels is None else self._given(table.labels)
        if len(labels) != len(dataset.labels):
            raise ShortlistError(f"annotator.labels: {len(labels)} labels for {len(dataset.labels)} items")
        wrong = np.flatnonzero((labels < 0) | (labels >= len(dataset.classes)))
        if len(wrong):
            told = f"item {wrong[0]} has label {labels[wrong[0]]}"
            raise ShortlistError(f"annotator.labels: {told}; there are {len(dataset.classes)} classes")
        return noisy(labels, table.noise, len(dataset.classes), seed) if table.noise else labels

    def _given(self, where: str) -> Any:
        name, _, array = where.partition(":")
        path = self._found(name)
        try:
            found = np.load(path, allow_pickle=False)
            return np.asarray(found[array] if array else found, np.int64)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ShortlistError(f"annotator.labels: {path} cannot be read: {error}") from None


def _stopping(recipe: Recipe) -> Stopping:
    known = [f.name for f in fields(Stopping)]
    if unknown := [name for name in recipe.stop if name not in known]:
        raise ShortlistError(f"stop.{unknown[0]}: no such setting; there are {', '.join(known)}")
    if recipe.rounds is not None and "rounds" in recipe.stop:
        raise ShortlistError("stop.rounds: give either rounds or stop.rounds")
    return Stopping(**{"rounds": recipe.rounds, **recipe.stop})
