"""Where kernels can run: on a CUDA device, or anywhere through Triton's interpreter (TRITON_INTERPRET=1)."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

from tests.backends import HAS_CUDA, HAS_TORCH

INTERPRETED = HAS_TORCH and not HAS_CUDA and os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if HAS_CUDA else "cpu"

needs_kernels = pytest.mark.skipif(
    find_spec("triton") is None or not (HAS_CUDA or INTERPRETED),
    reason="needs triton and a CUDA device, or triton and TRITON_INTERPRET=1",
)
needs_cuda = pytest.mark.skipif(not HAS_CUDA, reason="needs a CUDA device")
