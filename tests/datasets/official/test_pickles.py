"""Pickles: what official files hold can be read, however it was written; everything else is refused and not run."""

from __future__ import annotations

import builtins
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.datasets.official import cifar
from shortlist.datasets.official.cifar import Stored, load
from shortlist.types import ShortlistError
from tests.datasets.official.python2 import dump

numbers = st.integers(-(2**31), 2**31 - 1)
contents = st.recursive(
    numbers | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.binary(max_size=5), inner, max_size=5),
    max_leaves=20,
)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "train"
    path.write_bytes(content)
    return path


@given(content=contents)
def test_what_is_written_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    path = written(tmp_path_factory.mktemp("pickles"), dump(content))
    assert load(path) == content
    assert pickle.loads(dump(content), encoding="bytes") == content


def test_arrays_are_written_as_python_2_wrote_them(tmp_path: Path) -> None:
    rows = np.arange(600, dtype=np.uint8).reshape(2, 300)
    content = dump({b"data": rows})
    assert content[:2] == b"\x80\x02"
    assert (pickle.loads(content, encoding="bytes")[b"data"] == rows).all()
    assert (load(written(tmp_path, content))[b"data"].values == rows).all()


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", [">i8", "<i4", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_python_3_in_every_protocol(tmp_path: Path, protocol: int, kind: str, order: Any) -> None:
    rows = np.asarray(np.arange(6).reshape(2, 3), kind, order=order)
    content = pickle.dumps({"data": rows, "labels": [1, 2], "raw": b"\x00\xff"}, protocol)
    read = load(written(tmp_path, content))
    assert isinstance(read["data"], Stored)
    assert read["data"].values is not None
    assert read["data"].values.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (read["labels"], read["raw"]) == ([1, 2], b"\x00\xff")


def test_both_homes_of_numpys_functions(tmp_path: Path) -> None:
    new = pickle.dumps(np.ones((1, 2), np.uint8), 2)
    old = new.replace(b"numpy._core.", b"numpy.core.")
    assert old != new
    for content in (old, new):
        assert load(written(tmp_path, content)).values.tolist() == [[1, 1]]


# --- what must not happen --------------------------------------------------------------------------------------


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_no_code_is_run(tmp_path: Path, protocol: int) -> None:
    marker = tmp_path / "marker"
    content = pickle.dumps({"data": Calls(os.system, f"touch {marker}")}, protocol)
    pickle.loads(content)
    assert marker.exists(), "the pickle has to be one that does harm"
    marker.unlink()
    path = written(tmp_path, content)
    with pytest.raises(ShortlistError) as refused:
        load(path)
    assert f"{path}: asks for posix.system, which no official file does" in str(refused.value)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        (Calls(builtins.eval, "1"), "eval"),
        (Calls(getattr, "a", "b"), "getattr"),
        (OrderedDict(a=1), "collections.OrderedDict"),
        (Path("x"), "Path"),
        (np.float64(1), "numpy._core.multiarray.scalar"),
        (np.load, "numpy.load"),
    ],
)
def test_nothing_else_is_looked_up(tmp_path: Path, content: object, asked: str) -> None:
    with pytest.raises(ShortlistError, match=rf"train: asks for .*{asked}, .*unpack the official archive again"):
        load(written(tmp_path, pickle.dumps(content, 4)))


@pytest.mark.parametrize("stand_in", cifar.STAND_INS)
def test_a_stand_in_cannot_be_changed_from_within(tmp_path: Path, stand_in: tuple[str, str]) -> None:
    before = {name: dict(vars(kind)) for name, kind in cifar.STAND_INS.items()}
    named = f"c{stand_in[0]}\n{stand_in[1]}\n".encode()
    for state in (b"}U\x06valuesK\x01s", b"N}U\x06valuesK\x01s\x86"):  # a __dict__, and what __slots__ would hold
        with pytest.raises(ShortlistError, match="cannot be unpickled"):
            load(written(tmp_path, b"\x80\x02" + named + state + b"b."))
    assert {name: dict(vars(kind)) for name, kind in cifar.STAND_INS.items()} == before


@pytest.mark.parametrize("kind", ["O", "f8", "U3", "u1,i4"])
def test_other_arrays_are_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ShortlistError, match=r"train: cannot be unpickled \(an array of type .*; unpack the official"):
        load(written(tmp_path, pickle.dumps(np.zeros(2, kind), 4)))


def test_every_truncated_file_is_refused_by_name(tmp_path: Path) -> None:
    whole = dump({b"data": np.ones((2, 3), np.uint8), b"labels": [1, 2], b"batch_label": b"made up"})
    for length in range(len(whole)):
        with pytest.raises(ShortlistError, match=r"train: cannot be unpickled"):
            load(written(tmp_path, whole[:length]))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"cannot be read \(Is a directory\)"):
        load(tmp_path)


def test_what_is_in_no_cifar_file_is_not_written() -> None:
    with pytest.raises(TypeError, match="float is in no CIFAR file"):
        dump([0.5])
