"""The maximally perturbed loss: of softmax regression in closed form for all items at once, and of a torch module.

The pseudo-label is the class that the model holds most likely, and ℓ its cross entropy. One step up the loss moves
every parameter by ε = ρ·θ²·∇ℓ / ‖|θ|·∇ℓ‖, the norm over all parameters; the perturbed loss is ℓ(θ + ε).

Only the direction of ∇ℓ matters. With m the log odds against the pseudo-label, ℓ = log(1 + eᵐ), so ∇ℓ is a positive
multiple of ∇m. Ascending along ∇m is the same step, and one that stays exact where p = 1 up to rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import sparse

from shortlist.models.linear.encoding import Matrix
from shortlist.types import Floats, Ints, ShortlistError

if TYPE_CHECKING:
    import torch

Ascent: TypeAlias = Literal["item", "batch"]
Tensors: TypeAlias = "dict[str, torch.Tensor]"

RHO = 0.05
HELD = 1 << 27  # perturbed parameters held at once, as every item has its own: in all about 1 GiB in float32
DEVICE_HELD = 1 << 29  # on a GPU, which is slow in small pieces: about 4.5 GiB
TOGETHER = 256  # items at most, however few parameters: what layers compute for an item takes room too


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


# --- of a torch module, which is loaded only when this is called ---------------------------------------------------


def module_losses(
    module: torch.nn.Module,  # inputs (n, …) -> logits (n, L)
    inputs: torch.Tensor,
    *,
    rho: float = RHO,
    per: Ascent = "item",
) -> torch.Tensor:
    """(n,) losses after one step for each item, or after one for them all, along their mean gradient.

    The module is used as if in evaluation mode, on whatever device it is, and left exactly as it was. Parameters
    that are not trained do not move.

    >>> import torch
    >>> line = torch.nn.Linear(2, 2)
    >>> line.weight.data, line.bias.data = torch.eye(2), torch.zeros(2)
    >>> module_losses(line, torch.tensor([[2.0, 1.0], [3.0, 0.0]]))
    tensor([0.3446, 0.0562])
    """
    import torch

    trained = {name: p.detach() for name, p in module.named_parameters() if p.requires_grad}
    if not trained:
        raise ShortlistError(f"{type(module).__name__} has no perturbed loss: none of its parameters is trained")

    def losses(batch: torch.Tensor) -> torch.Tensor:
        """(b,) after one step along the mean gradient of these items."""

        def log_odds(parameters: Tensors, labels: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
            buffers = {name: b.clone() for name, b in module.named_buffers()}  # for layers that write into them
            logits = torch.func.functional_call(module, (parameters, buffers), (batch,))
            labels = logits.argmax(dim=1, keepdim=True) if labels is None else labels
            lowest = torch.finfo(logits.dtype).min  # −∞ would have no slope if it stood alone
            others = logits.scatter(1, labels, lowest)
            return others.logsumexp(dim=1) - logits.gather(1, labels)[:, 0], labels

        def mean(parameters: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
            odds, labels = log_odds(parameters)
            # ∇ℓ = (1 − p)·∇m; the softmax leaves out a common factor, so even a batch of sure items has a direction
            unsure = torch.nn.functional.logsigmoid(odds.detach()).softmax(dim=0)
            return unsure @ odds, labels

        gradient, labels = torch.func.grad(mean, has_aux=True)(trained)
        odds, _ = log_odds(_ascended(trained, gradient, rho), labels)
        return torch.logaddexp(torch.zeros_like(odds), odds)

    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        with torch.no_grad():
            if per == "batch" or not len(inputs):
                return losses(inputs)
            held = HELD if inputs.device.type == "cpu" else DEVICE_HELD
            together = min(TOGETHER, max(1, held // sum(p.numel() for p in trained.values())))
            each: torch.Tensor = torch.vmap(lambda item: losses(item[None])[0], chunk_size=together)(inputs)
            return each
    finally:
        for part in training:
            part.training = True


def _ascended(parameters: Tensors, gradient: Tensors, rho: float) -> Tensors:
    """θ + ρ·θ²·g / ‖|θ|·g‖, or θ where the norm is 0."""
    import torch

    length = torch.stack([(p * gradient[name]).square().sum() for name, p in parameters.items()]).sum().sqrt()
    scale = torch.where(length > 0, rho / length, torch.zeros_like(length))
    return {name: p + scale * p.square() * gradient[name] for name, p in parameters.items()}
