from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from shortlist.acquisition.method import Scored
from shortlist.rows import largest, second_largest
from shortlist.types import Array, Predictions


@dataclass(frozen=True)
class Margin(Scored):
    """1 − (p1 − p2): how close the second guess comes to the first.

    >>> import numpy as np
    >>> probs = np.array([[0.5, 0.1, 0.4], [0.45, 0.45, 0.1]])
    >>> Margin().select(probs, n=2, rng=np.random.default_rng(0))
    array([1, 0])
    """

    about = "Items are picked where the two most probable classes are closest."

    def gains(self, batch: Predictions) -> Array:
        first = largest(batch)
        return array_namespace(first).clip(1 - (first - second_largest(batch)), 0.0, None)
