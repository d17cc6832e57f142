"""Every dataset class of the package, found by walking it, meets the same contract."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import shortlist.datasets
from shortlist.checks import check_dataset
from shortlist.datasets.arrays import Arrays
from shortlist.datasets.builtin.digits import Digits
from shortlist.datasets.builtin.glyphs import Glyphs
from shortlist.datasets.feature_file import FeatureFile
from shortlist.datasets.image_folder import ImageFolder
from shortlist.datasets.official.cifar import Cifar10, Cifar100
from shortlist.datasets.official.examples import write_example
from shortlist.datasets.official.imagenet64 import Imagenet64
from shortlist.datasets.official.products10k import Products10k
from shortlist.datasets.table import R52, Table
from tests.contracts.classes import classes_of


def small_arrays(folder: Path) -> Arrays:
    return Arrays(np.eye(4), [0, 1, -1, 2], features=np.eye(4), test_inputs=np.eye(4)[:2], test_labels=[0, 1])


def small_table(folder: Path) -> Table:
    path = folder / "table.csv"
    path.write_text('id,body,topic\n1,"x, y",01\n2,z,NA\n3,w,\n')
    return Table(path, text="body", label="topic", key="id", classes=["NA", "01", 'a "b"'])


def small_image_folder(folder: Path) -> ImageFolder:
    for name in ("cat/1.png", "dog/1.png", "new.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (9, 7), "red").save(folder / name)
    return ImageFolder(folder, size=8)


def small_feature_file(folder: Path) -> FeatureFile:
    np.save(folder / "x.npy", np.eye(3))
    (folder / "keys.txt").write_text("a\nb\nc\n")
    return FeatureFile(folder / "x.npy", keys=folder / "keys.txt", labels=["red", "", "blue"], classes=["red", "blue"])


def small_r52(folder: Path) -> R52:
    for name in ("train.csv", "test.csv"):
        (folder / name).write_text("text,label\ncocoa prices,cocoa\nnet profit,earn\n")
    return R52(folder)


def small_example(name: str, folder: Path) -> Path:
    return write_example(name, folder, items=40, test_items=10)


BUILDERS: dict[str, Callable[[Path], Arrays]] = {
    "Arrays": small_arrays,
    "Table": small_table,
    "ImageFolder": small_image_folder,
    "Digits": lambda folder: Digits(),
    "Glyphs": lambda folder: Glyphs(10, 25, test_items=5),
    "FeatureFile": small_feature_file,
    "R52": small_r52,
    "Cifar10": lambda folder: Cifar10(small_example("cifar10", folder), imbalance=2.5, items=20),
    "Cifar100": lambda folder: Cifar100(small_example("cifar100", folder), test_items=5),
    "Imagenet64": lambda folder: Imagenet64(small_example("imagenet64", folder), items=20, test_items=5),
    "Products10k": lambda folder: Products10k(small_example("products10k", folder), size=16, items=20),
}


CLASSES = {cls.__name__: cls for cls in classes_of(shortlist.datasets) if hasattr(cls, "spec")}


@pytest.fixture(params=sorted(CLASSES))
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Arrays:
    name: str = request.param
    assert name in BUILDERS, f"{name} has no small builder: add one to BUILDERS in {__file__}"
    return BUILDERS[name](tmp_path)


def test_every_builder_belongs_to_a_class() -> None:
    assert set(BUILDERS) <= set(CLASSES)


def test_meets_the_checks_that_are_shipped(dataset: Arrays) -> None:
    check_dataset(dataset)
    assert len(dataset) == len(dataset.keys)


def test_positions_pick_a_subset(dataset: Arrays) -> None:
    assert dataset.subset(np.array([1, 0])).keys == (dataset.keys[1], dataset.keys[0])


def test_labelled_items_are_those_with_a_label(dataset: Arrays) -> None:
    known = dataset.labelled()
    assert len(known) == (dataset.labels >= 0).sum()
    assert known.classes == dataset.classes


def test_spec_survives_toml_and_rebuilds_the_dataset(dataset: Arrays) -> None:
    spec = dataset.spec()
    assert tomllib.loads("\n".join(f"{key} = {as_toml(value)}" for key, value in spec.items())) == spec
    assert spec["name"] == dataset.name
    if type(dataset) is Arrays:
        return  # what was only ever in memory is described, not rebuilt
    options: dict[str, Any] = {option: value for option, value in spec.items() if option != "name"}
    again = type(dataset)(**options)
    assert again.keys == dataset.keys
    assert again.classes == dataset.classes
    assert (again.labels == dataset.labels).all()
    assert (again.inputs == dataset.inputs).all()


def as_toml(value: object) -> str:
    """The few types that a recipe may hold; anything else is no value of a spec."""
    if type(value) is list:
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if type(value) is str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert type(value) in {int, float, bool}, f"{value!r} is no TOML value"
    return str(value).lower()
