"""What somebody wants labelled, looked at before a campaign is made of it: what is there, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.feature_file import FeatureFile
from shortlist.datasets.image_folder import ImageFolder, class_folders, header_problem, nested_keys
from shortlist.datasets.table import Table
from shortlist.experiments.commented import Setting
from shortlist.types import ShortlistError

LEAST = 5  # items
LOOKED_AT = 2000  # files whose first bytes are read
SMALL, LARGE = 32, 224  # pixels: what a model of pixels can learn from, and what encoders want
MUCH = 4 * 10**9  # bytes


@dataclass(frozen=True)
class NewDataset:
    """A dataset, what campaign.toml says of it, and what its owner should know."""

    dataset: Arrays
    settings: Sequence[Setting]
    found: str  # in a few words
    warnings: Sequence[str] = field(default_factory=tuple)


def new_images(
    home: Path,
    folder: Path,
    *,
    classes: Path | None = None,
    keys: Path | None = None,
    folder_labels: bool = False,
    size: int = SMALL,
) -> NewDataset:
    """A folder of images, at any depth where the classes are given; else one sub folder for each class."""
    refuse_inside(home, folder)
    if classes is None and not keys:
        refuse_no_class_folders(folder)
    dataset = ImageFolder(folder, size=size, classes=classes, keys=keys, folder_labels=folder_labels, strict=False)
    refuse_few(dataset, folder, "images")
    held = len(dataset) * size * size * 3
    warnings = [*deeper_images(folder, dataset, classes, keys), *headers(folder, dataset.keys), *memory(held, size)]
    settings = [
        Setting("name", "image_folder", "Images in a folder: png, jpg, webp, gif, bmp, tiff, ppm, avif."),
        Setting("folder", stored(folder, home), f"Where they lie. {PLACES} New images are taken in at the next start."),
        Setting("size", size, SIZE.format(held=_size(held))),
        Setting("strict", False, STRICT),
        *class_settings(home, classes, "sub folders of the folder, in which the images of that class lie"),
    ]
    if classes is not None:
        settings.append(Setting("folder_labels", folder_labels, FOLDER_LABELS))
    if keys is not None:
        settings.append(Setting("keys", stored(keys, home), "A file of paths in the folder, one a line: the items."))
    return NewDataset(dataset, settings, f"{len(dataset):,} images in {folder}", warnings)


def new_table(
    home: Path,
    path: Path,
    *,
    text: str,
    key: str | None = None,
    label: str | None = None,
    classes: Path | None = None,
) -> NewDataset:
    """A text in every row of a .csv, .csv.gz or .parquet file."""
    if classes is None and label is None:
        raise ShortlistError(
            f"{path}: the names of the classes are not known; give --classes FILE, or --label COLUMN where some rows "
            "have a label"
        )
    dataset = Table(path, text=text, key=key, label=label, classes=classes)
    refuse_few(dataset, path, "texts")
    settings = [
        Setting("name", "table", "Texts in the rows of a table: .csv, .csv.gz or .parquet."),
        Setting("path", stored(path, home), f"The file. {PLACES} New rows are taken in at the next start."),
        Setting("text", text, "The column that people read."),
        Setting("key", key or "id", KEY, example=key is None),
        Setting("label", label or "label", LABEL, example=label is None),
        *class_settings(home, classes, "the labels that occur"),
    ]
    return NewDataset(dataset, settings, f"{len(dataset):,} texts in {path}")


def new_features(home: Path, path: Path, *, keys: Path | None = None, classes: Path | None = None) -> NewDataset:
    """Numbers (N, D) in an .npy file."""
    if classes is None:
        raise ShortlistError(f"{path}: the names of the classes are not known; give --classes FILE")
    dataset = FeatureFile(path, keys=keys, classes=classes)
    refuse_few(dataset, path, "rows")
    settings = [
        Setting("name", "feature_file", "Numbers (items, features) in a NumPy file."),
        Setting("path", stored(path, home), f"The file. {PLACES} Rows that are added are taken in at the next start."),
        Setting("keys", stored(keys, home) if keys else "keys.txt", KEYS, example=keys is None),
        *class_settings(home, classes, ""),
    ]
    width = dataset.inputs.shape[1]
    return NewDataset(dataset, settings, f"{len(dataset):,} items of {width:,} features in {path}")


# --- what campaign.toml says -----------------------------------------------------------------------------------

PLACES = "Paths are from the folder of this file, so that it and its data may move together, or absolute."
SIZE = (
    "The square in the middle of each image is resized to so many pixels for the model ({held} for all); people "
    "see whole images. Encoders want about 224."
)
STRICT = "What to do with a file that cannot be read: false sets it aside and lists it; true refuses to start."
FOLDER_LABELS = (
    "Whether the folder that an image lies in is its known label, if it is named after a class. See `known` above."
)
KEY = "The column that names an item, the same whatever row it stands in. Without it an item is its row's number."
LABEL = "A column of labels, empty where not known. See `known` above."
KEYS = "A file with the name of each row, one a line. Without it an item is its row's number."


def class_settings(home: Path, classes: Path | None, otherwise: str) -> list[Setting]:
    without = f"; without it, {otherwise}" if otherwise else ""
    why = (
        f"The classes: a file of names, one a line or a JSON list, or a list here{without}. A name that is added later "
        "is offered from the next start on; none may be taken away."
    )
    return [Setting("classes", stored(classes, home) if classes else "classes.txt", why, example=classes is None)]


def stored(path: Path, home: Path) -> str:
    """From the campaign's folder where both lie in one folder and can move together, else from the root.

    >>> campaign = Path("/data/pets/campaign")
    >>> stored(Path("/data/pets/photos"), campaign), stored(Path("/mnt/photos"), campaign)
    ('../photos', '/mnt/photos')
    """
    place, folder = Path(os.path.abspath(path)), home.resolve()  # noqa: PTH100 - a link to the data stays one
    together = place.resolve().is_relative_to(folder.parent) and folder.parent != Path(folder.anchor)
    return Path(os.path.relpath(place.resolve(), folder)).as_posix() if together else str(place)


# --- what is wrong with it -------------------------------------------------------------------------------------


def refuse_few(dataset: Arrays, place: Path, what: str) -> None:
    if len(dataset) < LEAST:
        raise ShortlistError(f"{place}: {len(dataset)} {what}; a campaign needs at least {LEAST} items")


def refuse_inside(home: Path, folder: Path) -> None:
    if home.resolve().is_relative_to(folder.resolve()):
        raise ShortlistError(
            f"{home}: a campaign in the folder of the images ({folder}) would be taken for some of them; "
            "choose a folder outside it"
        )


def refuse_no_class_folders(folder: Path) -> None:
    if not folder.is_dir():
        raise ShortlistError(f"{folder}: there is no such folder")
    names = class_folders(folder)
    if len(names) < 2:
        found = f"there is only one sub folder, {names[0]!r}" if names else "there are no sub folders"
        raise ShortlistError(
            f"{folder}: {found}, and each would be a class, of which at least 2 are needed; give --classes FILE, one "
            "name a line"
        )


def deeper_images(folder: Path, dataset: Arrays, classes: Path | None, keys: Path | None) -> list[str]:
    if classes is not None or keys is not None:
        return []
    left = sorted(set(nested_keys(folder)) - set(dataset.keys))
    if not left:
        return []
    return [
        f"{folder / left[0]}: it lies too deep for CLASS/image and is no item, as {len(left)} in all; see --classes"
    ]


def headers(folder: Path, keys: Sequence[str]) -> list[str]:
    """A warning that names the first file that is no image; refused where none is one."""
    chosen = keys if len(keys) <= LOOKED_AT else [keys[i] for i in _some(len(keys))]
    problems = [problem for key in chosen if (problem := header_problem(folder / key)) is not None]
    if not problems:
        return []
    looked = f"{len(chosen):,}" if len(chosen) == len(keys) else f"{len(chosen):,} files, chosen from {len(keys):,},"
    if len(problems) == len(chosen):
        raise ShortlistError(f"{problems[0]}; nor can any other of the {looked} that were looked at")
    return [f"{problems[0]} ({len(problems):,} of {looked} looked at); such items will be set aside and listed"]


def _some(n: int) -> list[int]:
    return sorted(np.random.default_rng(0).permutation(n)[:LOOKED_AT].tolist())


def memory(held: int, size: int) -> list[str]:
    if held < MUCH:
        return []
    return [
        f"all images at {size} pixels take {_size(held)} of memory; lower size in campaign.toml if that is too much"
    ]


def _size(held: int) -> str:
    return f"{held / 10**9:.1f} GB" if held > 10**9 else f"{held / 10**6:.1f} MB"
