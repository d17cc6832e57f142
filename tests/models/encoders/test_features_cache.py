from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from shortlist.models.encoders.features_cache import cache_folder, cached, dataset_digest
from shortlist.system.digests import digest
from shortlist.system.files import keep_only, read_npz, write_npz
from shortlist.types import ShortlistError
from tests.models.toys import Toy


class Counted:
    """Says how often it was asked."""

    def __init__(self, **arrays: Any) -> None:
        self.arrays, self.asked = arrays, 0

    def __call__(self) -> dict[str, Any]:
        self.asked += 1
        return self.arrays


def test_what_was_computed_once_is_read_again(tmp_path: Path) -> None:
    work = Counted(train=np.arange(6.0, dtype=np.float32).reshape(3, 2), test=np.ones((1, 2), np.float32))
    first, again = (cached(["encoder", 224], work, tmp_path) for _ in range(2))
    assert work.asked == 1
    assert list(again) == ["train", "test"]
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])
        assert again[name].dtype == np.float32
    cached(["encoder", 256], work, tmp_path)
    assert work.asked == 2
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.parametrize("harm", ["empty", "cut", "flipped", "text", "object"])
def test_a_broken_file_is_computed_again(tmp_path: Path, harm: str) -> None:
    work = Counted(train=np.arange(4096.0))
    cached(["x"], work, tmp_path)
    (path,) = tmp_path.iterdir()
    raw = path.read_bytes()
    if harm == "object":
        np.savez(path, train=np.array([{}], object))  # a pickle, which is never read
    else:
        flipped = raw[:9000] + bytes([raw[9000] ^ 1]) + raw[9001:]
        path.write_bytes({"empty": b"", "cut": raw[:9000], "flipped": flipped, "text": b"nonsense"}[harm])
    again = cached(["x"], work, tmp_path)
    assert work.asked == 2
    np.testing.assert_array_equal(again["train"], np.arange(4096.0))
    cached(["x"], work, tmp_path)
    assert work.asked == 2


def test_work_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails() -> Any:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        cached(["x"], fails, tmp_path)
    assert not list(tmp_path.iterdir())


WHOLE = 50_000_000  # bytes


def stopped_while_writing(writer: subprocess.Popen[bytes], folder: Path) -> Path:
    """The file that the process was in the middle of when it was stopped."""
    for _ in range(10_000):
        time.sleep(0.001)
        if not any(part.stat().st_size for part in folder.glob("*.new")):
            continue
        os.kill(writer.pid, signal.SIGSTOP)
        _, status = os.waitpid(writer.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        for part in folder.glob("*.new"):
            if 0 < part.stat().st_size < WHOLE:
                return part
        os.kill(writer.pid, signal.SIGCONT)  # it was between two files
    raise AssertionError("nothing was being written")


@pytest.mark.parametrize("there", [False, True])
def test_a_killed_writer_leaves_nothing_that_is_read(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "x.npz"
    if there:
        write_npz(path, {"x": np.ones(WHOLE, np.uint8)})
    script = (
        "import sys; import numpy as np; from shortlist.system.files import write_npz; from pathlib import Path\n"
        f"while True: write_npz(Path(sys.argv[1]), {{'x': np.ones({WHOLE}, np.uint8)}})"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(path)]) as writer:
        try:
            part = stopped_while_writing(writer, tmp_path)
        finally:
            writer.kill()
    assert read_npz(part) is None
    kept = read_npz(path)
    assert kept is not None or not there
    if kept is not None:  # of the process, if it had finished one before
        assert kept["x"].shape == (WHOLE,)
        assert kept["x"].all()


def test_of_numbered_folders_only_the_last_ones_file_is_kept(tmp_path: Path) -> None:
    for name in ("002", "999", "1000", "1001", "best", "2nd"):
        write_npz(tmp_path / name / "x.npz", {"x": np.zeros(1)})
        write_npz(tmp_path / name / "y.npz", {"x": np.zeros(1)})
    keep_only(tmp_path / "best" / "x.npz")
    assert len(list(tmp_path.glob("*/x.npz"))) == 6
    keep_only(tmp_path / "1000" / "x.npz")
    assert {path.parent.name for path in tmp_path.glob("*/x.npz")} == {"1000", "1001", "best", "2nd"}
    assert len(list(tmp_path.glob("*/y.npz"))) == 6


def test_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHORTLIST_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    platforms = {"linux": tmp_path / "xdg", "win32": tmp_path / "local", "darwin": Path.home() / "Library" / "Caches"}
    for name, folder in platforms.items():
        monkeypatch.setattr(sys, "platform", name)
        assert cache_folder() == folder / "shortlist"
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    assert cache_folder(tmp_path / "given") == tmp_path / "given"


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    work = Counted()
    with pytest.raises(ShortlistError, match=r"cache: .*file.inside cannot be made: .*; set SHORTLIST_CACHE"):
        cached(["x"], work, tmp_path / "file" / "inside")
    assert work.asked == 0


def test_a_folder_without_permission_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    work = Counted()
    with pytest.raises(ShortlistError, match="cannot be written to; set SHORTLIST_CACHE to another folder"):
        cached(["x"], work, tmp_path)
    assert work.asked == 0


IMAGES = np.arange(2 * 4 * 4, dtype=np.uint8).reshape(2, 4, 4)


def toy(**changes: Any) -> Toy:
    given: dict[str, Any] = {"kind": "images", "inputs": IMAGES, "labels": np.array([0, 1]), "keys": ("a", "b")}
    return Toy(**{**given, **changes})


def test_a_dataset_is_its_keys_and_inputs() -> None:
    same = dataset_digest(toy())
    assert dataset_digest(toy(labels=np.array([1, 1]), name="renamed")) == same
    assert dataset_digest(toy(inputs=IMAGES.copy(order="F"))) == same
    others = [
        toy(keys=("a", "c")),
        toy(inputs=IMAGES[::-1]),
        toy(inputs=IMAGES.reshape(2, 2, 8)),
        toy(inputs=IMAGES.view(np.int8)),
        toy(test_inputs=IMAGES),
    ]
    assert len({same, *map(dataset_digest, others)}) == 6


def test_texts_and_sparse_features_count_by_their_content() -> None:
    texts = [["ab", "c"], ["a", "bc"], ["abc", ""], np.array(["ab", "d"], object)]
    assert len({digest(t) for t in texts}) == 4
    assert digest(["ab", "c"]) == digest(np.array(["ab", "c"], object)) == digest(np.array(["ab", "c"]))
    assert digest("\ud800") != digest("?")  # half a pair of surrogates, as broken files have them
    one, other = sparse.csr_array(np.eye(3)), sparse.csr_array(np.diag([1.0, 1.0, 2.0]))
    assert digest(one) == digest(sparse.csc_array(np.eye(3))) != digest(other)


def test_a_large_array_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = digest(np.arange(1000).reshape(100, 10))
    monkeypatch.setattr("shortlist.system.digests.BLOCK", 7 * 80)
    assert digest(np.arange(1000).reshape(100, 10)) == whole
    assert len({digest(np.array(5)), digest(np.array([5])), digest(np.empty((0, 3))), digest(np.empty((0, 4)))}) == 4
