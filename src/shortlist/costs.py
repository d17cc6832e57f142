"""What a stage costs: choosing one of so many options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from array_api_compat import array_namespace

from shortlist.probabilities import as_array
from shortlist.types import Array, CostModel, ShortlistError, check_numbers

Part = TypeVar("Part")


@dataclass(frozen=True)
class Bits:
    """log2 of the number of options: the paper's unit.

    >>> float(Bits()(8)), Bits()([1, 2, 4])
    (3.0, array([0., 1., 2.]))
    """

    def __call__(self, options: Array) -> Array:
        return _log2(options)


@dataclass(frozen=True)
class Linear:
    """So much for every option read.

    >>> float(Linear(0.5, start=1)(8))
    5.0
    """

    slope: float = 1.0
    start: float = 0.0

    def __post_init__(self) -> None:
        check_numbers("cost linear", slope=self.slope, start=self.start)
        _check_slope("linear", "slope", self.slope, self.start)
        if self.start < 0:
            raise ShortlistError(f"cost linear: start must be at least 0, got {self.start}")

    def __call__(self, options: Array) -> Array:
        return self.start + self.slope * _real(options)


@dataclass(frozen=True)
class Seconds:
    """Seconds of a person's time: a + b·log2(options). The defaults are the paper's user study.

    >>> study = Seconds.fit([4, 8, 16, 32], [69.4 / 20, 91.5 / 20, 116.9 / 20, 166.9 / 20])
    >>> round(study.a, 3), round(study.b, 3)
    (-0.005, 1.59)
    """

    a: float = 0.0
    b: float = 1.59

    def __post_init__(self) -> None:
        check_numbers("cost seconds", a=self.a, b=self.b)
        _check_slope("seconds", "b", self.b, self.a)

    def __call__(self, options: Array) -> Array:
        # a fitted line may dip below zero for lists shorter than any that was measured; time does not
        seconds = self.a + self.b * _log2(options)
        return array_namespace(seconds).clip(seconds, 0.0, None)

    @classmethod
    def fit(cls, options: Any, seconds: Any) -> Seconds:
        """Least squares over measured answers: how many options a stage showed, and how long it took.

        A stage's time can not fall with more options, so a line that would is replaced by the mean.

        >>> Seconds.fit([2, 2, 4, 4], [1.0, 2.0, 3.0, 4.0])
        Seconds(a=-0.5, b=2.0)
        """
        x, y = np.asarray(options, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise ShortlistError(f"seconds: need as many times as option counts, got {x.shape} and {y.shape}")
        if len(x) == 0 or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise ShortlistError("seconds: need at least one measured answer, and finite numbers only")
        if (x < 1).any() or (y < 0).any():
            raise ShortlistError("seconds: a stage shows at least one option and takes no negative time")
        bits = np.log2(x)
        spread = bits - bits.mean()
        total = float((spread**2).sum())
        b = max(0.0, float((spread * y).sum()) / total) if total > 0 else 0.0
        return cls(a=float(y.mean() - b * bits.mean()), b=b)


def _check_slope(name: str, field: str, slope: float, start: float) -> None:
    # theorem 1 holds for any cost that grows with the number of options, and only for those
    if not (np.isfinite(slope) and slope >= 0 and np.isfinite(start)):
        raise ShortlistError(f"cost {name}: {field} must be a finite number of at least 0, got {slope} (start {start})")


def _real(options: Array) -> Array:
    options = np.asarray(options) if isinstance(options, int | float) else as_array(options, "options")
    xp = array_namespace(options)
    if xp.isdtype(options.dtype, "real floating"):
        return options
    return xp.astype(options, xp.float64)


def _log2(options: Array) -> Array:
    real = _real(options)
    return array_namespace(real).log2(real)


# --- parts that a name stands for ------------------------------------------------------------------------------


class ByName(Generic[Part]):
    """A field of a dataclass that takes a part, or the name a recipe knows it by. The first part is the default.

    >>> @dataclass(frozen=True)
    ... class Query:
    ...     cost: ByName[CostModel] = COST
    >>> Query(), Query("seconds"), Query(Linear(2.0))
    (Query(cost=Bits()), Query(cost=Seconds(a=0.0, b=1.59)), Query(cost=Linear(slope=2.0, start=0.0)))
    """

    def __init__(self, field: str, *parts: Callable[[], Part]) -> None:
        self.field, self.default = field, parts[0]()
        self.parts = {part.__name__.lower(): part for part in parts}

    def __get__(self, holder: object | None, owner: type) -> Part:
        part: Part = self.default if holder is None else vars(holder)[self.field]
        return part

    def __set__(self, holder: object, part: Part | str) -> None:
        if isinstance(part, str) and part.lower() not in self.parts:
            raise ShortlistError(f"{self.field}: {part!r} is none of {', '.join(sorted(self.parts))}")
        if isinstance(part, type) or not (isinstance(part, str) or callable(part)):
            got = f"{part.__name__} is a class" if isinstance(part, type) else f"{part!r} is neither"
            names = ", ".join(sorted(self.parts))
            raise ShortlistError(f"{self.field}: {got}; give a name ({names}) or a part, such as {self.default!r}")
        vars(holder)[self.field] = self.parts[part.lower()]() if isinstance(part, str) else part


COST = ByName[CostModel]("cost", Bits, Linear, Seconds)
