"""Where an array lives, and the kernels that are written for that place."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from shutil import which
from typing import Any

from array_api_compat import is_torch_array

from shortlist.types import Array


def kernels(name: str, array: Array) -> Any:
    """The module `shortlist.cuda.<name>` if the array is on a CUDA device, else None: the plain version has to do.

    The one place that knows of kernels. It looks the module up by name, so that nothing in the numeric core imports
    a framework, and a caller reads: kernels where there are some, else the array API.

    >>> import numpy as np
    >>> kernels("rows", np.ones(3)) is None
    True
    """
    return import_module(f"shortlist.cuda.{name}") if on_cuda(array) and _has_triton() else None


def on_cuda(array: Array) -> bool:
    return bool(is_torch_array(array) and array.device.type == "cuda")


@cache
def _has_triton() -> bool:
    """Triton, and a C compiler: it builds the code that starts a kernel where it runs."""
    compilers = [os.environ.get("CC"), "gcc", "clang"]
    return find_spec("triton") is not None and any(which(name) for name in compilers if name)
