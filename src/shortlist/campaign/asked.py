"""`asked.npz`: what the model said about the items of a round, so that any query design can be charged later."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from shortlist.types import Floats, Ints, ShortlistError


@dataclass(frozen=True)
class Asked:
    keys: npt.NDArray[np.str_]  # (n,) item keys
    items: Ints  # (n,) the campaign's item numbers
    probs: npt.NDArray[np.floating]  # (n, L), by class number
    calibration: npt.NDArray[np.bool_]  # (n,) D_cal
    prices: Floats  # (n,) what each was expected to cost when it was selected
    alpha: float  # of the round; NaN: none
    threshold: float
    alpha_before: float  # of the round before, with which D_cal was asked; NaN: none
    threshold_before: float
    ahead_items: Ints  # (m,) the next-ranked items
    ahead_probs: npt.NDArray[np.floating]  # (m, L)

    def write(self, path: Path) -> None:
        """All of it or nothing: beside its place first, then moved there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        with fresh.open("wb") as file:
            np.savez(file, **{name: getattr(self, name) for name in self.__dataclass_fields__})
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)

    @classmethod
    def read(cls, path: Path) -> Asked:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                arrays: dict[str, Any] = {name: found[name] for name in cls.__dataclass_fields__}
        except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, BadZipFile) as error:
            raise ShortlistError(f"{path}: cannot be read ({error}); put back a copy of the campaign") from None
        scalars = {name for name, kind in cls.__annotations__.items() if kind == "float"}
        arrays.update({name: float(arrays[name]) for name in scalars})
        return cls(**arrays)

    def widened(self, n_classes: int) -> Asked:
        """With columns of zeros for classes that were added since."""
        wider = {name: _padded(getattr(self, name), n_classes) for name in ("probs", "ahead_probs")}
        return replace(self, **wider)


def _padded(probs: Any, n_classes: int) -> Any:
    return np.pad(probs, ((0, 0), (0, n_classes - probs.shape[1])))
