"""Imagenet64: the published npz batches, labels before pixels, and every way a file can be wrong."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.datasets.official import imagenet64
from shortlist.datasets.official.examples import write_example
from shortlist.datasets.official.imagenet64 import TEST, TRAIN, Imagenet64
from shortlist.recipes.parts import build
from shortlist.types import ShortlistError


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example("imagenet64", tmp_path_factory.mktemp("example"), items=43, test_items=10)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_example("imagenet64", tmp_path, items=20, test_items=10)


def rewrite(path: Path, **changed: Any) -> None:
    with np.load(path) as batch:
        content = dict(batch.items())
    np.savez(path, **{name: value for name, value in (content | changed).items() if value is not None})


# --- what is read ----------------------------------------------------------------------------------------------


def test_the_published_layout(example: Path) -> None:
    data = Imagenet64(example)
    assert (data.name, data.kind, len(data), len(data.classes)) == ("imagenet64", "images", 43, 1000)
    assert (data.classes[0], data.classes[999]) == ("1", "1000")
    assert data.keys[42] == "train/0000042"
    assert data.test_inputs is not None
    assert data.test_inputs.shape == (10, 64, 64, 3)
    batches = [np.load(example / name) for name in TRAIN]
    assert data.labels.tolist() == [label - 1 for batch in batches for label in batch["labels"]]
    rows = np.concatenate([batch["data"] for batch in batches])
    assert (data.inputs == rows.reshape(43, 3, 64, 64).transpose(0, 2, 3, 1)).all()


def test_labels_count_from_1_in_the_files(home: Path) -> None:
    rewrite(home / TRAIN[0], labels=np.array([1, 1000]))
    assert Imagenet64(home).labels[:2].tolist() == [0, 999]


def test_rows_are_planes_of_red_green_and_blue(home: Path) -> None:
    rows = np.zeros((10, 12288), np.uint8)
    rows[3, [0, 4096 + 1, 8192 + 64]] = 10, 20, 30
    rewrite(home / TEST[0], data=rows)
    images = Imagenet64(home).test_inputs
    assert images is not None
    assert images[3, 0, :2].tolist() == [[10, 0, 0], [0, 20, 0]]
    assert images[3, 1, 0].tolist() == [0, 0, 30]
    assert images.sum() == 60


def test_blocks_and_compressed_files_give_the_same_pixels(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Imagenet64(example).inputs
    for name in (*TRAIN, *TEST):
        with np.load(example / name) as batch:
            np.savez_compressed(tmp_path / name, **dict(batch.items()))
    monkeypatch.setattr(imagenet64, "BLOCK", 3)
    for folder in (example, tmp_path):
        assert (Imagenet64(folder).inputs == whole).all()


@pytest.mark.parametrize("items", [1, 5, 6, 42, 43])
def test_first_items(example: Path, items: int) -> None:
    whole, few = Imagenet64(example), Imagenet64(example, items=items, test_items=2)
    assert few.keys == whole.keys[:items]
    assert (few.labels == whole.labels[:items]).all()
    assert (few.inputs == whole.inputs[:items]).all()
    assert few.test_labels is not None
    assert len(few.test_labels) == 2


def test_batches_beyond_the_first_items_need_not_be_there(home: Path) -> None:
    for name in TRAIN[2:]:
        (home / name).unlink()
    assert Imagenet64(home, items=4).inputs.shape == (4, 64, 64, 3)
    with pytest.raises(ShortlistError, match=r"train_data_batch_3\.npz is missing"):
        Imagenet64(home, items=5)


def test_names_from_the_published_map(home: Path) -> None:
    names = {1: "kit_fox", 135: "crane", 518: "crane"}
    lines = [f"n{number:08d} {number} {names.get(number, f'thing_{number}')}\n" for number in range(1000, 0, -1)]
    (home / "map_clsloc.txt").write_text("".join(lines))
    classes = Imagenet64(home).classes
    assert (classes[0], classes[1]) == ("kit_fox", "thing_2")
    assert (classes[134], classes[517]) == ("crane (n00000135)", "crane (n00000518)")


def test_spec_says_what_was_asked_for_and_no_more(example: Path) -> None:
    assert Imagenet64(example).spec() == {"name": "imagenet64", "folder": str(example)}
    data = Imagenet64(example, items=9, test_items=4)
    assert data.spec() == {"name": "imagenet64", "folder": str(example), "items": 9, "test_items": 4}
    assert build("datasets", data.spec(), "dataset").keys == data.keys


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*TRAIN, *TEST])
def test_a_missing_file_is_named_with_what_to_put_where(home: Path, name: str) -> None:
    (home / name).unlink()
    with pytest.raises(ShortlistError) as refused:
        Imagenet64(home)
    message = str(refused.value)
    assert f"imagenet64: {home}/{name} is missing; log in at https://image-net.org/download-images" in message
    assert "Imagenet64_train_part1_npz.zip" in message
    assert f"train_data_batch_10.npz and val_data.npz into {home}" in message
    assert "no published checksums" in message


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"labels": np.array([1, 0])}, r"label 0 in row 1 \(counting from 0\) is not in 1\.\.1000"),
        ({"labels": np.array([1001, 1])}, r"label 1001 in row 0 \(counting from 0\) is not in 1\.\.1000"),
        ({"labels": np.array([1.0, 2.0])}, r"labels are float64 \(2,\) instead of whole numbers"),
        ({"labels": np.array([[1], [2]])}, r"labels are int64 \(2, 1\) instead of whole numbers"),
        ({"labels": np.array([1, 2, 3])}, r"data has shape \(2, 12288\) instead of \(3, 12288\)"),
        ({"labels": np.array([1, object()])}, r"labels cannot be read \(Object arrays cannot be loaded"),
        ({"labels": None}, "labels cannot be read"),
        ({"data": None}, "data cannot be read"),
        ({"data": np.zeros((2, 3072), np.uint8)}, r"data has shape \(2, 3072\) instead of \(2, 12288\)"),
        ({"data": np.zeros((2, 12288), np.float32)}, "data is float32 instead of uint8"),
        ({"data": np.zeros((2, 12288), np.uint8, order="F")}, "data is uint8, column by column instead of"),
    ],
)
def test_a_broken_batch(home: Path, changed: dict[str, Any], sentence: str) -> None:
    rewrite(home / TRAIN[6], **changed)
    with pytest.raises(ShortlistError, match=rf"train_data_batch_7\.npz: {sentence}.*; unpack it again from"):
        Imagenet64(home)


def test_a_truncated_file(home: Path) -> None:
    whole = (home / TRAIN[3]).read_bytes()
    (home / TRAIN[3]).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ShortlistError, match=r"train_data_batch_4\.npz: labels cannot be read .*; unpack it again"):
        Imagenet64(home)


def test_pixels_are_read_when_they_are_touched_and_checked_then(home: Path) -> None:
    path = home / TRAIN[1]
    content = bytearray(path.read_bytes())
    content[5000] ^= 1  # among the pixels, which come first
    path.write_bytes(content)
    data = Imagenet64(home)
    assert len(data.labels) == 20
    with pytest.raises(ShortlistError, match=r"train_data_batch_2\.npz: data cannot be read \(Bad CRC-32"):
        _ = data.inputs


def test_fewer_pixels_than_the_header_says(home: Path) -> None:
    with np.load(home / TEST[0]) as batch:
        members = {name: npy_bytes(value) for name, value in batch.items()}
    members["data"] = members["data"][:-1]
    with zipfile.ZipFile(home / TEST[0], "w") as archive:
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)
    with pytest.raises(ShortlistError, match=r"val_data\.npz: data ends before row 10; unpack it again"):
        _ = Imagenet64(home).test_inputs


def npy_bytes(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


@pytest.mark.parametrize("line", ["", "n02119789 1000", "n02119789 999 twice"])
def test_a_map_that_leaves_a_class_out(home: Path, line: str) -> None:
    lines = [f"n{number:08d} {number} thing_{number}" for number in range(1, 1000)]
    (home / "map_clsloc.txt").write_text("\n".join([*lines, line]))
    with pytest.raises(
        ShortlistError, match=r"map_clsloc\.txt: no line names class 1000 of 1000; .*Take the file away"
    ):
        Imagenet64(home)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"items": 0}, "imagenet64: items is 0; it has to be from 1 to"),
        ({"items": 44}, "imagenet64: items is 44; it has to be from 1 to 43"),
        ({"test_items": 11}, "imagenet64: test_items is 11; it has to be from 1 to 10"),
    ],
)
def test_refused_options(example: Path, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=sentence):
        Imagenet64(example, **options)
