"""replacing: whole or not at all, on the disk before it counts, and nothing left beside it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from shortlist.system.files import replacing, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "x.txt"
    write_text(path, "old")
    with replacing(path) as fresh:
        fresh.write_text("new")
        assert path.read_text() == "old"
        assert fresh.parent == path.parent
    assert path.read_text() == "new"
    assert names(path.parent) == ["x.txt"]


@pytest.mark.parametrize("failure", [ZeroDivisionError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, failure: type[BaseException]) -> None:
    path = tmp_path / "x[1].db"  # no pattern
    path.write_text("old")

    def write() -> None:
        with replacing(path) as fresh:
            fresh.write_text("half")
            fresh.with_name(f"{fresh.name}-wal").write_text("half")  # as SQLite does
            raise failure

    with pytest.raises(failure):
        write()
    assert names(tmp_path) == ["x[1].db"]
    assert path.read_text() == "old"


def test_a_move_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_text(tmp_path / "x", "text")
    assert names(tmp_path) == ["x"]


def test_it_is_on_the_disk_before_it_is_moved_and_so_is_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "x", []

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        seen.append(("folder" if is_folder else "file", os.fstat(descriptor).st_size > 0, path.exists()))

    monkeypatch.setattr(os, "fsync", fsync)
    write_text(path, "text")
    assert [(what, moved) for what, _, moved in seen] == [("file", False), ("folder", True)]
    assert seen[0][1], "flushed before it was written"


def test_a_file_that_cannot_be_flushed_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(tmp_path / "x", "text")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_flushed_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")  # as some network file systems say
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write_text(tmp_path / "x", "text")
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_who_may_read_it(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    with replacing(path, mode=mode) as fresh:
        assert fresh.stat().st_mode & 0o777 == mode, "from its first byte on"
    assert path.stat().st_mode & 0o777 == mode


def test_two_threads_do_not_write_into_each_others_file(tmp_path: Path) -> None:
    path, both = tmp_path / "x", Barrier(2)

    def write(text: str) -> str:
        with replacing(path) as fresh:
            both.wait(timeout=30)
            fresh.write_text(text)
            both.wait(timeout=30)
            return fresh.read_text()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(write, ["a" * 1000, "b" * 2000])) == ["a" * 1000, "b" * 2000]
    assert path.read_text() in ("a" * 1000, "b" * 2000)
    assert names(tmp_path) == ["x"]


def killed_while_writing(path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        with replacing(path) as fresh:
            fresh.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)


def test_what_a_killed_writer_left_is_never_read_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    write_text(path, "old")
    killed_while_writing(path)
    assert path.read_text() == "old"
    assert len(names(tmp_path)) == 2
    for name in ("x.toml.new", "x.toml.new-wal", "y.toml.new"):  # as earlier versions named them; of another file
        (tmp_path / name).write_text("half")
    write_text(path, "new")
    assert len(names(tmp_path)) == 5, "another process may be writing it"
    write_text(path, "newer", alone=True)
    assert names(tmp_path) == ["x.toml", "y.toml.new"]
    assert path.read_text() == "newer"


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from shortlist.campaign.storage.store import Store
from shortlist.cli import main
from shortlist.system.files import write_npz, write_text
target = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
writers = {
    ".txt": lambda: write_text(target, "x" * 100_000),
    ".npz": lambda: write_npz(target, {"x": np.arange(100_000)}),
    ".db": lambda: Store.create(target, [f"item{i}" for i in range(50_000)], ["a", "b"], {"seed": 0}),
}
sys.argv = ["shortlist", *sys.argv[2:]]
main.__globals__["app"] = writers.get(target.suffix, main.__globals__["app"])
main()
"""


@pytest.mark.parametrize("ending", [".txt", ".npz", ".db"])
def test_a_disk_that_takes_no_more_is_said_of_the_file_and_leaves_nothing(tmp_path: Path, ending: str) -> None:
    """As if the disk were full: the system refuses to let the file grow."""
    target = tmp_path / f"file{ending}"
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(target)], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: {target}: "), ended.stderr
    assert ended.stderr.count("\n") == 1
    assert names(tmp_path) == []
