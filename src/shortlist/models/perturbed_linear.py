"""The maximally perturbed loss of softmax regression, in closed form for all items at once.

The pseudo-label is the class that the model holds most likely, and ℓ its cross entropy. One step up the loss moves
every parameter by ε = ρ·θ²·∇ℓ / ‖|θ|·∇ℓ‖, the norm over all parameters; the perturbed loss is ℓ(θ + ε).

Only the direction of ∇ℓ matters. With m the log odds against the pseudo-label, ℓ = log(1 + eᵐ), so ∇ℓ is a positive
multiple of ∇m. Ascending along ∇m is the same step, and one that stays exact where p = 1 up to rounding.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from shortlist.models.encode import Matrix
from shortlist.types import Floats, Ints

Ascent: TypeAlias = Literal["item", "batch"]

RHO = 0.05


def perturbed_losses(
    weights: Floats,  # (L, D)
    intercepts: Floats,  # (L,)
    inputs: Matrix,  # (n, D)
    *,
    rho: float = RHO,
    per: Ascent = "item",
) -> Floats:
    """(n,) losses after one step for each item, or after one for them all, along their mean gradient.

    >>> weights, intercepts = np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2)
    >>> perturbed_losses(weights, intercepts, np.array([[2.0, 1.0], [3.0, 0.0]])).round(4)
    array([0.3446, 0.0562])
    """
    if len(weights) < 2 or not inputs.shape[0]:  # with one class, nothing else that the label could be
        return np.zeros(inputs.shape[0])
    logits = inputs @ weights.T + intercepts
    labels = logits.argmax(axis=1)
    step = _step_per_item if per == "item" else _step_per_batch
    shift = step(weights, intercepts, inputs, *_log_odds(logits, labels))
    perturbed, _ = _log_odds(logits + rho * shift, labels)
    losses: Floats = np.logaddexp(0, perturbed)
    return losses


def _log_odds(logits: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """(n,) log odds m against the labels, and (n, L) their slopes: −1 at the label, shares of the rest elsewhere."""
    rows = np.arange(len(logits))
    others = logits.copy()
    others[rows, labels] = -np.inf
    top = others.max(axis=1, keepdims=True)
    shares = np.exp(others - top)
    total = shares.sum(axis=1, keepdims=True)
    slopes = shares / total
    slopes[rows, labels] = -1.0
    return (top + np.log(total))[:, 0] - logits[rows, labels], slopes


def _step_per_item(weights: Floats, intercepts: Floats, inputs: Matrix, odds: Floats, slopes: Floats) -> Floats:
    """(n, L) what a step with ρ = 1 adds to an item's own logits.

    The gradient by W is slope ⊗ x. So ε·(x, 1) = slope·a over √Σ slope²·a, where a = W²·x² + b².
    """
    squares = inputs.power(2) if sparse.issparse(inputs) else np.square(inputs)
    a = squares @ np.square(weights).T + np.square(intercepts)
    length = np.sqrt((np.square(slopes) * a).sum(axis=1, keepdims=True))
    shift: Floats = np.divide(slopes * a, length, out=np.zeros_like(a), where=length > 0)
    return shift


def _step_per_batch(weights: Floats, intercepts: Floats, inputs: Matrix, odds: Floats, slopes: Floats) -> Floats:
    """(n, L) what a step with ρ = 1 along the mean gradient adds to the logits."""
    unsure = -np.logaddexp(0, -odds)  # log(1 − p): ∇ℓ = (1 − p)·∇m
    pull = slopes * np.exp(unsure - unsure.max())[:, np.newaxis]  # the common factor does not matter
    by_weight, by_intercept = (inputs.T @ pull).T, pull.sum(axis=0)
    length = np.hypot(np.linalg.norm(weights * by_weight), np.linalg.norm(intercepts * by_intercept))
    if not length > 0:
        return np.zeros_like(slopes)
    shift: Floats = inputs @ (weights**2 * by_weight / length).T + intercepts**2 * by_intercept / length
    return shift
