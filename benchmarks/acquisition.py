"""Each acquisition function beside the libraries that have it, on the same arrays in one run.

    python benchmarks/acquisition.py [--only BADGE …] [--keep]

Every call runs in a process of its own. Seconds are of the fastest of the runs that fit into two seconds, the same rule
for both sides; memory is the most that was held above what the process held before the call. Peers get everything a
model would compute (probabilities, embeddings) ready-made, so that the acquisition alone is timed; they are run on
float32 and on float64 arrays, ours on float32; both with all threads and with one, and the fastest counts.

Run it on a quiet machine. Threads that wait for each other on busy cores made scikit-activeml's CoreSet ten times
slower, and ours hardly: ratios taken there flatter us. How busy it was is kept with the results.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import peers
from alone import Alone, TooLong, Work, alone
from arrays import Arrays
from bench import Report, progress
from ours import ours

NOTE = (
    "Whole calls of select and of the peers' own query functions on the same arrays, each in a process of its own. "
    "Peers are given probabilities and embeddings ready-made, in float32 and in float64; both sides run with all "
    "threads and with one; the fastest counts. × is a peer's seconds over ours. Memory is the peak above what was "
    "held before. 100 items are labelled where nothing else is said."
)
PACKAGES = ("scipy", "scikit-learn", "scikit-activeml", "small-text", "modAL-python")
LABELLED = 100

Call: TypeAlias = Callable[[Arrays, int], Work]
Bars: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Form:
    """How a call is given its arrays and cores."""

    dtype: str
    threads: int | None  # None: as many as it likes

    def __str__(self) -> str:
        return self.dtype if self.threads is None else f"{self.dtype}, 1 thread"


OURS = (Form("float32", None), Form("float32", 1))
THEIRS = (*OURS, Form("float64", None), Form("float64", 1))


@dataclass(frozen=True)
class Contest:
    """One method on one pool, and what is asked of it."""

    name: str
    method: str
    size: tuple[int, int, int]  # items, classes, width of embeddings
    pick: int
    peers: peers.Peers = field(default_factory=dict)
    at_most: Bars = field(default_factory=dict)  # of ours
    ratio: float | None = None  # at least so many times as fast as scikit-activeml
    needed: str = ""  # why a peer is not run here
    degree: int = 50  # ProbCover's neighbours on average
    labelled: int = LABELLED

    @property
    def about(self) -> str:
        n, n_classes, width = self.size
        shape = {"Badge": f"({n_classes}, {width})"}.get(self.method, n_classes if self.by_probs else width)
        known = "" if self.labelled == LABELLED else f", {self.labelled} labelled"
        return f"{self.name}, {n:,} × {shape}, pick {self.pick}{known}"

    @property
    def by_probs(self) -> bool:
        return self.method in peers.UNCERTAINTY


SMALL, LARGE = (10_000, 100, 128), (50_000, 100, 512)
CONTESTS = (
    Contest("BADGE", "Badge", SMALL, 100, peers.BADGE, at_most={"MB": 200}, ratio=100),
    Contest(
        "BADGE",
        "Badge",
        LARGE,
        500,
        at_most={"s": 6},
        needed="not run: their matrix (items, classes × width), float64 whatever comes in, is 20.5 GB",
    ),
    Contest("CoreSet", "CoreSet", SMALL, 100, peers.CORE_SET, ratio=20),
    Contest("CoreSet", "CoreSet", SMALL, 100, peers.CORE_SET, ratio=20, labelled=1),
    Contest("TypiClust", "TypiClust", SMALL, 100, peers.TYPI_CLUST, ratio=5),
    Contest("ProbCover", "ProbCover", SMALL, 100, peers.PROB_COVER, ratio=5),
    Contest(
        "ProbCover",
        "ProbCover",
        LARGE,
        500,
        at_most={"MB": 1500},
        needed="not run: their matrix (items, items) of distances is 10 GB in float32, and its comparison 2.5 GB",
    ),
    *(Contest(name, name, (50_000, 100, 1), 500, found) for name, found in peers.UNCERTAINTY.items()),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help=", ".join(dict.fromkeys(c.name for c in CONTESTS)))
    parser.add_argument("--keep", action="store_true", help="write the results to benchmarks/results/")
    chosen = parser.parse_args()
    report = Report("Acquisition functions beside their peers", PACKAGES, NOTE)
    for contest in CONTESTS:
        if chosen.only is None or contest.name in chosen.only:
            compare(contest, report)
    report.finish()


def compare(contest: Contest, report: Report) -> None:
    arrays = Arrays.make(*contest.size, labelled=contest.labelled)
    if contest.method == "ProbCover":
        arrays = arrays.covering(contest.degree)
    report.under(contest.about)
    _, mine = fastest(contest, "ours", ours(contest.method), arrays, OURS)
    report.measured("ours", cost(mine), at_most=contest.at_most)
    _, aware = fastest(contest, "cost-aware", ours(contest.method, True), arrays, OURS)
    report.measured("ours, cost-aware", cost(aware))
    for name, call in contest.peers.items():
        beside(contest, report, arrays, mine, name, call)
    if contest.needed:
        report.line("peers", contest.needed)


def beside(contest: Contest, report: Report, arrays: Arrays, mine: Alone, name: str, call: Call) -> None:
    try:
        form, theirs = fastest(contest, name, call, arrays, THEIRS)
    except TooLong as late:
        report.line(name, str(late))
        return
    bars = {"×": contest.ratio} if contest.ratio is not None and name == "scikit-activeml" else {}
    values = cost(theirs) | {"×": theirs.seconds / mine.seconds}
    report.measured(name, values, at_least=bars, note=str(form))
    if said := agreement(contest, arrays, np.asarray(mine.result), np.asarray(theirs.result)):
        report.line(f"{name}: agreement", said)


def fastest(contest: Contest, name: str, call: Call, arrays: Arrays, forms: tuple[Form, ...]) -> tuple[Form, Alone]:
    progress(f"{contest.about}: {name}")
    found = [(form, run(contest, call, arrays.astype(form.dtype), form.threads)) for form in forms]
    return min(found, key=lambda pair: pair[1].seconds)


def run(contest: Contest, call: Call, arrays: Arrays, threads: int | None) -> Alone:
    few = arrays.first(500)
    return alone(lambda: call(arrays, contest.pick), warm=lambda: call(few, 5)(), threads=threads)


def cost(found: Alone) -> Bars:
    return {"s": found.seconds, "MB": found.megabytes}


def agreement(contest: Contest, arrays: Arrays, mine: Any, theirs: Any) -> str:
    """What must agree where both are right; of methods that draw at random, how well what they drew does."""
    if contest.method == "Badge":
        at_random = np.random.default_rng(0).choice(arrays.size, contest.pick, replace=False)
        left, norms = zip(*(spread(arrays, picks) for picks in (mine, theirs, at_random)), strict=True)
        told = [
            f"{name} ours {a:,.0f}, theirs {b:,.0f}, random {c:,.0f}"
            for name, (a, b, c) in (("ΣD² left", left), ("‖g‖² of picks", norms))
        ]
        return "; ".join(told)
    if contest.method == "CoreSet" or contest.by_probs:
        return f"{len(set(mine) & set(theirs))} of {contest.pick} picks the same"
    if contest.method == "ProbCover":
        first, whole = ([covered(arrays, picks[:n]) for picks in (mine, theirs)] for n in (1, None))
        return f"the first picks cover {first[0]} and {first[1]} items, all picks {whole[0]:,} and {whole[1]:,}"
    return ""


def spread(arrays: Arrays, picks: Any) -> tuple[float, float]:
    """ΣD², which k-means++ lowers, and the mean ‖g‖² of the picks; g = u ⊗ h in float64, by the definition."""
    u, h = -arrays.probs.astype(np.float64), arrays.embeddings.astype(np.float64)
    u[np.arange(len(u)), u.argmin(axis=1)] += 1
    norms = (u * u).sum(axis=1) * (h * h).sum(axis=1)
    inner = (u @ u[picks].T) * (h @ h[picks].T)
    squared = norms[:, None] + norms[picks] - 2 * inner
    return float(squared.min(axis=1).clip(0).sum()), float(norms[picks].mean())


def covered(arrays: Arrays, picks: Any) -> int:
    """Items within delta of a pick and of nothing labelled."""
    near = 1 - arrays.delta**2 / 2  # ‖f − f'‖ ≤ δ, at unit length
    before = (arrays.features @ arrays.labelled_features.T >= near).any(axis=1)
    return int(((arrays.features @ arrays.features[picks].T >= near).any(axis=1) & ~before).sum())


if __name__ == "__main__":
    main()
