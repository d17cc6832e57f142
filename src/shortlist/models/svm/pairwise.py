"""From pairwise decision values to class probabilities, as libsvm does it: Platt's sigmoids, then coupling.

With k classes there are k(k-1)/2 pairs (i, j), i < j, in the order (0, 1), (0, 2), …, (1, 2), …. Arrays over
pairs and items are (pairs, n), because all the work runs along the items of one pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from shortlist.types import Floats, Ints

Mask = npt.NDArray[np.bool_]

CERTAIN = 1e-7  # no pair is ever surer than this, as in libsvm: it keeps the coupling well posed


def pair_index(k: int) -> Ints:
    """(k, k): which pair classes i and j form; -1 on the diagonal.

    >>> pair_index(3).tolist()
    [[-1, 0, 1], [0, -1, 2], [1, 2, -1]]
    """
    index = np.full((k, k), -1)
    first, second = np.triu_indices(k, 1)
    index[first, second] = index[second, first] = np.arange(len(first))
    return index


def fit_sigmoids(decision: Floats, is_first: Mask, pair: Ints, n_pairs: int) -> Floats:
    """(2, pairs): A and B of P(i | i or j) = 1 / (1 + exp(A·decision + B)), by maximum likelihood.

    Newton's method with backtracking (Lin, Lin and Weng 2007, "A note on Platt's probabilistic outputs"), all
    pairs at once. Held-out decision values come flat, (m,): the value, whether the item is of the pair's first
    class, and the pair.

    >>> decision, is_first = np.array([2.0, 1.0, -1.0, -3.0]), np.array([True, True, False, False])
    >>> fit_sigmoids(decision, is_first, pair=np.zeros(4, int), n_pairs=1).round(2).tolist()
    [[-0.54], [-0.11]]
    """
    n_first = np.bincount(pair[is_first], minlength=n_pairs)
    n_second = np.bincount(pair[~is_first], minlength=n_pairs)
    # Targets a little inside 0 and 1 (Platt's prior correction): a separable pair keeps a finite slope.
    target = np.where(is_first, ((n_first + 1) / (n_first + 2))[pair], (1 / (n_second + 2))[pair])
    held_out = _HeldOut(decision, target, pair, n_pairs)
    sigmoids = np.stack([np.zeros(n_pairs), np.log((n_second + 1) / (n_first + 1))])
    loss = held_out.loss(sigmoids)
    for _ in range(100):  # as libsvm; about ten are enough
        direction, slope = held_out.newton(sigmoids)
        sigmoids, loss, moved = _line_search(held_out, sigmoids, loss, direction, slope)
        if not moved.any():
            break
        held_out = held_out.of(moved)
    return sigmoids


def pair_probs(decision: Floats, sigmoids: Floats) -> Floats:
    """(pairs, n): the probability of each pair's first class, given that it is one of the two.

    >>> pair_probs(np.array([[0.0, 1.0, 99.0]]), np.array([[-1.0], [0.0]])).round(7).tolist()
    [[0.5, 0.7310586, 0.9999999]]
    """
    A, B = sigmoids[:, :, np.newaxis]
    r: Floats = expit(-(A * decision + B))
    return r.clip(CERTAIN, 1 - CERTAIN, out=r)


def couple(r: Floats) -> Floats:
    """(n, k): the class probabilities that agree best with the pairs' r (pairs, n).

    Wu, Lin and Weng 2004, second method: minimise Σ_{i<j} (r_ji p_i − r_ij p_j)² = p'Qp where Σp = 1, whose
    optimum is never negative. Adding (Σp)² to the objective changes nothing where Σp = 1 and makes the matrix
    positive definite, so p ∝ (Q + 11')⁻¹ 1: one exact solve instead of libsvm's loose iteration.

    >>> couple(np.array([[0.5 / 0.8], [0.5 / 0.7], [0.3 / 0.5]])).round(6).tolist()
    [[0.5, 0.3, 0.2]]
    """
    pairs, n = r.shape
    k = (1 + isqrt(1 + 8 * pairs)) // 2
    first, second = np.triu_indices(k, 1)
    ratio = np.zeros((k, k, n))  # [i, j] holds r_ij
    ratio[first, second], ratio[second, first] = r, 1 - r
    Q = 1 - ratio * ratio.swapaxes(0, 1)
    Q[range(k), range(k)] += np.square(ratio).sum(axis=0)  # Q_ii = Σ_j r_ji²
    solution = np.linalg.solve(Q.transpose(2, 0, 1), np.ones((k, 1)))[..., 0]
    p = solution.clip(min=0)  # the optimum is not negative, its rounding may be
    p /= p.sum(axis=1, keepdims=True)
    return p


@dataclass(frozen=True)
class _HeldOut:
    """Entries (m,) that the sigmoids are fitted to; `sigmoids` are (2, pairs), totals are per pair."""

    decision: Floats
    target: Floats
    pair: Ints
    n_pairs: int

    def of(self, pairs: Mask) -> _HeldOut:
        mine = pairs[self.pair]
        return _HeldOut(self.decision[mine], self.target[mine], self.pair[mine], self.n_pairs)

    def loss(self, sigmoids: Floats) -> Floats:
        """(pairs,): the negative log likelihood."""
        z = self._linear(sigmoids)
        return self._total(self.target * z + np.logaddexp(0, -z))

    def newton(self, sigmoids: Floats) -> tuple[Floats, Floats]:
        """Where to go, (2, pairs), and how steeply the loss falls there: 0 where the gradient has vanished."""
        p = expit(-self._linear(sigmoids))
        residual, curvature = self.target - p, p * (1 - p)
        gA, gB = self._total(self.decision * residual), self._total(residual)
        hAA = self._total(self.decision * self.decision * curvature) + 1e-12  # a ridge, so that it can be inverted
        hAB = self._total(self.decision * curvature)
        hBB = self._total(curvature) + 1e-12
        determinant = np.maximum(hAA * hBB - hAB * hAB, 1e-24)
        direction = np.stack([hAB * gB - hBB * gA, hAB * gA - hAA * gB]) / determinant
        vanished = np.maximum(np.abs(gA), np.abs(gB)) < 1e-5
        return direction, np.where(vanished, 0.0, gA * direction[0] + gB * direction[1])

    def _linear(self, sigmoids: Floats) -> Floats:
        A, B = sigmoids[:, self.pair]
        z: Floats = A * self.decision + B
        return z

    def _total(self, entries: Floats) -> Floats:
        totals: Floats = np.bincount(self.pair, entries, minlength=self.n_pairs).astype(np.float64)
        return totals


def _line_search(
    held_out: _HeldOut, sigmoids: Floats, loss: Floats, direction: Floats, slope: Floats
) -> tuple[Floats, Floats, Mask]:
    """The sigmoids after the longest step (1, ½, ¼, …) that gains enough, their loss, and which pairs moved."""
    searching, moved, size = slope < 0, np.zeros(len(slope), bool), 1.0
    while searching.any() and size >= 1e-10:
        trial = sigmoids + size * direction
        trial_loss = held_out.of(searching).loss(trial)
        gained = searching & (trial_loss < loss + 1e-4 * size * slope)
        sigmoids, loss = np.where(gained, trial, sigmoids), np.where(gained, trial_loss, loss)
        searching, moved, size = searching & ~gained, moved | gained, size / 2
    return sigmoids, loss, moved
