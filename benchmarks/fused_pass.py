"""Entropy, set size and price of 1.21M × 1,000 bfloat16 logits on a CUDA device, beside a copy of the same tensor.

    python benchmarks/fused_pass.py

A copy reads and writes every byte once; the pass reads every byte twice (a kernel for the entropy, one for the set
sizes) and writes next to nothing, so both move as many bytes. Times by the device's own clock (CUDA events) after
warm-up, the median of many; the whole call a user makes is timed by the wall clock, from logits on the device to
positions on the host, checks included.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
from bench import Report, realistic

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.scan import TENSOR_BLOCK, scan
from shortlist.logits import Logits, softmax
from shortlist.queries.candidate_set import CandidateSet
from shortlist.rows import count_at_least
from shortlist.types import Pool, Predictions

N, N_CLASSES, PICK = 1_210_000, 1_000, 60_000
RUNS = 30


def on_the_device() -> Any:
    """(n, L) bfloat16 logits, some rows sure and some not, as `bench.realistic` makes them."""
    import torch

    torch.manual_seed(0)
    z = torch.randn((N, N_CLASSES), dtype=torch.bfloat16, device="cuda")
    favourite = torch.randint(N_CLASSES, (N, 1), device="cuda")
    lead = np.log(N_CLASSES) + np.random.default_rng(0).gamma(2, 1.5, (N, 1))
    return z.scatter_add_(1, favourite, torch.from_numpy(lead).to(z))


def device_seconds(work: Callable[[], Any], runs: int = RUNS) -> float:
    """Median seconds by CUDA events."""
    import torch

    work()
    torch.cuda.synchronize()
    event: Any = partial(torch.cuda.Event, enable_timing=True)
    marks = [(event(), event()) for _ in range(runs)]
    for start, end in marks:
        start.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return median(float(start.elapsed_time(end)) for start, end in marks) / 1e3


def wall_seconds(work: Callable[[], Any], runs: int = RUNS) -> float:
    import torch

    work()
    seconds = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return median(seconds)


def plain(z: Any) -> Iterator[Predictions]:
    """The same items for the plain version, which works on probabilities, a block at a time."""
    rows = TENSOR_BLOCK // N_CLASSES
    return (Predictions(softmax(z[i : i + rows, :])) for i in range(0, N, rows))


def apart(ours: Any, theirs: Any) -> str:
    share = float((ours != theirs).double().mean())
    return f"{float((ours - theirs).abs().max()):.2g}, and {100 * share:.2g}% of the items differ at all"


def main() -> None:
    if find_spec("torch") is None:
        sys.exit("fused_pass: this benchmark needs torch and a CUDA device")
    import torch

    if not torch.cuda.is_available():
        sys.exit("fused_pass: this benchmark needs a CUDA device, and torch finds none")
    query = CandidateSet().calibrate(*realistic(5_000, N_CLASSES, seed=0))
    assert query.threshold is not None
    z = on_the_device()
    other, size = torch.empty_like(z), z.nbytes
    take = Entropy().gains, query.price

    def rate(seconds: float, moved: int) -> dict[str, float]:
        return {
            "s": seconds,
            "GB/s": moved / seconds / 1e9,
            "% of a copy": 100 * copy * moved / seconds / 2 / size,
        }

    report = Report(
        f"entropy, set size and price of {N:,} × {N_CLASSES:,} bfloat16 logits on the device",
        ("torch", "triton"),
        note=f"{size / 1e9:.2f} GB of logits; medians of {RUNS} runs",
    )
    copy = device_seconds(partial(other.copy_, z))
    report.measured("a plain copy of the logits", rate(copy, 2 * size))
    report.measured("entropy and two largest, one read", rate(device_seconds(lambda: Logits(z).summary), size))
    report.measured(
        "set sizes, one read", rate(device_seconds(lambda: count_at_least(Logits(z), query.threshold or 0)), size)
    )
    fused = device_seconds(lambda: scan(Pool(Logits(z)), *take))
    report.measured("the pass: checks, entropy, size, price", rate(fused, 2 * size), at_most={"s": 3e-3})
    usual = device_seconds(lambda: scan(Pool(plain(z)), *take), runs=3)
    report.measured("the plain version, in blocks", {"s": usual, "×": usual / fused})
    for name, ours, theirs in zip(
        ("entropy", "price"), scan(Pool(Logits(z)), *take), scan(Pool(plain(z)), *take), strict=True
    ):
        report.line(f"largest difference from it, {name}", apart(ours, theirs))

    method, rng = CostAware(Entropy()), np.random.default_rng(0)
    seconds = wall_seconds(lambda: method.select(Logits(z), n=PICK, rng=rng, price=query.price))
    report.measured(f"CostAware(Entropy()).select, n={PICK:,}, wall clock", {"s": seconds})
    report.finish()


if __name__ == "__main__":
    main()
