"""The array kinds every numeric test runs on, and rows of probabilities to run it with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tests.cases import in_turn

Matrix: TypeAlias = npt.NDArray[Any]

HAS_TORCH = find_spec("torch") is not None


def _has_cuda() -> bool:
    if not HAS_TORCH:
        return False
    import torch

    return torch.cuda.is_available()


HAS_CUDA = _has_cuda()


@dataclass(frozen=True)
class Backend:
    """Makes arrays of one kind out of NumPy's, and says whether an array is of that kind."""

    name: str
    dtype: str
    device: str = "cpu"

    def __call__(self, array: Any) -> Any:
        """Floating point numbers in the backend's own precision, anything else as it is."""
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        if self.name == "numpy":
            return array
        import torch

        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def owns(self, array: Any) -> bool:
        mine = type(array).__module__.split(".")[0] == self.name
        return mine and (self.name == "numpy" or array.device.type == self.device)


KINDS = [("numpy", "cpu"), *[("torch", "cpu")] * HAS_TORCH, *[("torch", "cuda")] * HAS_CUDA]
EVERY = [Backend(name, dtype, device) for name, device in KINDS for dtype in ("float32", "float64")]
# Each kind and each precision is in the part of them that `make test` runs on; `make torture` has them all
PART = [one for one in EVERY if (one.name == "numpy") == (one.dtype == "float64") or one.device == "cuda"]
BACKENDS = EVERY if os.environ.get("SHORTLIST_EVERY_BACKEND") == "1" or not HAS_TORCH else PART
each_backend: Callable[[Any], Any] = in_turn("backend", BACKENDS)
every_backend: Callable[[Any], Any] = in_turn("backend", EVERY)  # where it costs little


def host(array: Any) -> Matrix:
    """As a NumPy array, wherever it was."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def softmax(n: int, n_classes: int, seed: int = 0, sharp: float = 2.0) -> Matrix:
    """(n, L) probabilities from random logits."""
    z = np.random.default_rng(seed).standard_normal((n, n_classes)) * sharp
    e: Matrix = np.exp(z - z.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e


def awkward(n_classes: int, dtype: str = "float64") -> Matrix:
    """Rows that break careless code: ties, zeros, one-hot, uniform, twins."""
    rng = np.random.default_rng(n_classes)
    eye = np.eye(n_classes)
    tied = np.round(softmax(6, n_classes, seed=1) * 8) + (np.arange(n_classes) == 0)
    zeros = np.where(rng.random((4, n_classes)) < 0.5, 0.0, 1.0) + eye[np.arange(4) % n_classes]
    rows = np.concatenate(
        [
            eye[:2],
            np.full((2, n_classes), 1.0),
            tied,
            zeros,
            softmax(6, n_classes, seed=2),
            softmax(2, n_classes, seed=2),
        ]
    )
    made: Matrix = (rows / rows.sum(axis=1, keepdims=True)).astype(dtype)
    return made


def draw(probs: Matrix, seed: int = 1000) -> npt.NDArray[np.int64]:
    """(n,) labels drawn from the rows."""
    chance = np.random.default_rng(seed).random((len(probs), 1))
    below = np.cumsum(probs, axis=1) < chance * probs.sum(axis=1, keepdims=True)
    labels: npt.NDArray[np.int64] = np.minimum(below.sum(axis=1), probs.shape[1] - 1)
    return labels
