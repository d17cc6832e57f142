"""Cifar10 and Cifar100: the official layout, the long tail, every way a file can be wrong, and the real images."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.datasets import VARIABLE, data_folder
from shortlist.datasets.official.cifar import Cifar10, Cifar100
from shortlist.datasets.official.examples import write_example
from shortlist.recipes.parts import build
from shortlist.types import ShortlistError
from tests.datasets.official.python2 import dump

Cifar: TypeAlias = type[Cifar10] | type[Cifar100]
BOTH: list[Cifar] = [Cifar10, Cifar100]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[Cifar, Path]:
    folder = tmp_path_factory.mktemp("examples")
    return {kind: write_example(kind.layout.name, folder, items=300, test_items=50) for kind in BOTH}


def small(folder: Path, **changed: Any) -> Path:
    """CIFAR-100 of three training items and one test item, with some entries of `train` changed or taken out."""
    rows = np.arange(3 * 3072, dtype=np.uint32).astype(np.uint8).reshape(3, 3072)
    train: dict[str, Any] = {"data": rows, "fine_labels": [5, 99, 0], "coarse_labels": [1, 1, 1]} | changed
    write(folder / "train", {key: value for key, value in train.items() if value is not None})
    write(folder / "test", {"data": rows[:1], "fine_labels": [7]})
    write(folder / "meta", {"fine_label_names": [f"class {c}" for c in range(100)], "coarse_label_names": ["all"]})
    return folder


def write(path: Path, content: object) -> None:
    path.write_bytes(pickle.dumps(content, 4))


# --- what is read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_the_official_layout(examples: dict[Cifar, Path], kind: Cifar) -> None:
    data = kind(examples[kind])
    assert (data.name, data.kind, len(data.classes)) == (kind.layout.name, "images", kind.layout.n_classes)
    assert data.inputs.shape == (300, 32, 32, 3)
    assert data.inputs.dtype == np.uint8
    assert data.test_inputs is not None
    assert data.test_inputs.shape == (50, 32, 32, 3)
    assert data.keys[:2] == ("train/00000", "train/00001")
    assert data.classes[1] == "made-up 1"
    assert np.bincount(data.labels).tolist() == [300 // kind.layout.n_classes] * kind.layout.n_classes
    assert data.positions.tolist() == list(range(300))


def test_rows_are_planes_of_red_green_and_blue(tmp_path: Path) -> None:
    rows = np.zeros((3, 3072), np.uint8)
    rows[1, 0] = 10  # red of the first pixel
    rows[1, 1024 + 1] = 20  # green of the second pixel in the first line
    rows[1, 2048 + 32] = 30  # blue of the first pixel in the second line
    data = Cifar100(small(tmp_path, data=rows))
    assert data.inputs[1, 0, 0].tolist() == [10, 0, 0]
    assert data.inputs[1, 0, 1].tolist() == [0, 20, 0]
    assert data.inputs[1, 1, 0].tolist() == [0, 0, 30]
    assert data.inputs.sum() == 60
    assert data.labels.tolist() == [5, 99, 0]
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [7]
    assert data.classes[99] == "class 99"


def test_batches_follow_each_other(examples: dict[Cifar, Path]) -> None:
    data = Cifar10(examples[Cifar10])
    third: Any = pickle.loads((examples[Cifar10] / "data_batch_3").read_bytes(), encoding="bytes")
    assert data.labels[120:180].tolist() == third[b"labels"]
    assert (data.inputs[120:180].transpose(0, 3, 1, 2).reshape(60, 3072) == third[b"data"]).all()


@given(ratio=st.floats(1, 20), items=st.integers(1, 150))
def test_a_part_is_the_same_items_as_in_the_whole(examples: dict[Cifar, Path], ratio: float, items: int) -> None:
    whole = Cifar10(examples[Cifar10])
    tail = Cifar10(examples[Cifar10], imbalance=ratio)
    few = Cifar10(examples[Cifar10], imbalance=ratio, items=min(items, len(tail)))
    assert tail.keys[: len(few)] == few.keys  # so that a campaign may grow by asking for more items
    for part in (tail, few):
        assert part.keys == tuple(whole.keys[i] for i in part.positions)
        assert (part.labels == whole.labels[part.positions]).all()
        assert (part.inputs == whole.inputs[part.positions]).all()
        assert part.classes == whole.classes
        assert len(part.test_labels) == 50  # type: ignore[arg-type]
    counts = np.bincount(tail.labels, minlength=10)
    assert counts.tolist() == [int(30 * ratio ** (-c / 9)) for c in range(10)]


def test_first_items_of_both_splits(examples: dict[Cifar, Path]) -> None:
    data = Cifar100(examples[Cifar100], items=7, test_items=3)
    assert data.keys == tuple(f"train/{i:05d}" for i in range(7))
    assert data.test_labels is not None
    assert len(data.test_labels) == 3


def test_spec_says_what_was_asked_for_and_no_more(examples: dict[Cifar, Path]) -> None:
    folder = str(examples[Cifar100])
    assert Cifar100(folder).spec() == {"name": "cifar100", "folder": folder}
    options: dict[str, Any] = {"imbalance": 2.5, "items": 20, "test_items": 5}
    data = Cifar100(folder, **options)
    assert data.spec() == {"name": "cifar100", "folder": folder, **options}
    assert build("datasets", data.spec(), "dataset").keys == data.keys


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in BOTH for name in kind.layout.files])
def test_a_missing_file_is_named_with_what_to_put_where(tmp_path: Path, kind: Cifar, name: str) -> None:
    home = write_example(kind.layout.name, tmp_path, items=10, test_items=10)
    (home / name).unlink()
    with pytest.raises(ShortlistError) as refused:
        kind(home)
    message = str(refused.value)
    assert f"{kind.layout.name}: {home}/{name} is missing; get {kind.layout.archive} (md5 " in message
    assert kind.layout.md5 in message
    assert "from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it" in message
    assert f"{home} holds {', '.join(kind.layout.files)}" in message


ROWS = np.zeros((3, 3072), np.uint8)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"data": None}, "has no entry 'data'"),
        ({"fine_labels": None}, "has no entry 'fine_labels'"),
        ({"data": [1, 2, 3]}, "'data' is no array"),
        ({"data": ROWS[:, :-1]}, r"'data' is uint8 \(3, 3071\) instead of uint8 \(n, 3072\)"),
        ({"data": ROWS.ravel()}, r"'data' is uint8 \(9216,\) instead of"),
        ({"data": ROWS[:0], "fine_labels": []}, r"'data' is uint8 \(0, 3072\) instead of"),
        ({"data": ROWS.astype(np.int64)}, r"'data' is int64 \(3, 3072\) instead of"),
        ({"data": ROWS[:2]}, "has 2 images but 3 labels"),
        ({"fine_labels": [1, 100, 2]}, r"label 100 in row 1 \(counting from 0\) is not in 0\.\.99"),
        ({"fine_labels": [1, 2, -1]}, r"label -1 in row 2 \(counting from 0\) is not in 0\.\.99"),
        ({"fine_labels": [1, "2", 3]}, "'fine_labels' is no list of whole numbers"),
        ({"fine_labels": 3}, "'fine_labels' is no list of whole numbers"),
    ],
)
def test_a_broken_batch(tmp_path: Path, changed: dict[str, Any], sentence: str) -> None:
    assert len(Cifar100(small(tmp_path))) == 3
    small(tmp_path, **changed)
    with pytest.raises(
        ShortlistError, match=rf"/train: {sentence}.*; get cifar-100-python\.tar\.gz .* unpack it again"
    ):
        Cifar100(tmp_path)


@pytest.mark.parametrize(
    ("meta", "sentence"),
    [
        (["a"], "holds a list instead of a dictionary"),
        ({}, "has no entry 'fine_label_names'"),
        ({"fine_label_names": "abc"}, "'fine_label_names' is no list of names"),
        ({"fine_label_names": [1] * 100}, "'fine_label_names' is no list of names"),
        ({"fine_label_names": ["a", "b"]}, "'fine_label_names' has 2 names instead of 100"),
    ],
)
def test_broken_names(tmp_path: Path, meta: object, sentence: str) -> None:
    write(small(tmp_path) / "meta", meta)
    with pytest.raises(ShortlistError, match=rf"/meta: {sentence}; get cifar-100-python\.tar\.gz"):
        Cifar100(tmp_path)


def test_an_array_that_was_never_filled(tmp_path: Path) -> None:
    empty = b"\x80\x02}(U\x04datacnumpy\nndarray\n)RU\x0bfine_labels]u."
    (small(tmp_path) / "train").write_bytes(empty)
    with pytest.raises(ShortlistError, match="/train: 'data' is no array"):
        Cifar100(tmp_path)


@pytest.mark.parametrize("name", ["train", "test", "meta"])
def test_a_truncated_file(tmp_path: Path, name: str) -> None:
    home = write_example("cifar100", tmp_path, items=10, test_items=10)
    whole = (home / name).read_bytes()
    (home / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ShortlistError, match=rf"/{name}: cannot be unpickled \(.*unpack the official archive again"):
        Cifar100(home)


class Harm:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("name", ["train", "test", "meta"])
def test_a_file_that_would_run_code_does_not(tmp_path: Path, name: str) -> None:
    marker = tmp_path / "marker"
    write(small(tmp_path) / name, {"data": Harm(marker), "fine_label_names": Harm(marker)})
    with pytest.raises(ShortlistError, match=rf"/{name}: asks for posix\.system, which no official file does"):
        Cifar100(tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"items": 0}, "cifar10: items is 0; it has to be from 1 to 300"),
        ({"items": 301}, "cifar10: items is 301; it has to be from 1 to 300"),
        ({"imbalance": 1e9, "items": 38}, r"cifar10: items is 38; it has to be from 1 to 3\d,"),
        ({"test_items": -1}, "cifar10: test_items is -1; it has to be from 1 to 50"),
        ({"imbalance": 0.5}, "long_tail: ratio is 0.5; it has to be at least 1"),
    ],
)
def test_refused_options(examples: dict[Cifar, Path], options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShortlistError, match=sentence):
        Cifar10(examples[Cifar10], **options)


def test_names_that_are_no_utf_8_are_still_names(tmp_path: Path) -> None:
    names = [f"class {c}".encode() for c in range(99)] + [b"caf\xe9"]
    (small(tmp_path) / "meta").write_bytes(dump({b"fine_label_names": names}))
    assert Cifar100(tmp_path).classes[99] == "caf\ufffd"


# --- the real images -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Path:
    if not os.environ.get(VARIABLE) or not data_folder("cifar100").is_dir():
        pytest.skip(f"set {VARIABLE} to a folder that holds cifar-100-python/ to read the real images")
    return data_folder("cifar100")


@pytest.mark.data
def test_the_real_images(real: Path) -> None:
    started = perf_counter()
    data = Cifar100(real)
    seconds = perf_counter() - started
    assert data.test_inputs is not None
    assert data.test_labels is not None
    assert (data.inputs.shape, data.test_inputs.shape) == ((50_000, 32, 32, 3), (10_000, 32, 32, 3))
    assert np.bincount(data.labels).tolist() == [500] * 100
    assert np.bincount(data.test_labels).tolist() == [100] * 100
    assert (data.classes[0], data.classes[99]) == ("apple", "worm")
    assert data.classes[data.labels[0]] == "cattle"
    assert seconds < 5  # 0.3 to 0.7 s on a quiet machine


@pytest.mark.data
@pytest.mark.parametrize(("ratio", "total"), [(3, 30_324), (6, 23_266), (10, 19_573)])
def test_the_real_long_tail(real: Path, ratio: int, total: int) -> None:
    data = Cifar100(real, imbalance=ratio)
    assert len(data) == total
    assert np.bincount(data.labels)[[0, 99]].tolist() == [500, 500 // ratio]


@pytest.mark.data
def test_human_labels_are_in_the_official_order(real: Path) -> None:
    path = real.parent / "cifar100n" / "human_labels.npz"
    if not path.is_file():
        pytest.skip(f"{VARIABLE} names no folder with cifar100n/human_labels.npz")
    noisy = np.load(path)["noisy"].astype(np.int64)
    whole, tail = Cifar100(real), Cifar100(real, imbalance=10)
    assert np.mean(noisy != whole.labels) == pytest.approx(0.402, abs=5e-4)  # in any other order, 0.99
    assert np.mean(np.roll(noisy, 1) != whole.labels) > 0.98
    of_tail = noisy[tail.positions]
    assert of_tail.shape == tail.labels.shape
    assert np.mean(of_tail != tail.labels) == pytest.approx(0.40, abs=0.05)
    assert (whole.labels[tail.positions] == tail.labels).all()
