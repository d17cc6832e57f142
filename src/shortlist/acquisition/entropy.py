from __future__ import annotations

from dataclasses import dataclass

from shortlist.acquisition.method import Scored
from shortlist.rows import entropy
from shortlist.types import Array, Predictions


@dataclass(frozen=True)
class Entropy(Scored):
    """How unsure the model is: H(p) in nats.

    >>> import numpy as np
    >>> Entropy().select(np.array([[0.9, 0.1], [0.5, 0.5], [1.0, 0.0]]), n=2, rng=np.random.default_rng(0))
    array([1, 0])
    """

    short = "Ent"
    about = "Items are picked where the model’s probabilities are spread widest."

    def gains(self, batch: Predictions) -> Array:
        return entropy(batch)
