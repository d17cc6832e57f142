"""Arrays in a file that is there whole or not at all."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def write(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Beside its place first, then moved there: whoever reads meanwhile finds the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")  # one for each process that writes the same
    named: dict[str, Any] = dict(arrays)
    try:
        with temporary.open("wb") as file:
            np.savez(file, **named)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """None where there is no file, or one that is broken; the checksums inside tell.

    >>> read(Path("no-such-file.npz")) is None
    True
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        return None


def keep_only(path: Path) -> None:
    """Of the folders beside this file's whose names are numbers, the files of its name in lower ones go.

    Nothing goes where its own folder's name is no number.
    """
    number = path.parent.name
    for other in path.parent.parent.glob(f"*/{path.name}") if number.isdecimal() else ():
        if other.parent.name.isdecimal() and int(other.parent.name) < int(number):
            other.unlink(missing_ok=True)


def read_made_from(path: Path, wanted: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]] | None:
    """The other arrays of a file that holds these; None where it does not."""
    kept = read(path)
    if kept is None or not all(name in kept and np.array_equal(kept.pop(name), wanted[name]) for name in wanted):
        return None
    return kept
