from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from shortlist.acquisition.method import Scored
from shortlist.rows import largest
from shortlist.types import Array, Predictions


@dataclass(frozen=True)
class LeastConfident(Scored):
    """1 − p1: how far the best guess is from certain.

    >>> import numpy as np
    >>> LeastConfident().select(np.array([[0.9, 0.1], [0.5, 0.5]]), n=1, rng=np.random.default_rng(0))
    array([1])
    """

    short = "LC"
    about = "Items are picked where the most probable class is least probable."

    def gains(self, batch: Predictions) -> Array:
        first = largest(batch)
        return array_namespace(first).clip(1 - first, 0.0, None)
