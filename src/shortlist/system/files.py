"""The atomic write: a file of text or of arrays is there whole or not at all, whatever stops its writer."""

from __future__ import annotations

import fcntl
import math
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortlist.types import ShortlistError


@contextmanager
def replacing(path: Path, *, mode: int = 0o666, alone: bool = False) -> Iterator[Path]:
    """A fresh file beside `path`, to be written inside `with`; after it, the file is on the disk and takes that place.

    A failure leaves what was there before. Several processes may write the same file at once: each has a fresh file of
    its own, and the last one stays. Where only one can, because it holds a lock, `alone` removes what killed processes
    left behind. `mode` are the permissions, less the umask.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "labels.csv") as fresh:
    ...         _ = fresh.write_text("key,label")
    ...     [path.name for path in Path(folder).iterdir()]
    ['labels.csv']
    """
    if alone:
        for left in path.parent.glob(f"{escape(path.name)}*.new*"):  # X.new, too, as earlier versions named it
            left.unlink(missing_ok=True)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))  # SQLite's files beside it take its mode
        yield fresh
        _flush(fresh, os.O_RDWR)
        fresh.replace(path)
    except BaseException as error:
        for part in path.parent.glob(f"{escape(fresh.name)}*"):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, fresh, str(fresh)):
            error.filename, error.filename2 = str(path), None  # a full disk names no file, or the one that is gone
        raise
    with suppress(OSError):  # the move has happened; not every system can flush a folder
        _flush(path.parent, os.O_RDONLY)


@contextmanager
def locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold the lock that is the file `path`, or refuse in these words; it ends with the process that holds it."""
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ShortlistError(refusal) from None
        yield


def write_text(path: Path, text: str, *, alone: bool = False) -> None:
    """A whole file of text in UTF-8; its folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, alone=alone) as fresh:
        fresh.write_text(text, "utf-8")


def _flush(path: Path, how: int) -> None:
    descriptor = os.open(path, how)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- arrays in an .npz file: read only if they are whole ----------------------------------------------------------


def write_npz(path: Path, arrays: Mapping[str, npt.NDArray[Any]], *, alone: bool = False) -> None:
    """Replace the file; a process that reads meanwhile has the old one or the new one. `alone`: see `replacing`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    named: dict[str, Any] = dict(arrays)
    with replacing(path, alone=alone) as fresh, fresh.open("wb") as file:
        np.savez(file, **named)


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """None where there is no file, or one that is broken; the checksums inside tell.

    >>> read_npz(Path("no-such-file.npz")) is None
    True
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        return None


@dataclass(frozen=True)
class Stored:
    """An array of an .npz file that `write_npz` wrote, of which only the rows that are asked for are read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_npz(Path(folder) / "a.npz", {"probs": np.eye(3), "items": np.arange(3)})
    ...     Stored.find(Path(folder) / "a.npz", "probs").rows(1, 2)
    array([[0., 1., 0.]])
    """

    path: Path
    start: int  # where in the file its first row begins
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def find(cls, path: Path, name: str) -> Stored:
        with path.open("rb") as file, zipfile.ZipFile(file) as members:
            member = members.getinfo(f"{name}.npy")
            file.seek(member.header_offset + 26)
            file.seek(int.from_bytes(file.read(2), "little") + int.from_bytes(file.read(2), "little"), os.SEEK_CUR)
            if np.lib.format.read_magic(file) != (1, 0) or member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{path}: {name} is not stored as it is")
            shape, by_column, dtype = np.lib.format.read_array_header_1_0(file)
            if by_column or dtype.hasobject:
                raise ValueError(f"{path}: {name} is not stored row by row")
            return cls(path, file.tell(), shape, dtype)

    def rows(self, begin: int, end: int) -> npt.NDArray[Any]:
        """Those from `begin` to `end`; refused where the file is shorter than it was."""
        each = self.shape[1:]
        size = self.dtype.itemsize * math.prod(each)
        end = min(end, self.shape[0])
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.start + begin * size)
            return np.frombuffer(file.read((end - begin) * size), self.dtype).reshape(end - begin, *each)


def keep_only(path: Path) -> None:
    """Remove the files of this name from folders beside its own that are numbered lower.

    Nothing is removed where its own folder's name is not a number.
    """
    number = path.parent.name
    for other in path.parent.parent.glob(f"*/{path.name}") if number.isdecimal() else ():
        if other.parent.name.isdecimal() and int(other.parent.name) < int(number):
            other.unlink(missing_ok=True)


def read_made_from(path: Path, wanted: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]] | None:
    """The other arrays of a file that holds these; None where it does not."""
    kept = read_npz(path)
    if kept is None or not all(name in kept and np.array_equal(kept.pop(name), wanted[name]) for name in wanted):
        return None
    return kept
