"""Views on a device are those of the CPU, and so is what is learnt from them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends import HAS_TORCH
from tests.cuda.device import needs_cuda

if not HAS_TORCH:
    pytest.skip("needs torch", allow_module_level=True)

import torch

from shortlist.models.network.contrast import Contrast, Views, viewed
from shortlist.models.simclr import Simclr

# torch.compile loads parts of torch that torch itself calls deprecated
pytestmark = [needs_cuda, pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")]

IMAGES = np.random.default_rng(0).integers(0, 256, (40, 16, 16, 3), np.uint8)


def learner(device: str, *, compiled: bool) -> Contrast:
    """Fitted twice: the second fit has to forget the first."""
    made = Contrast(Simclr(width=8)._build, IMAGES, torch.device(device), batch=16, rate=0.01, temperature=0.5,
                    projection=32, compiled=compiled, half=False)  # fmt: skip
    made.fit(1, np.random.default_rng(7))
    made.fit(2, np.random.default_rng(3))
    return made


@pytest.mark.parametrize("compiled", [False, True])
def test_views_are_those_of_the_cpu(compiled: bool) -> None:
    numbers, items = Views().draw(np.random.default_rng(0), (64,)), np.arange(64) % 40
    given = [torch.from_numpy(a) for a in (IMAGES, items, numbers)]
    view = torch.compile(viewed) if compiled else viewed
    torch.testing.assert_close(view(*(a.cuda() for a in given)).cpu(), viewed(*given), atol=0.05, rtol=0)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_few_steps_leave_the_parameters_of_the_cpu(compiled: bool) -> None:
    here, there = learner("cpu", compiled=False), learner("cuda", compiled=compiled)
    for a, b in zip(here.net.state_dict().values(), there.net.state_dict().values(), strict=True):
        # cuDNN's convolutions may use TF32: ten bits of each factor
        torch.testing.assert_close(b.cpu(), a, atol=6e-3, rtol=2e-2)
