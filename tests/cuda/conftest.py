from __future__ import annotations

import pytest

from tests.cuda.device import INTERPRETED


@pytest.fixture(autouse=True)
def _kernels_for_every_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a device, tensors on the host go to the kernels too, and Triton's interpreter runs them."""
    if INTERPRETED:
        import torch

        monkeypatch.setattr("shortlist.devices.on_cuda", lambda array: isinstance(array, torch.Tensor))
