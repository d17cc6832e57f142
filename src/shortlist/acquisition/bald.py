from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from shortlist.acquisition.method import Scored
from shortlist.probabilities import TOLERANCE
from shortlist.rows import entropy
from shortlist.types import Array, Predictions, ShortlistError


@dataclass(frozen=True)
class Bald(Scored):
    """How much several predictions of an item disagree: the mutual information of its class and the model, in nats.

    It needs `samples` (n, S, L), S probabilities of each item: an ensemble's, or those of a model that draws.

    >>> import numpy as np
    >>> agree, differ = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> Bald().select(None, samples=[agree, differ], n=1, rng=np.random.default_rng(0))
    array([1])
    """

    short = "BALD"
    about = "Items are picked about which several predictions of the model disagree most."
    needs = frozenset({"samples"})

    def gains(self, batch: Predictions) -> Array:
        samples = self._require("samples", batch.samples)
        n, n_classes = batch.matrix.shape
        if samples.ndim != 3 or (samples.shape[0], samples.shape[2]) != (n, n_classes) or samples.shape[1] < 1:
            raise ShortlistError(f"{self.name}: samples must be ({n}, S, {n_classes}), got {tuple(samples.shape)}")
        xp = array_namespace(samples)
        each = entropy(Predictions(xp.reshape(samples, (n * samples.shape[1], n_classes))))
        # g = H(mean of p) − mean of H(p) (Houlsby et al. 2011, eq. 2); rounding may take it below 0
        each = xp.reshape(each, tuple(samples.shape[:2]))
        gains = entropy(Predictions(xp.mean(samples, axis=1))) - xp.mean(each, axis=1)
        right = (xp.min(samples, axis=2) >= -1e-6) & (xp.abs(xp.sum(samples, axis=2) - 1) <= TOLERANCE)
        gains = xp.where(xp.all(right, axis=1), gains, xp.full_like(gains, xp.nan))  # no probabilities, no score
        return xp.clip(gains, 0.0, None)
