from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace, device

from shortlist.acquisition.method import Scored
from shortlist.types import Array, Predictions


@dataclass(frozen=True)
class Margin(Scored):
    """1 − (p1 − p2): how close the second guess comes to the first.

    >>> import numpy as np
    >>> probs = np.array([[0.5, 0.1, 0.4], [0.45, 0.45, 0.1]])
    >>> Margin().select(probs, n=2, rng=np.random.default_rng(0))
    array([1, 0])
    """

    def gains(self, batch: Predictions) -> Array:
        xp = array_namespace(batch.probs)
        others = xp.asarray(batch.probs, copy=True)
        others[xp.arange(others.shape[0], device=device(others)), xp.argmax(others, axis=1)] = 0.0
        return xp.clip(1 - (xp.max(batch.probs, axis=1) - xp.max(others, axis=1)), 0.0, None)
