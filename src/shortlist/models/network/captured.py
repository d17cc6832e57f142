"""A training step as one launch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

WARM_UP = 3  # steps before a capture: they compile, choose algorithms and make the optimiser's state


def captured(step: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """The step itself on a CPU; on a GPU a replay of it, which reads and writes the tensors of this call.

    Whatever the steps learn meanwhile has to be undone by the caller.
    """
    if device.type != "cuda":
        return step
    here, aside = torch.cuda.current_stream(device), torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    aside.wait_stream(here)
    with fastest(), torch.cuda.stream(aside), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TensorFloat32", UserWarning)  # 32 bits are asked for where they are used
        warnings.filterwarnings("ignore", r"\s*Online softmax is disabled", UserWarning)  # a choice of the compiler's
        for _ in range(WARM_UP):
            step()
    here.wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with fastest(), torch.cuda.graph(graph):
        step()
    replay: Callable[[], None] = graph.replay
    return replay


@contextmanager
def fastest() -> Iterator[None]:
    """cuDNN tries its algorithms and takes the fastest."""
    tf32 = torch.backends.cudnn.allow_tf32
    with torch.backends.cudnn.flags(enabled=True, benchmark=True, deterministic=False, allow_tf32=tf32):
        yield
