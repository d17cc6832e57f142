"""60,000 of 1.21M × 1,000 items by CostAware(Entropy()) from a stream of batches: memory, time, and a ratio.

    python benchmarks/stream_select.py

The stream makes each batch anew by rolling the columns of one block of probabilities, so that the whole pool, 4.8 GB,
never exists. Peak memory (the kernel's own mark, set back just before) counts from what the process held before,
plus one batch.

The ratio compares one pass (checks, entropy, set size, price) with the authors' way on the same batches: an entropy
over the whole matrix and a Python loop that makes every row's set. Their code runs on torch tensors; the same lines on
NumPy arrays, whose loop is faster, are printed beside it. Batches are made outside the clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench import Report, best_of, realistic

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Predictions

N, N_CLASSES, BATCH, PICK = 1_210_000, 1_000, 10_000, 60_000
MEGABYTE = 1 << 20


class Pool:
    """A re-iterable stream: batch i is the same block, its columns rolled by i, so every batch differs."""

    def __init__(self, batches: int) -> None:
        self.block = realistic(BATCH, N_CLASSES, seed=1)[0]
        self.batches = batches
        self.seconds = 0.0  # spent making batches

    def __iter__(self) -> Iterator[Predictions]:
        for i in range(self.batches):
            start = time.perf_counter()
            batch = np.roll(self.block, i, axis=1)
            self.seconds += time.perf_counter() - start
            yield Predictions(batch)


def memory(mark: str) -> int:
    """VmRSS, what this process holds, or VmHWM, the most it has held since the mark was set back; in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(mark))


def set_mark_back() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def authors_way(probs: Any, threshold: float, xp: Any) -> Any:
    """Entropy, then each row's set by a loop, then prices from the sizes."""
    entropy = -(probs * xp.log(probs)).sum(1)
    sets = [xp.where(row <= 1 - threshold)[0] for row in 1 - probs]
    sizes = np.array([len(members) for members in sets])
    return entropy, np.log2(sizes + 1)


def main() -> None:
    probs, labels = realistic(5_000, N_CLASSES, seed=0)
    query = CandidateSet().calibrate(probs, labels)
    assert query.threshold is not None
    method, rng = CostAware(Entropy()), np.random.default_rng(0)
    method.select(probs, n=10, rng=rng, price=query.price)  # everything is imported and warm

    pool = Pool(N // BATCH)
    set_mark_back()
    before = memory("VmRSS") + pool.block.nbytes  # and one batch
    start = time.perf_counter()
    picks = method.select(pool, n=PICK, rng=rng, price=query.price)
    seconds = time.perf_counter() - start
    above = (memory("VmHWM") - before) / MEGABYTE

    batch = pool.block
    ours = best_of(5, lambda: method.select(batch, n=PICK, rng=rng, price=query.price)) / BATCH
    in_numpy = best_of(3, lambda: authors_way(batch, query.threshold or 0.0, np)) / BATCH

    report = Report(f"{PICK:,} of {N:,} × {N_CLASSES:,} by CostAware(Entropy()), a stream of {BATCH:,}")
    report.bar("peak memory above one batch", f"{above:.0f} MB", "< 300 MB", above < 300)
    report.line("the pool itself would take", f"{4 * N * N_CLASSES / MEGABYTE:,.0f} MB")
    report.line("one pass", f"{seconds - pool.seconds:.1f} s, and {pool.seconds:.1f} s to make the batches")
    assert len(set(picks.tolist())) == PICK
    report.line("per item, ours", f"{1e6 * ours:.2f} µs")
    report.line("per item, a loop over NumPy rows", f"{1e6 * in_numpy:.2f} µs, {in_numpy / ours:.1f}×")
    compare_with_torch(report, batch, query.threshold, ours)
    report.finish()


def compare_with_torch(report: Report, batch: Any, threshold: float, ours: float) -> None:
    try:
        import torch
    except ImportError:
        report.line("per item, the authors' loop over torch rows", "torch is not installed")
        return
    report.packages = (*report.packages, "torch")
    rows = torch.from_numpy(batch)
    theirs = best_of(3, lambda: authors_way(rows, threshold, torch)) / BATCH
    report.bar(
        "per item, the authors' loop over torch rows",
        f"{1e6 * theirs:.2f} µs, {theirs / ours:.1f}×",
        "≥ 5×",
        theirs >= 5 * ours,
    )


if __name__ == "__main__":
    main()
