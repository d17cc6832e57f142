"""Softmax regression where the features are, by full-batch L-BFGS over blocks of rows; and negative learning."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional as F

from shortlist.models.model import TrainingSet
from shortlist.system.arrays import blocks

NEGATIVE_WEIGHT = 0.1  # of the losses of rejected classes, beside cross-entropy
HELD = 1 << 25  # logits held at once: (items, classes) is never there whole, 2 GiB at 55,000 × 10,000
HISTORY = 10  # steps that L-BFGS remembers: each takes twice the room of the weights


def negative_losses(logits: torch.Tensor, rejected: torch.Tensor) -> torch.Tensor:
    """(n,) Σ −log(1 − p) over the rejected classes of each item (n, L), of two classes or more.

    Exact, and with a slope, also where a rejected class has p = 1 up to rounding.

    >>> negative_losses(torch.tensor([[0.0, 0.0], [50.0, 0.0]]), torch.tensor([[True, False], [True, False]]))
    tensor([ 0.6931, 50.0000])
    """
    top = logits.argmax(dim=1, keepdim=True)
    total = logits.logsumexp(dim=1, keepdim=True)
    others = logits.scatter(1, top, torch.finfo(logits.dtype).min).logsumexp(dim=1, keepdim=True)
    p = (logits - total).exp().scatter(1, top, 0.0)  # without the largest, at most 1/2: log(1 − p) is smooth there
    rest = torch.log1p(-p).scatter(1, top, others - total)
    return -torch.where(rejected, rest, 0.0).sum(dim=1)


def softmax_regression(
    inputs: torch.Tensor,  # (m, F) of the labelled items
    partial: torch.Tensor,  # (q, F) of those with a partial label
    training_set: TrainingSet,
    *,
    C: float,
    steps: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights (k, F) and intercepts (k,) that minimise C·(Σ losses) + ½‖W‖², as scikit-learn writes it; deterministic.

    >>> from shortlist.types import Labelled
    >>> two = TrainingSet.of(Labelled(torch.arange(2).numpy(), torch.arange(2).numpy(), n_classes=2))
    >>> weights, _ = softmax_regression(torch.tensor([[-1.0], [1.0]]), torch.empty(0, 1), two, C=1.0, steps=20)
    >>> weights.flatten()  # ±w with w = 2 / (1 + exp(2w))
    tensor([-0.5213,  0.5213])
    """
    k = len(training_set.classes)
    codes, rejected = (torch.from_numpy(a).to(inputs.device) for a in (training_set.codes, training_set.rejected))
    m, together = len(inputs), max(1, HELD // k)
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
        for at in blocks(m, together):
            yield F.cross_entropy(F.linear(inputs[at], weights, intercepts), codes[at], reduction="sum") / m
        for at in blocks(len(partial), together):
            yield NEGATIVE_WEIGHT * negative_losses(F.linear(partial[at], weights, intercepts), rejected[at]).sum() / m

    def objective() -> torch.Tensor:
        by_lbfgs.zero_grad()
        total = torch.zeros((), dtype=torch.float64, device=inputs.device)
        for term in terms():
            term.backward()  # type: ignore[no-untyped-call]
            total += term.detach()
        return total

    by_lbfgs.step(objective)  # type: ignore[no-untyped-call]
    return weights.detach(), intercepts.detach()
