"""The exact alpha* over every threshold of 5,000 calibration items × 1,000 classes, on one core.

    python benchmarks/alpha_star.py

Every distinct probability of a calibration label is a candidate; one sort and one sweep give the cost of them all.
Beside it the paper's grid of 50 alphas in our code, and the cost both leave on the calibration set: the exact one
may never be above the grid's.
"""

from __future__ import annotations

import os
from functools import partial

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"  # before NumPy is loaded

from bench import Report, best_of, realistic  # noqa: E402

from shortlist.queries.candidate_set import CandidateSet  # noqa: E402
from shortlist.queries.conventional import Conventional  # noqa: E402

N, N_CLASSES = 5_000, 1_000


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    probs, labels = realistic(N, N_CLASSES, seed=0)
    queries = {"exact": CandidateSet(), "grid": CandidateSet(search="grid")}
    seconds = {name: best_of(5, partial(query.calibrate, probs, labels)) for name, query in queries.items()}
    learnt = {name: query.calibrate(probs, labels) for name, query in queries.items()}
    cost = {name: float(query.plan(probs).charge(labels).sum()) for name, query in learnt.items()}
    conventional = float(Conventional().plan(probs).charge(labels).sum())

    note = "Every distinct probability of a calibration label is tried, beside the paper's grid of 50 alphas."
    report = Report(f"alpha* on {N:,} × {N_CLASSES:,} float32, one core", note=note)
    report.measured("exact, every threshold", {"s": seconds["exact"]}, at_most={"s": 1})
    report.measured("grid of 50", {"s": seconds["grid"]})
    for name, query in learnt.items():
        report.line(f"{name}: alpha, threshold", f"{query.alpha:.4f}, {query.threshold:.3g}")
    told = f"{cost['exact']:,.1f} ≤ {cost['grid']:,.1f} bits"
    report.bar("exact cost ≤ grid cost", told, "always", cost["exact"] <= cost["grid"] * (1 + 1e-12))
    report.measured("conventional", {"bits": conventional})
    report.finish()


if __name__ == "__main__":
    main()
