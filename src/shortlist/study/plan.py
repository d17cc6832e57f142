"""The plan of a user study: its items, the options of every group, and the group and order of each person.

As in the paper: one image each of so many classes, the same for all groups; the truth is always among the options. A
group's options are those of the next larger group with some taken away, so that groups differ in nothing else.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np

from shortlist.campaign.randomness import keyed_rng
from shortlist.datasets.arrays import Arrays
from shortlist.datasets.feature_file import read_array
from shortlist.datasets.image_folder import upright
from shortlist.probabilities import check_probs
from shortlist.types import Array, Dataset, Ints, ShortlistError
from shortlist.web.items import png

KEYS = "123456789abcdefghijklmnopqrstuvwxyz"  # one for each option
SIDE = 512  # the longer side of a photograph, in pixels


@dataclass(frozen=True)
class Item:
    """One item of the study, and what each group chooses from, in the order it is shown."""

    position: int  # in the dataset
    truth: int
    options: dict[int, tuple[int, ...]]  # how many -> classes
    practice: bool = False  # to get used to the page; does not count


@dataclass(frozen=True)
class Settings:
    """What is asked for in a study.toml; by default the paper's study."""

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
                f"{where}: there is nothing to show yet; give --images DIR (a folder for every class), or --demo"
            )
        return cls(**{**values, "groups": tuple(values.get("groups", cls.groups))})

    def values(self) -> dict[str, Any]:
        """As TOML and the database hold them."""
        settings = {key: value for key, value in asdict(self).items() if value is not None}
        return {**settings, "groups": list(self.groups), "dataset": dict(self.dataset)}


def plan_study(labels: Ints, n_classes: int, settings: Settings, probs: Array | None = None) -> list[Item]:
    """The items, those to practise with first, and what every group is shown with each.

    Wrong options are drawn at random; with `probs` (N, L) they are the item's likeliest.

    >>> asked = Settings({"name": "digits"}, items=1, groups=(2, 4), practice=1)
    >>> first, second = plan_study(np.arange(10), 10, asked)
    >>> first.practice, second.practice, second.truth in second.options[2], len(set(second.options[4]))
    (True, False, True, 4)
    >>> set(second.options[2]) < set(second.options[4])
    True
    """
    check_groups(settings.groups, n_classes)
    chosen = draw_items(labels, settings.items + settings.practice, settings.seed)
    planned = []
    for number, position in enumerate(chosen):
        truth = int(labels[position])
        options = _options(position, truth, n_classes, settings, probs)
        planned.append(Item(position, truth, options, practice=number >= settings.items))
    return planned[settings.items :] + planned[: settings.items]


def check_groups(groups: Sequence[int], n_classes: int) -> None:
    if not groups or sorted(set(groups)) != list(groups):
        raise ShortlistError(f"groups are {list(groups)}; give numbers of options that grow, such as 4,8,16,32")
    if groups[0] < 2 or groups[-1] > len(KEYS):
        raise ShortlistError(f"groups are {list(groups)}; each has from 2 to {len(KEYS)} options: one for every key")
    if groups[-1] > n_classes:
        raise ShortlistError(
            f"groups: {groups[-1]} options need as many classes, and there are {n_classes}; "
            f"give smaller ones, such as {','.join(str(k) for k in (2, 4, 8, 16) if k <= max(2, n_classes))}"
        )


def draw_items(labels: Ints, n: int, seed: int) -> list[int]:
    """Positions of n labelled items: one of each class, at random, and of classes again only when all had a turn."""
    known = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    if sum(map(len, known)) < n:
        raise ShortlistError(
            f"items: {n} are needed (practice included), and only {sum(map(len, known))} have a known class; "
            "add images in folders of their class, or ask for fewer"
        )
    left = [keyed_rng(seed, int(labels[members[0]]), "study item").permutation(members).tolist() for members in known]
    rng, drawn = keyed_rng(seed, 0, "study classes"), list[int]()
    while len(drawn) < n:
        turns = rng.permutation(len(left))
        drawn += [int(left[c].pop()) for c in turns if left[c]]
    return drawn[:n]


def _options(
    position: int, truth: int, n_classes: int, settings: Settings, probs: Array | None
) -> dict[int, tuple[int, ...]]:
    seed = settings.seed
    ranked = keyed_rng(seed, position, "study options").permutation(np.delete(np.arange(n_classes), truth))
    if probs is not None:  # equally likely ones stay in their random order
        ranked = ranked[np.argsort(-np.asarray(probs[position])[ranked], kind="stable")]
    options = {}
    for k in settings.groups:
        classes = [truth, *ranked[: k - 1].tolist()]
        places = keyed_rng(seed, position, f"study places {k}").permutation(k)
        options[k] = tuple(classes[place] for place in places)
    return options


# --- people ----------------------------------------------------------------------------------------------------


def next_group(groups: Sequence[int], there: Counter[int], seed: int, person: int) -> int:
    """The group with the fewest people; among several, one at random.

    >>> next_group((4, 8, 16), Counter({4: 2, 8: 1, 16: 2}), seed=0, person=5)
    8
    """
    fewest = min(there[k] for k in groups)
    tied = [k for k in groups if there[k] == fewest]
    return tied[int(keyed_rng(seed, person, "study group").integers(len(tied)))]


def order_for(person: int, practice: Sequence[bool], seed: int) -> list[int]:
    """Numbers of the items in the order a person sees them: practice first, then the rest, shuffled for each person.

    So no item always comes to people who are fresh, and none to people who are tired.
    """
    first, rest = np.flatnonzero(practice), np.flatnonzero(~np.asarray(practice, np.bool_))
    return [int(i) for i in (*first, *keyed_rng(seed, person, "study order").permutation(rest))]


# --- what is shown -----------------------------------------------------------------------------------------------


def signs(glyphs: Dataset) -> Arrays:
    """The characters that are on no key: a picture of an "a" is no invitation to press the key of that name."""
    names = [name.split()[-1] for name in glyphs.classes]
    on_no_key = np.array([not name.isdigit() and "LATIN" not in unicodedata.name(name, "") for name in names])
    rows, renamed = np.flatnonzero(on_no_key[glyphs.labels]), np.cumsum(on_no_key) - 1
    return Arrays(
        glyphs.inputs[rows],
        renamed[glyphs.labels[rows]],
        classes=[name for name, keep in zip(names, on_no_key, strict=True) if keep],
        keys=[glyphs.keys[row] for row in rows.tolist()],
        name="glyphs",
    )


def read_probs(path: Path, dataset: Dataset) -> Array:
    """(N, L) a model's probabilities of every item, refused unless they fit the dataset."""
    probs = read_array(path)
    expected = (len(dataset.keys), len(dataset.classes))
    if probs.shape != expected:
        raise ShortlistError(f"{path}: {probs.shape}, but there are {expected[0]} items and {expected[1]} classes")
    check_probs(probs, str(path))
    return probs


def pictures(dataset: Dataset, positions: Sequence[int]) -> list[bytes]:
    """PNG of each item. A folder's photographs are shown whole, not cut to the square that a model sees."""
    if dataset.kind != "images":
        raise ShortlistError(f"{dataset.name}: its items are {dataset.kind}; a study shows images")
    if hasattr(dataset, "file_of"):
        return [_photograph(dataset.file_of(i)) for i in positions]
    return [png(np.asarray(dataset.inputs[i])) for i in positions]


def _photograph(path: Path) -> bytes:
    """At most SIDE pixels long, and without what a camera writes into its files."""
    from PIL.Image import Resampling

    image = upright(path, SIDE)
    image.thumbnail((SIDE, SIDE), Resampling.LANCZOS)
    image.info.clear()
    file = BytesIO()
    image.save(file, "png")
    return file.getvalue()
