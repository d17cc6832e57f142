"""Softmax regression where the features are: full-batch L-BFGS over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from shortlist.models.negative_learning import WEIGHT, negative_losses

HELD = 1 << 25  # logits held at once: (items, classes) is never there whole, 2 GiB at 55,000 × 10,000
HISTORY = 10  # steps that L-BFGS remembers: each takes twice the room of the weights


def softmax_regression(
    inputs: torch.Tensor,  # (m, F)
    codes: torch.Tensor,  # (m,) in 0..k-1
    k: int,
    *,
    C: float,
    steps: int,
    partial: torch.Tensor,  # (q, F) inputs without a label
    rejected: torch.Tensor,  # (q, k) classes they do not have
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights (k, F) and intercepts (k,) that minimise C·(Σ losses) + ½‖W‖², as scikit-learn writes it; deterministic.

    >>> weights, intercepts = softmax_regression(
    ...     torch.tensor([[-1.0], [1.0]]), torch.tensor([0, 1]), 2, C=1.0, steps=20,
    ...     partial=torch.empty(0, 1), rejected=torch.empty(0, 2, dtype=torch.bool),
    ... )
    >>> weights.flatten()  # ±w with w = 2 / (1 + exp(2w))
    tensor([-0.5213,  0.5213])
    """
    m = len(inputs)
    weights = torch.zeros(k, inputs.shape[1], device=inputs.device, requires_grad=True)
    intercepts = torch.zeros(k, device=inputs.device, requires_grad=True)
    by_lbfgs = torch.optim.LBFGS(
        [weights, intercepts],
        max_iter=steps,
        history_size=HISTORY,
        tolerance_grad=1e-6,
        line_search_fn="strong_wolfe",
    )

    def terms() -> Iterator[torch.Tensor]:
        """What the objective over m adds up from; the logits of a block are gone before the next one's are made."""
        yield weights.square().sum() / (2 * C * m)
        for at in _blocks(m, k):
            yield F.cross_entropy(F.linear(inputs[at], weights, intercepts), codes[at], reduction="sum") / m
        for at in _blocks(len(partial), k):
            yield WEIGHT * negative_losses(F.linear(partial[at], weights, intercepts), rejected[at]).sum() / m

    def objective() -> torch.Tensor:
        by_lbfgs.zero_grad()
        total = torch.zeros((), dtype=torch.float64, device=inputs.device)
        for term in terms():
            term.backward()  # type: ignore[no-untyped-call]
            total += term.detach()
        return total

    by_lbfgs.step(objective)  # type: ignore[no-untyped-call]
    return weights.detach(), intercepts.detach()


def _blocks(n: int, k: int) -> Iterator[slice]:
    size = max(1, HELD // k)
    return (slice(start, start + size) for start in range(0, n, size))
