"""A product of experts with uniform shares, fitted by maximum likelihood on answers they have not learnt from.

Of each item a class is *seen*, if there was a label of it to learn from, or *new*. Which of the two the item's class is
comes first, then which class: with z = Σ wₑ log pₑ,

    q(y) = (1 − g) ((1 − s) softmax_seen(z)(y) + s / S)    for one of the S classes seen,
    q(y) =      g  ((1 − u) softmax_new(z)(y)  + u / U)    for one of the U new ones,

where logit g = b + log Σ_new exp z − log Σ_seen exp z: but for the shares, the softmax of z + b [y is new].

A label that is the only one of its class is of a new class for whoever has not learnt from it. So the likelihood of g
leads to Good's and Turing's estimate: the share of such labels is the probability that the next item's class is new.
For a part of g, two labels' worth, that share is taken for every item alike, so that a handful of labels is no proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from shortlist.types import Floats, Ints

Logs: TypeAlias = npt.NDArray[np.float32]  # (E, n, L) log-probabilities by each expert, finite, up to a constant a row
Mask: TypeAlias = npt.NDArray[np.bool_]

SHARE = (0.05, 4.0)  # of a uniform share before there is evidence: its mean, and the labels that this is worth
ALIKE = 2.0  # labels
NEW = (0.5, 2.0)  # the same of the probability of a new class
SPREAD = 0.5  # of the logarithm of a weight before there is evidence


@dataclass(frozen=True)
class Combination:
    """What the weights, the odds of new classes and the uniform shares are.

    >>> both = Combination(np.array([1.0, 1.0]), odds=0.0, shares=(0.1, 0.1))
    >>> logs = np.log(np.array([[[0.8, 0.2, 1.0]], [[0.5, 0.5, 1.0]]], np.float32))
    >>> both.probs(logs, np.array([True, True, False])).round(3)
    array([[0.257, 0.077, 0.667]], dtype=float32)
    """

    weights: Floats  # (E,)
    odds: float  # b
    shares: tuple[float, float]  # s, u
    alike: tuple[float, float] = (0.0, 0.5)  # the part of g that is the same for all items, and what it is there

    def probs(self, logs: Logs, seen: Mask) -> npt.NDArray[np.float32]:
        """(n, L) of the combined belief, where `seen` (L,) or (n, L) says which classes there was a label of."""
        z = np.tensordot(self.weights.astype(np.float32), logs, 1)
        seen = np.broadcast_to(seen, z.shape)
        (old, lse_old), (new, lse_new) = _softmax(z, seen), _softmax(z, ~seen)
        g = _chance(self.odds + lse_new - lse_old, seen, self.alike)[1][:, np.newaxis]
        (s, u), n_old = self.shares, np.maximum(seen.sum(axis=1, keepdims=True), 1)
        n_new = np.maximum((~seen).sum(axis=1, keepdims=True), 1)
        probs = np.where(seen, (1 - g) * ((1 - s) * old + s / n_old), g * ((1 - u) * new + u / n_new))
        probs /= probs.sum(axis=1, keepdims=True)
        combined: npt.NDArray[np.float32] = probs.astype(np.float32)
        return combined


def _softmax(z: Any, among: Mask) -> tuple[Any, Any]:
    """(n, L) among some of the classes, 0 elsewhere; and (n,) the logarithm of what was divided by."""
    there = np.where(among, z, -np.inf)
    top = np.max(there, axis=1, keepdims=True, initial=-1e30)
    e = np.exp(there - top)
    total = e.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1)
    return e / safe, (np.log(safe) + np.where(total > 0, top, 0))[:, 0]


def _chance(logit: Any, seen: Mask, alike: tuple[float, float]) -> tuple[Any, Any]:
    """(n,) that the class is new by the experts, and in all: certain where none was seen or all were."""
    n_seen, (part, rate) = seen.sum(axis=1), alike
    g = expit(logit)
    in_all = (1 - part) * g + part * rate
    return g, np.where(n_seen == 0, 1.0, np.where(n_seen == seen.shape[1], 0.0, in_all))


# --- fitting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Held-out answers, and what is believed of the numbers before them."""

    logs: Logs  # (E, m, L)
    seen: Mask  # (m, L)
    labels: Ints  # (m,)
    usual: Floats  # (E,) weights before there is evidence

    @cached_property
    def alike(self) -> tuple[float, float]:
        """By a uniform prior: (1 + new labels) / (2 + labels)."""
        m = len(self.labels)
        is_new = ~self.seen[np.arange(m), self.labels]
        return ALIKE / (ALIKE + m), float((1 + is_new.sum()) / (2 + m))

    def loss(self, theta: Floats, kept: Sequence[int]) -> tuple[float, Floats]:
        """−log of likelihood and prior in nats, and its slope; θ = log wₑ of the experts kept, b, logit s, logit u."""
        e = len(kept)
        w = np.exp(theta[:e])
        b, (s, u) = theta[e], expit(theta[e + 1 :])
        z = np.tensordot(w.astype(np.float32), self.logs[kept], 1) if e else np.zeros(self.seen.shape, np.float32)
        rows, y = np.arange(len(self.labels)), self.labels
        (old, lse_old), (new, lse_new) = _softmax(z, self.seen), _softmax(z, ~self.seen)
        by_experts, g = _chance(b + (lse_new - lse_old).astype(np.float64), self.seen, self.alike)
        is_old, n_old = self.seen[rows, y], self.seen.sum(axis=1)
        share, among = np.where(is_old, s, u), np.where(is_old, n_old, self.seen.shape[1] - n_old)
        p = np.where(is_old, old[rows, y], new[rows, y]).astype(np.float64)
        mixed = np.maximum((1 - share) * p + share / among, 1e-300)
        chance = np.maximum(np.where(is_old, 1 - g, g), 1e-300)
        total = -float(np.log(mixed).sum() + np.log(chance).sum())

        open_ = (n_old > 0) & (n_old < self.seen.shape[1])
        rise = (1 - self.alike[0]) * by_experts * (1 - by_experts) / chance
        of_odds = np.where(open_, np.where(is_old, -rise, rise), 0.0)  # d log chance / d logit
        by_share = (1 / among - p) / mixed * share * (1 - share)
        slopes = np.empty_like(theta)
        for at, expert in enumerate(kept):
            a = self.logs[expert]
            mean_old, mean_new = np.einsum("ij,ij->i", old, a), np.einsum("ij,ij->i", new, a)
            own = (1 - share) * p / mixed * (a[rows, y] - np.where(is_old, mean_old, mean_new))
            slopes[at] = -w[at] * float((own + of_odds * (mean_new - mean_old)).sum())
        slopes[e] = -float(of_odds.sum())
        slopes[e + 1], slopes[e + 2] = -float(by_share[is_old].sum()), -float(by_share[~is_old].sum())
        return self._with_prior(theta, kept, total, slopes)

    def _with_prior(self, theta: Floats, kept: Sequence[int], total: float, slopes: Floats) -> tuple[float, Floats]:
        e = len(kept)
        off = (theta[:e] - np.log(self.usual[list(kept)])) / SPREAD
        total += float(np.square(off).sum()) / 2
        slopes[:e] += off / SPREAD
        for at, (mean, worth) in ((e, NEW), (e + 1, SHARE), (e + 2, SHARE)):
            x = theta[at]
            total += worth * (mean * np.logaddexp(0, -x) + (1 - mean) * np.logaddexp(0, x))
            slopes[at] += worth * (expit(x) - mean)
        return total, slopes

    def solve(self, kept: Sequence[int]) -> tuple[float, Floats]:
        mean = SHARE[0]
        start = np.concatenate([np.log(self.usual[list(kept)]), [0.0], [np.log(mean / (1 - mean))] * 2])
        found = minimize(self.loss, start, (list(kept),), "L-BFGS-B", jac=True, options={"maxiter": 100})
        return float(found.fun), np.asarray(found.x, np.float64)

    def evidence(self) -> float:
        """How many nats an expert has to gain to be believed: a parameter's due, less what it is trusted beforehand.

        Answers of new classes say little of who knows the others.
        """
        informative = self.seen[np.arange(len(self.labels)), self.labels].sum()
        return float(np.log1p(informative)) / 2 - TRUST


TRUST = 1.0  # nats


def fitted(problem: Problem) -> Combination:
    """The most probable combination, without the experts that are not worth their weight.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=200)
    >>> told = np.log(0.1 + 0.7 * (labels[:, None] == np.arange(3)))  # half of it is made up
    >>> told[:100], noise = rng.permuted(told[:100], axis=1), np.log(rng.dirichlet(np.ones(3), 200))
    >>> logs, seen = np.stack([told, noise]).astype(np.float32), np.ones((200, 3), bool)
    >>> fitted(Problem(logs, seen, labels, usual=np.ones(2))).weights.round(2)
    array([0.75, 0.  ])
    """
    kept = list(range(len(problem.logs)))
    loss, theta = problem.solve(kept)
    while kept:
        without = [problem.solve([e for e in kept if e != expert]) for expert in kept]
        least = min(range(len(kept)), key=lambda at: without[at][0])
        if without[least][0] - loss >= problem.evidence():
            break
        del kept[least]
        loss, theta = without[least]
    weights = np.zeros(len(problem.logs))
    weights[kept] = np.exp(theta[: len(kept)])
    b, s, u = theta[len(kept) :]
    return Combination(weights, float(b), (float(expit(s)), float(expit(u))), problem.alike)
