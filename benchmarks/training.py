"""How fast ResNet18 learns from 32×32 images, augmentation included, beside the device's rate of matrix products.

    python benchmarks/training.py

Whole fits as a campaign calls them, on random images: dealing the batches, moving the images, mix-up, both passes and
the optimiser, by the wall clock until the device is done. The first fit compiles and captures the step; it is timed
by itself, and every later round plays what it captured. Operations of a step: three times those of the network's
forward pass, two for each multiplication.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from bench import Report

N, N_CLASSES, STEPS = 50_000, 100, {512: 800, 128: 2000}
BARS = {512: 80_000, 128: 48_000}
SIDE, TIMES = 8192, 20


def matrix_rate() -> float:
    """bfloat16 operations a second of a large product."""
    import torch

    a, b = (torch.randn(SIDE, SIDE, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    for timed in (False, True):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(TIMES):
            a @ b
        torch.cuda.synchronize()
        if timed:
            break
    return 2 * SIDE**3 * TIMES / (time.perf_counter() - start)


def operations(net: Any) -> float:
    """Of one image's forward and backward pass."""
    import torch

    found: list[int] = []

    def count(module: Any, _: Any, out: Any) -> None:
        found.append(module.weight.numel() * out[0].numel() // module.weight.shape[0])

    hooks = [m.register_forward_hook(count) for m in net.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    net(torch.zeros(1, 3, 32, 32))
    for hook in hooks:
        hook.remove()
    return 3 * 2 * sum(found)


def main() -> None:
    if find_spec("torch") is None:
        sys.exit("training: this benchmark needs torch and a CUDA device")
    import torch

    if not torch.cuda.is_available():
        sys.exit("training: this benchmark needs a CUDA device, and torch finds none")
    from shortlist.models.network.architectures import architecture
    from shortlist.models.network.trainer import Trainer
    from shortlist.models.network.training import training
    from shortlist.types import Labelled

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (N, 32, 32, 3), np.uint8)
    labelled = Labelled(np.arange(N), rng.integers(0, N_CLASSES, N), N_CLASSES)
    build = architecture("resnet18", N_CLASSES)
    rate, each = matrix_rate(), operations(build())
    report = Report(
        "training ResNet18 on 32×32 images, augmentation on",
        ("torch", "triton"),
        note=f"{each / 1e9:.2f} G operations an image; whole fits on {N:,} random images, by the wall clock",
    )
    report.measured(f"a bfloat16 product, {SIDE:,}³", {"TFLOP/s": rate / 1e12})
    for batch, steps in STEPS.items():
        report.under(f"batches of {batch}")
        table = {"base": "fast", "batch": batch, "epochs": 0, "min_steps": steps}
        trainer = Trainer(build, images, N_CLASSES, training(table), torch.device("cuda"))
        seconds = []
        for again in range(4):
            torch.cuda.synchronize()
            start = time.perf_counter()
            trainer.fit(labelled, np.random.default_rng(again))
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
        best = batch * steps / min(seconds[1:])
        report.measured(
            "a fit",
            {"images/s": best, "% of that rate": 100 * best * each / rate},
            at_least={"images/s": BARS[batch]},
            note=f"{1e3 * batch / best:.2f} ms a step",
        )
        report.measured("compiling and capturing, once", {"s": seconds[0] - min(seconds[1:])})
    report.measured("memory at most", {"MB": torch.cuda.max_memory_allocated() / 1e6})
    report.finish()


if __name__ == "__main__":
    main()
