"""What designs that learn nothing from calibration have in common."""

from __future__ import annotations

from copy import copy
from typing import Self

from shortlist.types import Array


class Uncalibrated:
    n_cal = 0
    alpha: float | None = None
    threshold: float | None = None

    def calibrate(self, probs: Array, labels: Array) -> Self:
        return copy(self)

    def at(self, alpha: float | None, threshold: float | None) -> Self:
        return copy(self)
