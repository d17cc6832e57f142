"""Made-up items: the same on every machine, with the classes that were asked for, and something to learn in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.datasets import data_folder
from shortlist.datasets.official.examples import EXAMPLES, write_example
from shortlist.types import ShortlistError


def read(name: str, folder: Path, **options: Any) -> Any:
    return getattr(shortlist, name.capitalize())(folder, **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_lies_where_the_data_folder_has_it(tmp_path: Path, name: str) -> None:
    home = write_example(name, tmp_path, n_classes=5, items=20, test_items=10)
    assert home == data_folder(name, tmp_path)
    data = read(name, home)
    assert (len(data), len(data.test_labels)) == (20, 10)
    assert set(data.labels) == set(data.test_labels) == set(range(5))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_seed_decides_every_byte(tmp_path: Path, name: str) -> None:
    first, again, other = (
        read(name, write_example(name, tmp_path / folder, n_classes=5, items=20, test_items=10, seed=seed))
        for folder, seed in (("first", 0), ("again", 0), ("other", 1))
    )
    assert (first.inputs == again.inputs).all()
    assert (first.test_inputs == again.test_inputs).all()
    assert (first.labels == again.labels).all()
    assert (first.inputs != other.inputs).any(axis=(1, 2, 3)).all()
    assert (first.inputs[:10] != first.test_inputs).any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize(("name", "n_classes"), [("cifar10", 10), ("imagenet64", 20)])
def test_there_is_something_to_learn_and_not_at_once(tmp_path: Path, name: str, n_classes: int) -> None:
    data = read(name, write_example(name, tmp_path, n_classes=n_classes, items=400, test_items=100))
    few, many = (accuracy_of_class_means(data, n, n_classes) for n in (2 * n_classes, 400))
    assert 2 / n_classes < few < many
    assert many > 0.8


def accuracy_of_class_means(data: Any, n: int, n_classes: int) -> float:
    images = data.inputs[:n].reshape(n, -1).astype(np.float32)
    means = np.stack([images[data.labels[:n] == c].mean(0) for c in range(n_classes)])
    tests = data.test_inputs.reshape(len(data.test_inputs), -1).astype(np.float32)
    distances = ((tests[:, None] - means[None]) ** 2).sum(-1)
    return float(np.mean(distances.argmin(1) == data.test_labels))


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("mnist", {}, "example: 'mnist' is none of cifar10, cifar100, imagenet64, products10k"),
        ("cifar10", {"n_classes": 11}, "example: n_classes is 11; cifar10 has from 2 to 10"),
        ("cifar100", {"n_classes": 1}, "example: n_classes is 1; cifar100 has from 2 to 100"),
        ("imagenet64", {"items": 9}, "example: items is 9; it has to be at least 10, one for every file"),
        ("products10k", {"test_items": 0}, "example: test_items is 0; it has to be at least 10"),
    ],
)
def test_refused_sizes(tmp_path: Path, name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=sentence):
        write_example(name, tmp_path, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", EXAMPLES)
def test_files_that_nobody_made_up_are_not_written_over(tmp_path: Path, name: str) -> None:
    home = data_folder(name, tmp_path)
    home.mkdir()
    (home / "train").write_bytes(b"real")
    with pytest.raises(ShortlistError, match="holds files that were not made up, and nothing is written over them"):
        write_example(name, tmp_path, n_classes=5, items=20, test_items=10)
    assert [path.name for path in home.iterdir()] == ["train"]
    (home / "train").unlink()
    write_example(name, tmp_path, n_classes=5, items=20, test_items=10)  # empty
    write_example(name, tmp_path, n_classes=5, items=20, test_items=10)  # and its own
