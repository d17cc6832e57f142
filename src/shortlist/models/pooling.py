"""From what an encoder says of every token or place to one vector for the item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shortlist.types import ShortlistError

if TYPE_CHECKING:
    import torch

# the first token; the mean over tokens or places; the encoder's own; auto: whichever suits the encoder
Pooling: TypeAlias = Literal["auto", "cls", "mean", "pooler"]


def pooled(said: Any, pooling: Pooling, mask: torch.Tensor | None = None) -> torch.Tensor:
    """(b, F) in 32 bits; `mask` (b, T) is 0 where a text has ended.

    >>> import torch
    >>> from types import SimpleNamespace
    >>> said = SimpleNamespace(last_hidden_state=torch.tensor([[[1.0], [3.0], [9.0]]]))
    >>> pooled(said, "cls"), pooled(said, "mean", torch.tensor([[1, 1, 0]]))
    (tensor([[1.]]), tensor([[2.]]))
    """
    hidden: torch.Tensor = said.last_hidden_state.float()
    if pooling == "pooler":
        if getattr(said, "pooler_output", None) is None:
            raise ShortlistError("pooling: this encoder has no pooler of its own; use cls or mean")
        own: torch.Tensor = said.pooler_output.flatten(1).float()
        return own
    if hidden.ndim == 4:  # (b, F, h, w): convolutions have no first token
        return hidden.mean(dim=(2, 3))
    if pooling == "cls":
        return hidden[:, 0]
    if mask is None:
        return hidden.mean(dim=1)
    return (hidden * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
