from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from shortlist.models.network.training import Optimiser


def optimiser(name: Optimiser, net: nn.Module, rate: float, weight_decay: float) -> torch.optim.Optimizer:
    """SGD with Nesterov's momentum 0.9, or AdamW; on a GPU in a form whose step can be captured."""
    device = next(net.parameters()).device
    on_gpu = device.type == "cuda"
    lr: Any = torch.tensor(rate, device=device) if on_gpu else rate  # a captured step reads it from a tensor
    if name == "adamw":
        return torch.optim.AdamW(net.parameters(), lr, weight_decay=weight_decay, fused=on_gpu, capturable=on_gpu)
    return torch.optim.SGD(net.parameters(), lr, 0.9, nesterov=True, weight_decay=weight_decay, fused=on_gpu)


def descend(made: torch.optim.Optimizer, loss_of: Callable[[], torch.Tensor]) -> torch.Tensor:
    """One step down the loss; what it was."""
    made.zero_grad(set_to_none=True)
    loss = loss_of()
    loss.backward()  # type: ignore[no-untyped-call]
    made.step()
    return loss.detach()


def set_rate(made: torch.optim.Optimizer, rate: torch.Tensor) -> None:
    for group in made.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].copy_(rate)
        else:
            group["lr"] = float(rate)


def forget(made: torch.optim.Optimizer) -> None:
    """As it was before its first step, in the tensors it has."""
    for state in made.state.values():
        for value in state.values():
            if isinstance(value, torch.Tensor):
                value.zero_()
