from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from shortlist.acquisition.method import Sequential, Value, best
from shortlist.acquisition.points import Dense, Points
from shortlist.acquisition.seeding import seeds
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

    needs: ClassVar[frozenset[str]] = frozenset({"losses"})

    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        losses = self._at_least_zero(pool.losses)
        if not self.diversity:
            return best(value(losses), n)
        xp = array_namespace(losses)
        line = Points.of(Dense(xp.astype(losses, xp.float64)[:, None]))  # squares of small differences need the room
        return seeds(line, n, rng, value, first=int(xp.argmax(value(losses))))

    def _at_least_zero(self, losses: Array) -> Array:
        xp = array_namespace(losses)
        if bool(xp.any(losses < 0)):
            item = int(xp.argmax(xp.astype(losses < 0, xp.int64)))
            raise ShortlistError(f"{self.name}: losses must be at least 0, got {float(losses[item])} for item {item}")
        return losses
