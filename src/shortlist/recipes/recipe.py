"""A recipe is a TOML file: one campaign, or a grid over queries × acquisitions × seeds, in one or more variants.

Tables laid over the file make other recipes of it: each of `[variants]` a grid of its own, `[smoke]` a small one that
shows within a minute that everything works.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from shortlist.campaign.accounting.timing import Pricing
from shortlist.campaign.config import from_toml
from shortlist.types import ShortlistError

Part = str | dict[str, Any]
DEEPEST = 30  # tables and lists in each other
NAME = r'(?:"[^"]+"|[^\s".=]+)'  # of a table or a field, in what --set says
QUOTED = """a name with . or = in it goes in quotes, as in 'variants."noise=0.1".rounds=3'"""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AnnotatorTable(_Table):
    """Who answers: people, or a simulation from the dataset's labels, with uniform noise, or from labels in a file.

    Several simulated `people` take turns where answers overlap, each with noise of their own.
    """

    name: Literal["simulated", "people"] = "simulated"
    noise: float = Field(0.0, ge=0, le=1)
    people: int = Field(1, ge=1)
    labels: str | None = None  # an .npy, or an .npz with its array after a colon: "human_labels.npz:noisy"


class RunsTable(_Table):
    queries: list[str]
    acquisitions: list[str]


class Recipe(_Table):
    name: str = Field("campaign", description="What the campaign is called.")
    dataset: Part
    features: Part | None = None  # the encoder that makes them, for acquisitions that need features
    model: Part
    query: Part | None = None
    queries: dict[str, Part] = {}
    acquisition: Part | None = None
    acquisitions: dict[str, Part] = {}
    runs: list[RunsTable] = []  # which of them meet; without it, all
    # A setting with a description is in the campaign.toml of `shortlist init`, below that text, in this order.
    annotator: AnnotatorTable = Field(
        AnnotatorTable(),
        description='Who answers. "simulated", with known labels, is for experiments: shortlist run.',
    )
    holdout: int = Field(
        0, ge=0, description="Random items asked before all others, and only used to measure accuracy."
    )
    initial: int | None = Field(
        None,
        ge=1,
        description="Random items asked first, with all classes to choose from: enough for a first model to know most "
        "classes.",
    )
    budget: int | None = Field(
        None, ge=1, description="Items asked in each round after that; then the model is trained again."
    )
    schedule: Part | None = None  # how many items are asked when; in the place of initial and budget
    ahead: int = Field(
        0,
        ge=0,
        description="Of the next-ranked items so many are kept ready for people while a model trains; they count in "
        "the next round. 0: people wait.",
    )
    known: Literal["ask", "use"] = Field(
        "ask",
        description='Labels that the data come with: "use" learns from them at once, at no cost, and does not ask; '
        '"ask" asks people all the same. Either way they serve as control questions.',
    )
    price: Pricing = Field(
        "cost",
        description='What lists are made and items chosen by: "cost", as the query has it, or "measured", the seconds '
        "that people take here for lists of so many options, fitted anew every round. What was spent is always told in "
        "the unit of cost.",
    )
    control: float = Field(
        0,
        ge=0,
        lt=1,
        description="Share of control questions: about items whose class is sure (a known label, several people who "
        "agree, a decision of the owner), half of them with a list that lacks it. They show who trusts a wrong list, "
        "and label nothing.",
    )
    guidelines: str | None = Field(
        None,
        description="A text that those who label can read beside every question (key G): a .md or .txt file, from the "
        "folder of this file. It may be changed at any time.",
    )
    seed: int | None = Field(None, ge=0, description="Every random choice follows from it; any whole number.")
    seeds: list[Annotated[int, Field(ge=0)]] = []
    rounds: int | None = Field(None, ge=1)
    stop: dict[str, Any] = {}
    overlap: dict[str, Any] | None = None  # some items are answered by several people
    variants: dict[str, dict[str, Any]] = {}
    smoke: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _features_of_the_dataset(cls, table: dict[str, Any]) -> dict[str, Any]:
        """A campaign's own settings say with the dataset which features it had."""
        dataset = table.get("dataset")
        if isinstance(dataset, dict) and "features" in dataset and "features" not in table:
            rest = {key: value for key, value in dataset.items() if key != "features"}
            return {**table, "dataset": rest, "features": dataset["features"]}
        return table

    @field_validator("annotator", mode="before")
    @classmethod
    def _annotator_by_name(cls, table: Any) -> Any:
        return {"name": table} if isinstance(table, str) else table

    @model_validator(mode="after")
    def _one_or_many(self) -> Recipe:
        for one, many in (("query", "queries"), ("acquisition", "acquisitions")):
            if bool(getattr(self, one)) == bool(getattr(self, many)):
                raise ValueError(f"give either {one} or {many}")
        given = [name for name in ("initial", "budget") if getattr(self, name) is not None]
        if len(given) != (2 if self.schedule is None else 0):
            raise ValueError("give either initial and budget, or a schedule")
        if self.seed is not None and self.seeds:
            raise ValueError("give either seed or seeds")
        for runs in self.runs:
            for kind in ("queries", "acquisitions"):
                if unknown := [n for n in getattr(runs, kind) if n not in getattr(self, kind)]:
                    raise ValueError(f"runs.{kind}: {unknown[0]!r} is not among {', '.join(getattr(self, kind))}")
        return self

    def pairs(self) -> list[tuple[str, str]]:
        """Which query meets which acquisition, by name; "" for the only one."""
        whole = RunsTable(queries=list(self.queries) or [""], acquisitions=list(self.acquisitions) or [""])
        grids = self.runs or [whole]
        met = [(q, a) for grid in grids for a in grid.acquisitions for q in grid.queries]
        return list(dict.fromkeys(met))


def read_recipe(path: Path) -> Recipe:
    try:
        table = from_toml(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such recipe") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ShortlistError(f"{path}: cannot be read as TOML: {error}") from None
    return parse_recipe({"name": path.stem, **table}, str(path))


def refuse_deep(table: Mapping[str, Any], where: str) -> None:
    """What reads them would run out of stack."""
    level: list[Any] = [table]
    for _ in range(DEEPEST):
        values = (value for one in level for value in (one.values() if isinstance(one, Mapping) else one))
        level = [value for value in values if isinstance(value, Mapping | list)]
    if level:
        raise ShortlistError(f"{where}: tables and lists are nested more than {DEEPEST} deep")


def parse_recipe(table: Mapping[str, Any], where: str) -> Recipe:
    """The recipe that a table describes, every variant of it checked."""
    refuse_deep(table, where)
    recipe = _validated(table, where)
    for name, above in recipe.variants.items():
        _validated(merged(_written(recipe), above), f"{where}: variants.{name}")
    return recipe


def _validated(table: Mapping[str, Any], where: str) -> Recipe:
    try:
        return Recipe.model_validate(table)
    except ValidationError as error:
        # an unknown field is usually the missing one misspelt: name it first
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        at = ".".join(str(part) for part in first["loc"] if part not in ("str", "dict[str,any]"))
        known = f"; there are {', '.join(Recipe.model_fields)}" if first["type"] == "extra_forbidden" else ""
        what = "no such field" if known else first["msg"].removeprefix("Value error, ")
        raise ShortlistError(f"{where}: {at + ': ' if at else ''}{what}{known}") from None


# --- recipes made of a recipe ----------------------------------------------------------------------------------


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One table laid over another: tables merge, values replace, and `false` takes a table away.

    A part with another name replaces the part below, whose settings are not its own. A word below a table stays: it
    is the name of a part, or what a training is based on.

    >>> merged({"a": 1, "model": {"name": "x", "k": 2}}, {"model": {"k": 3}})
    {'a': 1, 'model': {'name': 'x', 'k': 3}}
    >>> merged({"dataset": "cifar100"}, {"dataset": {"items": 1000}})
    {'dataset': {'name': 'cifar100', 'items': 1000}}
    """
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, str) and isinstance(value, Mapping):
            old = {"base" if key == "training" else "name": old}
        if isinstance(old, Mapping) and value is False:
            del result[key]
        elif isinstance(old, Mapping) and isinstance(value, Mapping) and value.get("name") in (None, old.get("name")):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def changed(recipe: Recipe, above: Mapping[str, Any], where: str) -> Recipe:
    """The recipe and all its variants with these settings: what the command line says comes last."""
    for_all = {key: value for key, value in above.items() if key != "variants"}
    variants = {name: merged(table, for_all) for name, table in recipe.variants.items()}
    return parse_recipe(merged({**_written(recipe), "variants": variants}, above), where)


def setting(text: str) -> dict[str, Any]:
    """A setting as the command line gives it: where it stands, and a TOML value or a bare word.

    A name with a dot or an equals sign in it goes in quotes.

    >>> setting("model.training=paper"), setting("model.training.epochs = 2")
    ({'model': {'training': 'paper'}}, {'model': {'training': {'epochs': 2}}})
    >>> setting('variants."noise=0.1".rounds=3')
    {'variants': {'noise=0.1': {'rounds': 3}}}
    """
    found = re.fullmatch(rf"\s*({NAME}(?:\.{NAME})*)\s*=\s*(\S.*)", text, re.DOTALL)
    if not found:
        raise ShortlistError(f"--set: {text!r} does not look like model.training=paper; {QUOTED}")
    keys = [name.strip('"') for name in re.findall(NAME, found[1])]
    read: Any = found[2].strip()
    with suppress(ValueError, RecursionError):
        read = from_toml(f"value = {read}")["value"]
    if keys[0] == "variants" and len(keys) < 3 and not isinstance(read, dict) and read is not False:
        raise ShortlistError(f"--set: {text!r} gives a variant no setting; {QUOTED}")
    for key in reversed(keys):
        read = {key: read}
    return dict(read)


def smoke_recipe(recipe: Recipe, where: str) -> Recipe:
    """The small recipe that a file's `[smoke]` makes of it."""
    if not recipe.smoke:
        raise ShortlistError(f"{where}: smoke: there is no [smoke] table, which says how to make the recipe small")
    small = merged({**_written(recipe), "name": f"{recipe.name}-smoke"}, recipe.smoke)
    return parse_recipe({key: value for key, value in small.items() if key != "smoke"}, f"{where}: smoke")


def each_variant(recipe: Recipe) -> dict[str, Recipe]:
    """The recipes to run, by variant; "" where there are none."""
    made = {name: merged(_written(recipe), above) for name, above in recipe.variants.items()}
    return {name: Recipe.model_validate({**table, "variants": {}}) for name, table in made.items()} or {"": recipe}


def _written(recipe: Recipe) -> dict[str, Any]:
    """As it stands in its file."""
    return recipe.model_dump(exclude_unset=True)


def as_table(part: Part) -> dict[str, Any]:
    """A part by its name alone is a table with nothing else in it."""
    return {"name": part} if isinstance(part, str) else dict(part)


# --- campaigns -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One campaign of a recipe."""

    recipe: Recipe
    query: str
    acquisition: str
    seed: int
    folder: Path
    variant: str = ""

    @property
    def pair(self) -> str:
        return "+".join(part for part in (self.query, self.acquisition) if part)

    @property
    def label(self) -> str:
        variant = f"{self.variant}: " if self.variant else ""
        return f"{variant}{self.pair or self.recipe.name}, seed {self.seed}"


def jobs(recipe: Recipe, out: Path) -> list[Job]:
    """Every campaign of a recipe and its folder; variants have a folder each."""
    listed = []
    for variant, one in each_variant(recipe).items():
        for query, acquisition in one.pairs():
            folder = out / folder_name(variant) / folder_name(query, acquisition)
            seeds = one.seeds or [one.seed or 0]
            listed += [Job(one, query, acquisition, seed, folder / f"seed-{seed}", variant) for seed in seeds]
    folders = [job.folder for job in listed]
    for job in listed:
        if folders.count(job.folder) > 1:
            raise ShortlistError(f"{recipe.name}: two runs would share the folder {job.folder}; give them other names")
    return listed


def chosen(listed: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """Those whose pair and whose variant is named; where no pair is named every pair, and so with variants."""
    pairs, variants = {job.pair for job in listed} - {""}, {job.variant for job in listed} - {""}
    known = dict.fromkeys(name for job in listed for name in (job.pair, job.variant) if name)
    if unknown := [name for name in only if name not in known]:
        raise ShortlistError(f"--only: {unknown[0]!r} is none of {', '.join(known) or 'a grid: this is one campaign'}")
    picked = [
        job
        for job in listed
        if (pairs.isdisjoint(only) or job.pair in only) and (variants.isdisjoint(only) or job.variant in only)
    ]
    if not picked:
        raise ShortlistError(f"--only: no campaign is all of {', '.join(only)}")
    return picked


def folder_name(*parts: str) -> str:
    """A name that needs no quoting in a shell; none for the only campaign.

    >>> folder_name("CSQ", "Cost(Ent)"), folder_name("", "")
    ('CSQ+Cost-Ent', '')
    """
    return re.sub(r"[^\w+=.]+", "-", "+".join(part for part in parts if part)).strip("-.")
