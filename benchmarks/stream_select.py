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
from typing import Any

import numpy as np
from alone import MEGABYTE, give_back, memory, set_mark_back
from bench import Report, best_of, realistic

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Predictions

N, N_CLASSES, BATCH, PICK = 1_210_000, 1_000, 10_000, 60_000


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
    give_back()
    set_mark_back()
    before = memory("VmRSS") + pool.block.nbytes  # and one batch
    start = time.perf_counter()
    picks = method.select(pool, n=PICK, rng=rng, price=query.price)
    seconds = time.perf_counter() - start
    above = (memory("VmHWM") - before) / MEGABYTE

    batch = pool.block
    ours = best_of(5, lambda: method.select(batch, n=PICK, rng=rng, price=query.price)) / BATCH
    in_numpy = best_of(3, lambda: authors_way(batch, query.threshold or 0.0, np)) / BATCH

    note = "Per item: one pass (checks, entropy, set size, price) beside an entropy and a Python loop over rows."
    title = f"{PICK:,} of {N:,} × {N_CLASSES:,} by CostAware(Entropy()), a stream of {BATCH:,}"
    report = Report(title, note=note, seeds=(0, 1))
    report.measured("peak memory above one batch", {"MB": above}, at_most={"MB": 300})
    report.measured("the pool itself would take", {"MB": 4 * N * N_CLASSES / MEGABYTE})
    made = f"and {pool.seconds:.1f} s to make the batches"
    report.measured("one pass", {"s": seconds - pool.seconds}, note=made)
    assert len(set(picks.tolist())) == PICK
    report.measured("per item, ours", {"µs": 1e6 * ours})
    report.measured("per item, a loop over NumPy rows", {"µs": 1e6 * in_numpy, "×": in_numpy / ours})
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
    what = "per item, the authors' loop over torch rows"
    report.measured(what, {"µs": 1e6 * theirs, "×": theirs / ours}, at_least={"×": 5})


if __name__ == "__main__":
    main()
