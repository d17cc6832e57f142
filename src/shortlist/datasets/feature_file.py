"""Items from the rows of a NumPy file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.datasets.arrays import Arrays, as_cells, described, refuse_not_finite
from shortlist.datasets.classes import Names
from shortlist.types import ShortlistError

Values: TypeAlias = str | Path | Iterable[Any] | None  # a file, or the values themselves


class FeatureFile(Arrays):
    """One item a row of an .npy file of numbers (N, D), which is read where it lies and not copied.

    `keys` are a text file, one a line, or the keys themselves; without them an item's key is its row. `labels` are a
    text file of class names, empty where not known, an .npy file of whole numbers, -1 where not known, or the values
    themselves. `classes` are a file of names or the names.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "x.npy", np.eye(3))
    ...     dots = FeatureFile(Path(folder) / "x.npy", keys=["a", "b", "c"], classes=["red", "blue"])
    ...     dots.keys, dots.labels, dots.inputs.shape
    (('a', 'b', 'c'), array([-1, -1, -1]), (3, 3))
    """

    def __init__(
        self,
        path: str | Path,
        *,
        keys: Values = None,
        labels: Values = None,
        classes: Iterable[Any] | str | Path | None = None,
    ) -> None:
        rows = read_array(Path(path))
        if rows.ndim != 2 or rows.dtype.kind not in "biuf" or not rows.size:
            raise ShortlistError(f"{path}: {described(rows)} is not numbers (N, D), one row an item")
        refuse_not_finite(rows, field=str(path))
        named, cells = keys_of(keys, Path(path), len(rows)), labels_of(labels, Path(path), len(rows))
        super().__init__(rows, cells, classes=classes, keys=named, name="feature_file")
        self._rebuilt_from(
            path=path,
            keys=_place(keys, named),
            labels=_place(labels, cells),
            classes=None if classes is None else list(self.classes),
        )


def read_array(path: Path) -> npt.NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such file") from None
    except Exception as error:  # NumPy raises many types for a header that makes no sense; each means the same here
        why = str(error)[:300] or type(error).__name__
        raise ShortlistError(f"{path}: cannot be read as .npy: {why}") from None
    if not isinstance(array, np.ndarray):
        raise ShortlistError(f"{path}: holds several arrays; save the one to use as .npy")
    return np.asarray(array)


def keys_of(keys: Values, features: Path, n: int) -> list[str] | None:
    if not isinstance(keys, str | Path):
        return None if keys is None else [str(key) for key in keys]
    listed = Names.read(keys)
    refuse_other_length(listed, features, n, what="key")
    return list(listed.distinct("key"))


def labels_of(labels: Values, features: Path, n: int) -> Any | None:
    if not isinstance(labels, str | Path):
        return None if labels is None else as_cells(labels, field="labels")
    if Path(labels).suffix == ".npy":
        return as_cells(read_array(Path(labels)), field=str(labels))
    listed = Names.read(labels)
    # empty lines at the end, which a file of names does not count, are labels that are not known
    padded = replace(listed, names=listed.names + ("",) * (n - len(listed.names)))
    refuse_other_length(padded, features, n, what="label")
    return [name or None for name in padded.names]


def refuse_other_length(listed: Names, features: Path, n: int, *, what: str) -> None:
    if len(listed.names) > n:
        more = f"{listed.at(n)}: {listed.names[n]!r}, and what follows, has no features"
        raise ShortlistError(f"{more}: there are {len(listed.names)} {what}s, and {features} has {n} rows")
    if len(listed.names) < n:
        raise ShortlistError(f"{listed.place}: {len(listed.names)} {what}s, but {features} has {n} rows")


def _place(source: Values, values: Any | None) -> Any | None:
    """What a recipe says: the file, or the values; "" for a name that is not known."""
    if isinstance(source, str | Path):
        return str(source)
    if isinstance(values, np.ndarray):
        return values.tolist()
    return None if values is None else ["" if value is None else value for value in values]
