from __future__ import annotations

import numpy as np

from shortlist.devices import kernels, on_cuda
from tests.backends import Backend, each_backend


@each_backend
def test_arrays_on_the_host_have_no_kernels(backend: Backend) -> None:
    array = backend(np.ones((2, 2)))
    assert on_cuda(array) == (backend.device == "cuda")
    if backend.device == "cpu":
        assert kernels("rows", array) is None


def test_neither_have_other_things() -> None:
    assert kernels("rows", [1.0]) is None
