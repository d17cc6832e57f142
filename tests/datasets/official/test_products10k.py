"""Products10k: the published lists and folders, classes of both splits, and every way they can be wrong."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shortlist.datasets.official.examples import write_example
from shortlist.datasets.official.products10k import Products10k
from shortlist.recipes.parts import build
from shortlist.types import ShortlistError

TRAIN = "name,class,group\nb.jpg,7,0\na.jpg,100,1\nc.jpg,20,0\n"
TEST = "name,class,group,Usage\nz.jpg,100,1,Private\ny.jpg,3,1,Public\n"


def products(root: Path, train: str = TRAIN, test: str = TEST) -> Path:
    for name, colour in (
        ("train/a.jpg", "red"),
        ("train/b.jpg", "lime"),
        ("train/c.jpg", "blue"),
        ("test/y.jpg", "white"),
        ("test/z.jpg", "black"),
    ):
        (root / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (40, 24), colour).save(root / name, quality=95)
    (root / "train.csv").write_text(train)
    (root / "test_kaggletest.csv").write_text(test)
    return root


def test_the_published_layout(tmp_path: Path) -> None:
    data = Products10k(products(tmp_path), size=16)
    assert (data.name, data.kind) == ("products10k", "images")
    assert data.keys == ("train/b.jpg", "train/a.jpg", "train/c.jpg")
    assert data.classes == ("3", "7", "20", "100")  # of both lists, by number
    assert data.labels.tolist() == [1, 3, 2]
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [3, 0]
    assert data.inputs.shape == (3, 16, 16, 3)
    assert np.abs(data.inputs[:, 8, 8].astype(int) - [[0, 255, 0], [255, 0, 0], [0, 0, 255]]).max() < 4
    assert data.test_inputs is not None
    assert data.test_inputs[:, 8, 8].tolist() == [[0, 0, 0], [255, 255, 255]]


def test_other_columns_do_not_matter(tmp_path: Path) -> None:
    data = Products10k(products(tmp_path, test="name,class,Usage\nz.jpg,100,Private\n"), size=8)
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [2]


def test_images_have_224_pixels_a_side_if_nobody_says_otherwise(tmp_path: Path) -> None:
    assert Products10k(products(tmp_path)).inputs.shape == (3, 224, 224, 3)


def test_first_rows_and_all_classes(tmp_path: Path) -> None:
    data = Products10k(products(tmp_path), size=8, items=2, test_items=1)
    assert data.keys == ("train/b.jpg", "train/a.jpg")
    assert data.classes == ("3", "7", "20", "100")
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [3]


def test_an_example(tmp_path: Path) -> None:
    data = Products10k(write_example("products10k", tmp_path, items=250, test_items=20), size=16)
    assert (len(data.classes), len(data)) == (200, 250)
    assert data.inputs.shape == (250, 16, 16, 3)


def test_spec_says_what_was_asked_for_and_no_more(tmp_path: Path) -> None:
    folder = str(products(tmp_path))
    assert Products10k(folder).spec() == {"name": "products10k", "folder": folder, "size": 224}
    data = Products10k(folder, size=8, items=2, test_items=1)
    assert data.spec() == {"name": "products10k", "folder": folder, "size": 8, "items": 2, "test_items": 1}
    assert build("datasets", data.spec(), "dataset").keys == data.keys


@pytest.mark.parametrize("missing", ["train.csv", "test_kaggletest.csv", "train", "test"])
def test_what_is_missing_is_named_with_what_to_put_where(tmp_path: Path, missing: str) -> None:
    path = products(tmp_path) / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(ShortlistError) as refused:
        Products10k(tmp_path)
    message = str(refused.value)
    assert f"products10k: {path} is missing; get Products-10K from https://products-10k.github.io/" in message
    assert f"put train.csv, test_kaggletest.csv and the folders train and test of its images into {tmp_path}" in message
    assert "no checksums are published" in message


@pytest.mark.parametrize(
    ("train", "sentence"),
    [
        ("name,group\na.jpg,1\n", r"train\.csv: there is no column 'class'; its columns are name, group"),
        ("name,class\na.jpg,1\n,2\n", r"train\.csv, row 1 \(counting from 0\): the name is missing"),
        ("name,class\na.jpg,\n", r"train\.csv, row 0 \(counting from 0\): the class None is not a whole number"),
        ("name,class\na.jpg,1.5\n", r"train\.csv, row 0 .*: the class '1\.5' is not a whole number"),
        ("name,class\na.jpg,-1\n", r"train\.csv, row 0 .*: the class '-1' is not a whole number"),
        ("name,class\na.jpg,²\n", r"train\.csv, row 0 .*: the class '²' is not a whole number"),
        ("name,class\na.jpg,1\na.jpg,2\n", r"are both the key 'train/a\.jpg'"),
        ("name,class\n", r"train\.csv: the file has no rows"),
        ("name,class\na.jpg,1\nq.jpg,2\n", r"row 1 .*: there is no image 'q\.jpg' in .*/train; unpack train\.zip of"),
        ("name,class\n../test/y.jpg,1\n", r"row 0 .*: there is no image '\.\./test/y\.jpg' in .*/train"),
    ],
)
def test_broken_lists(tmp_path: Path, train: str, sentence: str) -> None:
    with pytest.raises(ShortlistError, match=sentence):
        Products10k(products(tmp_path, train))


def test_a_missing_test_image(tmp_path: Path) -> None:
    (products(tmp_path) / "test" / "y.jpg").unlink()
    with pytest.raises(ShortlistError, match=r"test_kaggletest\.csv, row 1 .*: there is no image 'y\.jpg' in .*/test;"):
        Products10k(tmp_path)
    assert len(Products10k(tmp_path, test_items=1)) == 3


def test_a_broken_image_is_named_when_it_is_read(tmp_path: Path) -> None:
    (products(tmp_path) / "train" / "c.jpg").write_bytes(b"no image")
    data = Products10k(tmp_path, size=8)
    with pytest.raises(ShortlistError, match=r"train/c\.jpg: cannot be read as an image"):
        _ = data.inputs


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 0}, "products10k: size is 0; it has to be at least 1 pixel"),
        ({"items": 4}, "products10k: items is 4; it has to be from 1 to 3"),
        ({"test_items": 0}, "products10k: test_items is 0; it has to be from 1 to 2"),
    ],
)
def test_refused_options(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=sentence):
        Products10k(products(tmp_path), **options)


def test_missing_pillow_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ShortlistError, match=r"PIL is not installed; run: pip install 'shortlist-al\[images\]'"):
        Products10k(tmp_path)
