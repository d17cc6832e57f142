from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from shortlist.acquisition.geometry.k_means import seeds
from shortlist.acquisition.geometry.points import Dense, Points
from shortlist.acquisition.method import Sequential, Value, best
from shortlist.probabilities import first_true
from shortlist.types import Array, Ints, Pool, Rng, ShortlistError


@dataclass(frozen=True)
class Saal(Sequential):
    """Where the loss of the model's own answer grows most when its parameters are moved a little.

    The model gives those losses (`perturbed_loss`); the highest are taken. With `diversity`, k-means++ over them:
    first the highest, then each next one drawn by its squared difference D² to the nearest chosen; its gain is D²/ΣD².

    >>> import numpy as np
    >>> losses = np.array([0.1, 2.0, 1.9, 0.5])
    >>> Saal().select(None, losses=losses, n=3, rng=np.random.default_rng(0))
    array([1, 2, 3])
    >>> Saal(diversity=True).select(None, losses=losses, n=3, rng=np.random.default_rng(0))
    array([1, 3, 0])
    """

    diversity: bool = False

    short = "SAAL"
    about = "Items are picked whose loss rises most when the model is shaken."
    needs = frozenset({"losses"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        losses: Array = pool.losses
        if bool((negative := losses < 0).any()):
            item = first_true(negative)
            raise ShortlistError(f"{self.name}: losses must be at least 0, got {float(losses[item])} for item {item}")
        if not self.diversity:
            return best(value(losses), n)
        xp = array_namespace(losses)
        line = Points.of(Dense(xp.astype(losses, xp.float64)[:, None]))  # squares of small differences need the room
        return seeds(line, n, rng, value, first=int(xp.argmax(value(losses))))
