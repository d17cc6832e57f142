from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from shortlist.acquisition.method import Scored
from shortlist.types import Array, Predictions


@dataclass(frozen=True)
class Entropy(Scored):
    """How unsure the model is: H(p) in nats.

    >>> import numpy as np
    >>> Entropy().select(np.array([[0.9, 0.1], [0.5, 0.5], [1.0, 0.0]]), n=2, rng=np.random.default_rng(0))
    array([1, 0])
    """

    def gains(self, batch: Predictions) -> Array:
        p = batch.probs
        xp = array_namespace(p)
        with np.errstate(divide="ignore", invalid="ignore"):
            h = -xp.vecdot(p, xp.log(p))
        if bool(xp.any(xp.isnan(h))):  # 0·log 0 = 0: any positive number inside the logarithm gives just that
            h = -xp.vecdot(p, xp.log(xp.clip(p, xp.finfo(p.dtype).smallest_normal, None)))
        return xp.clip(h, 0.0, None)  # a certain row may come out at −1e-8
