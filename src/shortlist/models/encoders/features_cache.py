"""Features that took long to compute, kept on disk under a digest of what they were made from."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from shortlist.system.digests import digest
from shortlist.system.files import read_npz, write_npz
from shortlist.types import Dataset, ShortlistError

VARIABLE = "SHORTLIST_CACHE"


def cached(
    made_from: Sequence[Any],  # everything the arrays depend on: what `digest` takes
    compute: Callable[[], Mapping[str, npt.NDArray[Any]]],
    folder: str | Path | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """The arrays that `compute` gives, from the folder if they were computed before.

    Written whole or not at all; a file that is broken all the same is computed again. Several processes may ask for
    the same at once.

    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = cached(["squares", 3], lambda: {"squares": np.arange(3) ** 2}, folder)
    ...     again = cached(["squares", 3], lambda: {}, folder)
    >>> again["squares"]
    array([0, 1, 4])
    """
    path = cache_folder(folder) / f"{digest(*made_from)}.npz"
    stored = read_npz(path)
    if stored is not None:
        return stored
    _refuse_unwritable(path.parent)  # before the work, not after it
    arrays = dict(compute())
    write_npz(path, arrays)
    return arrays


def dataset_digest(dataset: Dataset) -> str:
    """What a dataset's features depend on: its keys and inputs, training and test, and not its labels.

    >>> from types import SimpleNamespace
    >>> letters = SimpleNamespace(kind="texts", keys=("a", "b"), inputs=["alpha", "beta"], test_inputs=None)
    >>> dataset_digest(letters)
    'e93f2a1921fb01d992fb8595d5590e88'
    """
    return digest(dataset.kind, dataset.keys, dataset.inputs, dataset.test_inputs)


def cache_folder(folder: str | Path | None = None) -> Path:
    """The folder of cached files: `folder`, else $SHORTLIST_CACHE, else `shortlist` among this platform's caches."""
    named = folder if folder is not None else os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else _platform_caches() / "shortlist"


def _platform_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _refuse_unwritable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ShortlistError(f"cache: {folder} cannot be made: {error.strerror}; set {VARIABLE} to another") from error
    if not os.access(folder, os.W_OK):
        raise ShortlistError(f"cache: {folder} cannot be written to; set {VARIABLE} to another folder")
