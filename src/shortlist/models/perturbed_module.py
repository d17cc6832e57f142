"""The maximally perturbed loss of a torch module: `perturbed_linear` says what it is.

A file of its own because it loads torch, and only when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from shortlist.models.perturbed_linear import RHO, Ascent
from shortlist.types import ShortlistError

if TYPE_CHECKING:
    import torch

Tensors: TypeAlias = "dict[str, torch.Tensor]"

HELD = 1 << 27  # perturbed parameters held at once, as every item has its own: in all about 1 GiB in float32
DEVICE_HELD = 1 << 29  # on a GPU, which is slow in small pieces: about 4.5 GiB
TOGETHER = 256  # items at most, however few parameters: what layers say of an item takes room too


def perturbed_losses(
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
    >>> perturbed_losses(line, torch.tensor([[2.0, 1.0], [3.0, 0.0]]))
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
            return _against(logits, logits.argmax(dim=1, keepdim=True) if labels is None else labels)

        def mean(parameters: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
            odds, labels = log_odds(parameters)
            # ∇ℓ = (1 − p)·∇m; the softmax leaves out a common factor, so even a batch of sure items has a direction
            unsure = torch.nn.functional.logsigmoid(odds.detach()).softmax(dim=0)
            return unsure @ odds, labels

        gradient, labels = torch.func.grad(mean, has_aux=True)(trained)
        odds, _ = log_odds(_ascended(trained, gradient, rho), labels)
        return torch.logaddexp(torch.zeros_like(odds), odds)

    with _evaluating(module), torch.no_grad():
        if per == "batch" or not len(inputs):
            return losses(inputs)
        held = HELD if inputs.device.type == "cpu" else DEVICE_HELD
        together = min(TOGETHER, max(1, held // sum(p.numel() for p in trained.values())))
        each: torch.Tensor = torch.vmap(lambda item: losses(item[None])[0], chunk_size=together)(inputs)
        return each


def _against(logits: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(n,) log odds against the labels (n, 1), and the labels."""
    import torch

    others = logits.scatter(1, labels, torch.finfo(logits.dtype).min)  # −∞ would have no slope if it stood alone
    return others.logsumexp(dim=1) - logits.gather(1, labels)[:, 0], labels


def _ascended(parameters: Tensors, gradient: Tensors, rho: float) -> Tensors:
    """θ + ρ·θ²·g / ‖|θ|·g‖, or θ where the norm is 0."""
    import torch

    length = torch.stack([(p * gradient[name]).square().sum() for name, p in parameters.items()]).sum().sqrt()
    scale = torch.where(length > 0, rho / length, torch.zeros_like(length))
    return {name: p + scale * p.square() * gradient[name] for name, p in parameters.items()}


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Every part in evaluation mode, and afterwards each in the mode it was in."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
