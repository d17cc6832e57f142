"""How fast SimCLR learns on CIFAR-100, and how often the nearest neighbour by its features is of the same class.

    python benchmarks/simclr.py --data FOLDER [--epochs 200] [--out features.npy]

FOLDER holds `cifar-100-python`. The rate is that of a second fit, by the wall clock: a first one compiled and captured
the step. Then features are made as a recipe makes them, nothing kept on disk but `--out` (float16).
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
from bench import Report

BAR, TIMED, CHUNK = 70_000, 3, 4096  # views/s; epochs of the timed fit; items whose neighbours are found together


def nearest_neighbour_accuracy(features: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], k: int = 1) -> float:
    """The share of items whose k nearest others by features (N, D) of length 1 vote for their class."""
    import torch

    rows, classes = torch.from_numpy(features).cuda(), torch.from_numpy(labels).cuda()
    right = 0
    for start in range(0, len(rows), CHUNK):
        some = torch.arange(start, min(start + CHUNK, len(rows)), device=rows.device)
        alike = rows[some] @ rows.T
        alike[some - start, some] = -torch.inf  # itself
        votes = classes[alike.topk(k).indices].mode(dim=1).values
        right += int((votes == classes[some]).sum())
    return right / len(rows)


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    if find_spec("torch") is None:
        sys.exit("simclr: this benchmark needs torch and a CUDA device")
    import torch

    if not torch.cuda.is_available():
        sys.exit("simclr: this benchmark needs a CUDA device, and torch finds none")
    from shortlist import Cifar100, Simclr

    data = Cifar100(asked.data / "cifar-100-python")
    n = len(data.labels)
    report = Report("SimCLR on CIFAR-100", ("torch",), note=f"ResNet18, {n:,} images, batches of 512 × 2 views")
    learner = Simclr().learner(data.inputs)
    seconds = []
    for epochs in (1, TIMED):
        start = time.perf_counter()
        learner.fit(epochs, np.random.default_rng(0))  # ends by reading the loss: the device is done
        seconds.append(time.perf_counter() - start)
    views = 2 * TIMED * (n // learner.batch) * learner.batch
    report.measured("the step", {"views/s": views / seconds[1]}, at_least={"views/s": BAR})
    report.measured("compiling and capturing, once", {"s": seconds[0] - seconds[1] / TIMED})
    del learner
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        features = Simclr(epochs=asked.epochs, cache=folder).features(data)
    report.measured(f"{asked.epochs} epochs and the features, from nothing", {"s": time.perf_counter() - start})
    for k in (1, 20):
        report.measured(f"{k} nearest", {"%": 100 * nearest_neighbour_accuracy(features, data.labels, k)})
    if asked.out:
        np.save(asked.out, features.astype(np.float16))
    report.finish()


if __name__ == "__main__":
    main()
