"""What is learnt from a class that an item does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

WEIGHT = 0.1  # of these losses, beside cross-entropy


def negative_losses(logits: torch.Tensor, rejected: torch.Tensor) -> torch.Tensor:
    """(n,) Σ −log(1 − p) over the rejected classes of each item (n, L), of two classes or more.

    Exact, and with a slope, also where a rejected class has p = 1 up to rounding.

    >>> import torch
    >>> negative_losses(torch.tensor([[0.0, 0.0], [50.0, 0.0]]), torch.tensor([[True, False], [True, False]]))
    tensor([ 0.6931, 50.0000])
    """
    import torch

    top = logits.argmax(dim=1, keepdim=True)
    total = logits.logsumexp(dim=1, keepdim=True)
    others = logits.scatter(1, top, torch.finfo(logits.dtype).min).logsumexp(dim=1, keepdim=True)
    p = (logits - total).exp().scatter(1, top, 0.0)  # without the largest, at most 1/2: log(1 − p) is smooth there
    rest = torch.log1p(-p).scatter(1, top, others - total)
    return -torch.where(rejected, rest, 0.0).sum(dim=1)
