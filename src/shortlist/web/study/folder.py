"""A study is a folder: `study.toml` says what was asked for, `study.db` holds the pictures, the people, the answers.

Once made, it needs its dataset no more.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from shortlist.campaign.config import first_difference, to_toml
from shortlist.datasets.arrays import Arrays
from shortlist.datasets.feature_file import read_array
from shortlist.datasets.glyphs import Glyphs
from shortlist.datasets.image_folder import ImageFolder
from shortlist.probabilities import check_probs
from shortlist.types import Array, Dataset, ShortlistError
from shortlist.web.study.images import pictures
from shortlist.web.study.plan import plan_study
from shortlist.web.study.store import StudyStore

DEMO = {"name": "glyphs", "classes": 700, "items": 700, "test_items": 0, "size": 128}  # the paper's 128 pixels
SOURCES = ("glyphs", "image_folder")
HEADER = (
    "# A user study: `shortlist study FOLDER` starts it or goes on, `shortlist study FOLDER --table` shows results.\n"
)


@dataclass(frozen=True)
class Settings:
    dataset: Mapping[str, Any]
    items: int = 20
    groups: tuple[int, ...] = (4, 8, 16, 32)
    practice: int = 3
    seed: int = 0
    probs: str | None = None  # .npy: wrong options are the likeliest rather than any

    def __post_init__(self) -> None:
        for field, least in (("items", 1), ("practice", 0), ("seed", 0)):
            value = getattr(self, field)
            if not isinstance(value, int) or value < least:
                raise ShortlistError(f"study: {field} is {value!r}; it has to be a whole number of at least {least}")
        if not all(isinstance(k, int) for k in self.groups):
            raise ShortlistError(f"study: groups are {list(self.groups)}; they have to be whole numbers")

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str) -> Self:
        unknown = set(values) - set(cls.__dataclass_fields__)
        if unknown:
            raise ShortlistError(f"{where}: {sorted(unknown)[0]} is no setting of a study")
        if not isinstance(values.get("dataset"), Mapping):
            raise ShortlistError(
                f"{where}: it is not said what to show; give --images DIR (a folder for every class), or --demo"
            )
        return cls(**{**values, "groups": tuple(values.get("groups", cls.groups))})

    def values(self) -> dict[str, Any]:
        """As TOML and the database hold them."""
        found = {key: value for key, value in asdict(self).items() if value is not None}
        return {**found, "groups": list(self.groups), "dataset": dict(self.dataset)}


def open_study(folder: Path, given: Mapping[str, Any] | None = None) -> StudyStore:
    """The study that is here, if it is the one that is asked for; a new one if there is none.

    `given` are settings that were said anew; others are those of study.toml.
    """
    kept = folder / "study.db"
    written = read_toml(folder / "study.toml")
    asked = {**written, **(given or {})}
    if not kept.exists():
        return create_study(folder, Settings.of(asked, str(folder)))
    store = StudyStore(kept)
    there = store.config()
    if difference := first_difference(there, {**there, **asked}):
        store.close()
        raise ShortlistError(f"{folder}: this study has {difference}; start another one in another folder")
    return store


def read_toml(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ShortlistError(f"{path}: cannot be read as TOML: {error}") from None


def create_study(folder: Path, settings: Settings, dataset: Dataset | None = None) -> StudyStore:
    """Draw the items, keep their pictures, write the folder. A dataset may be given that no recipe names."""
    dataset = source(settings.dataset) if dataset is None else dataset
    plan = plan_study(
        dataset.labels,
        len(dataset.classes),
        items=settings.items,
        groups=settings.groups,
        practice=settings.practice,
        seed=settings.seed,
        probs=read_probs(Path(settings.probs), dataset) if settings.probs else None,
    )
    positions = [item.position for item in plan]
    shots, keys = pictures(dataset, positions), [dataset.keys[i] for i in positions]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "study.toml", HEADER + to_toml(settings.values()))
    return StudyStore.create(folder / "study.db", settings.values(), dataset.classes, plan, keys, shots)


def source(spec: Mapping[str, Any]) -> Dataset:
    """The dataset that a study.toml names."""
    name, options = spec.get("name"), {key: value for key, value in spec.items() if key != "name"}
    if name not in SOURCES:
        raise ShortlistError(f"dataset.name: {name!r} is none of {', '.join(SOURCES)}")
    try:
        return signs(Glyphs(**options)) if name == "glyphs" else ImageFolder(**options)
    except TypeError as error:
        raise ShortlistError(f"dataset: {error}") from None


def signs(glyphs: Glyphs) -> Arrays:
    """The characters that are on no key: a picture of an "a" is no invitation to press the key of that name."""
    names = [name.split()[-1] for name in glyphs.classes]
    kept = np.array([not name.isdigit() and "LATIN" not in unicodedata.name(name, "") for name in names])
    rows, renamed = np.flatnonzero(kept[glyphs.labels]), np.cumsum(kept) - 1
    return Arrays(
        glyphs.inputs[rows],
        renamed[glyphs.labels[rows]],
        classes=[name for name, keep in zip(names, kept, strict=True) if keep],
        keys=[glyphs.keys[row] for row in rows],
        name="glyphs",
    )


def read_probs(path: Path, dataset: Dataset) -> Array:
    """(N, L) what a model says of every item."""
    probs = read_array(path)
    expected = (len(dataset.keys), len(dataset.classes))
    if probs.shape != expected:
        raise ShortlistError(f"{path}: {probs.shape}, but there are {expected[0]} items and {expected[1]} classes")
    check_probs(probs, str(path))
    return probs


def write_whole(path: Path, text: str) -> None:
    """A file that is there whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
