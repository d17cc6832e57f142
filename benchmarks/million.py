"""Acquisition on 1.21M items × 1,000 classes × 512 features, on one GPU: whole `select` calls, one run each.

    python benchmarks/million.py --out benchmarks/results
    python benchmarks/million.py --scale 0.01 --out benchmarks/out      # a smoke run, on a CPU too

Every result is written as soon as it is there; started again, it goes on with what is missing (of the same commit).
Data are made on the device by a seeded generator. Features lie on a mixture of Gaussians in 24 dimensions, turned into
512 with a little noise and brought to unit length: distances then differ as those of trained features do, and a radius
with 100 items in it on average exists. In 512 dimensions of noise a ball would hold a whole cluster or nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log, log2
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from alone import MEGABYTE, give_back, memory, set_mark_back
from bench import Report, progress
from kept import RESULTS, Kept

from shortlist.acquisition.badge import Badge
from shortlist.acquisition.core_set import CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.method import Method
from shortlist.acquisition.prob_cover import ProbCover
from shortlist.acquisition.saal import Saal
from shortlist.acquisition.typi_clust import TypiClust

N, N_CLASSES, WIDTH, LATENT, CLUSTERS, DEGREE = 1_210_000, 1_000, 512, 24, 1_000, 100
FEW, MANY = 5_000, 60_000  # picks
BLOCK = 100_000  # items made together
SAMPLE = 256  # items whose neighbours are counted
LISTS = 4 << 30  # bytes for ProbCover's lists: 8 a neighbour, 1 GB at this degree

Tensor: TypeAlias = torch.Tensor


class Data:
    """The pool on the device; each array is made when a method first wants it."""

    def __init__(self, n: int, clusters: int, device: str) -> None:
        self.n, self.clusters, self.device = n, clusters, device

    def generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)

    @cached_property
    def probs(self) -> Tensor:
        """(n, L) float32: a favourite class above noise, sure to different degrees."""
        source = self.generator(0)
        probs = torch.empty((self.n, N_CLASSES), device=self.device)
        for block in blocks(probs):
            block.normal_(generator=source)
            rows = torch.arange(len(block), device=self.device)
            favourite = torch.randint(N_CLASSES, (len(block),), generator=source, device=self.device)
            sure = torch.empty(len(block), device=self.device).exponential_(1 / 3, generator=source)
            block[rows, favourite] += log(N_CLASSES) + sure
            block.copy_(block.softmax(dim=1))
        return probs

    @cached_property
    def features(self) -> Tensor:
        """(n, D) float32 of unit length, clustered; embeddings too."""
        source = self.generator(1)
        centres = torch.randn((self.clusters, LATENT), generator=source, device=self.device)
        basis = torch.randn((LATENT, WIDTH), generator=source, device=self.device) / LATENT**0.5
        features = torch.empty((self.n, WIDTH), device=self.device)
        for block in blocks(features):
            of = torch.randint(self.clusters, (len(block),), generator=source, device=self.device)
            inside = torch.randn((len(block), LATENT), generator=source, device=self.device)
            block.normal_(std=0.05, generator=source)
            block += (centres[of] + 0.5 * inside) @ basis
            block /= block.norm(dim=1, keepdim=True)
        return features

    @cached_property
    def losses(self) -> Tensor:
        return torch.empty(self.n, device=self.device).exponential_(generator=self.generator(2))

    @cached_property
    def price(self) -> Tensor:
        return 1 + (log2(N_CLASSES + 1) - 1) * torch.rand(self.n, generator=self.generator(3), device=self.device)

    @cached_property
    def delta(self) -> float:
        """The radius with DEGREE others in it on average, by the first items."""
        squared = 2 - 2 * (self.features[:SAMPLE] @ self.features.T)
        return float(squared.flatten().kthvalue(SAMPLE * (DEGREE + 1)).values.clamp(min=0).sqrt())

    @cached_property
    def degrees(self) -> Tensor:
        """How many others the next items have within delta."""
        cosines = self.features[SAMPLE : 2 * SAMPLE] @ self.features.T
        return (cosines >= 1 - self.delta**2 / 2).sum(dim=1) - 1

    def first(self, n: int) -> Data:
        """A small pool of the same arrays, for warming up."""
        few = Data(n, self.clusters, self.device)
        made = {name: self.__dict__[name] for name in ("probs", "features", "losses", "price") if name in self.__dict__}
        few.__dict__.update({name: array[:n] for name, array in made.items()}, delta=self.__dict__.get("delta"))
        return few


def blocks(array: Tensor) -> Iterator[Tensor]:
    for start in range(0, len(array), BLOCK):
        yield array[start : start + BLOCK]


@dataclass(frozen=True)
class Job:
    """A method, the fields of the pool it looks at, and how many items it picks."""

    name: str
    make: Callable[[Data], Method]
    fields: tuple[str, ...]
    pick: int
    at_most: float | None = None  # seconds, on one H200
    d: float | None = None  # cost-aware with this d

    def call(self, data: Data, pick: int) -> Any:
        method, given = self.make(data), {field: getattr(data, SOURCE[field]) for field in self.fields}
        rng = np.random.default_rng(0)
        if self.d is None:
            return method.select(None, n=pick, rng=rng, **given)
        return CostAware(method, self.d).select(None, n=pick, rng=rng, price=data.price, **given)


SOURCE = {"probs": "probs", "embeddings": "features", "features": "features", "losses": "losses"}
BOTH, EMBEDDINGS, FEATURES = ("probs", "embeddings"), ("embeddings",), ("features",)
D = 0.3


def cover(data: Data) -> ProbCover:
    return ProbCover(delta=data.delta, memory=LISTS)


def badge(scale: Any = "sum") -> Callable[[Data], Method]:
    return lambda data: Badge(scale=scale, storage="bfloat16")


JOBS = (
    Job("BADGE, 5,000 picks", badge(), BOTH, FEW, at_most=5),
    Job("CostAware(BADGE), 5,000 picks", badge(), BOTH, FEW, d=D),
    Job("CostAware(BADGE by max), 5,000 picks", badge("max"), BOTH, FEW, d=D),
    Job("CoreSet, 5,000 picks", lambda data: CoreSet(), EMBEDDINGS, FEW),
    Job("TypiClust, 5,000 picks", lambda data: TypiClust(), FEATURES, FEW),
    Job("SAAL, 60,000 picks", lambda data: Saal(), ("losses",), MANY),
    Job("SAAL diverse, 5,000 picks", lambda data: Saal(diversity=True), ("losses",), FEW),
    Job("CostAware(Entropy), 60,000 picks", lambda data: Entropy(), ("probs",), MANY, d=D),
    Job("ProbCover, 1 pick: its lists alone", cover, FEATURES, 1),
    Job("ProbCover, 60,000 picks", cover, FEATURES, MANY, at_most=60),
    Job("CostAware(ProbCover), 60,000 picks", cover, FEATURES, MANY, d=D),
    Job("BADGE, 60,000 picks", badge(), BOTH, MANY, at_most=65),
    Job("CostAware(BADGE), 60,000 picks", badge(), BOTH, MANY, d=D),
    Job("CostAware(BADGE by max), 60,000 picks", badge("max"), BOTH, MANY, d=D),
)
NOTE = (
    "Whole select calls on arrays that lie on the device, one run each after a small one to warm up; memory is the "
    f"peak above the arrays. BADGE stores bfloat16; ProbCover may keep lists of {LISTS >> 30} GiB; CostAware has "
    f"d = {D}."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="jobs whose names begin like this")
    parser.add_argument("--scale", type=float, default=1.0, help="of items and picks")
    parser.add_argument("--again", action="store_true", help="measure what is already there once more")
    chosen = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = Data(round(N * chosen.scale), max(10, round(CLUSTERS * chosen.scale)), device)
    report = begun(chosen.out, chosen.scale, data)
    jobs = [job for job in JOBS if chosen.only is None or job.name.startswith(tuple(chosen.only))]
    for job in jobs:
        if chosen.again or job.name not in {row.what for row in report.rows}:
            measure(job, data, chosen.scale, report)
            report.keep(chosen.out)
    report.show()
    sys.exit(1 if report.missed else 0)


def begun(out: Path, scale: float, data: Data) -> Report:
    """What an earlier run of the same code has left, or an empty table."""
    benchmark = "million" if scale == 1 else f"million-{scale:g}"
    title = f"{data.n:,} items × {N_CLASSES:,} classes × {WIDTH} features on a {data.device.upper()}"
    report = Report(title, ("torch", "array-api-compat"), NOTE, seeds=(0, 1, 2, 3), benchmark=benchmark)
    empty = report.kept()
    path = empty.path(out)
    if path.exists() and (before := Kept.read(path)).commit == empty.commit:
        report.rows += before.rows
    return report


def measure(job: Job, data: Data, scale: float, report: Report) -> None:
    progress(job.name)
    pick = min(job.pick, max(1, round(job.pick * scale)))
    for field in job.fields:
        getattr(data, SOURCE[field])  # made before the clock starts
    _ = data.price, data.delta if job.make is cover else None
    job.call(data.first(min(data.n, 2_000)), 5)  # everything is loaded and warm
    mark = Mark(data.device)
    start = time.perf_counter()
    picks = job.call(data, pick)
    values = {"s": mark.now() - start, "MB": mark.megabytes()}
    assert len(set(picks.tolist())) == pick
    bars = {"s": job.at_most} if job.at_most is not None and scale == 1 else {}
    report.rows = [row for row in report.rows if row.what != job.name]
    report.measured(job.name, values, at_most=bars, note=told(job, data, pick))


def told(job: Job, data: Data, pick: int) -> str:
    picks = f"{pick:,} picks" if pick != job.pick else ""
    if job.make is not cover:
        return picks
    mean, most = float(data.degrees.double().mean()), int(data.degrees.max())
    edges = mean * data.n / 1e6
    found = f"δ {data.delta:.4f}; by {SAMPLE} items mean degree {mean:.0f}, at most {most:,}, {edges:.1f}M edges"
    return f"{picks}, {found}" if picks else found


class Mark:
    """The clock and the peak of memory, on either kind of device."""

    def __init__(self, device: str) -> None:
        self.cuda = device == "cuda"
        if self.cuda:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        else:
            give_back()
            set_mark_back()
        self.before = torch.cuda.memory_allocated() if self.cuda else memory("VmRSS")

    def now(self) -> float:
        if self.cuda:
            torch.cuda.synchronize()
        return time.perf_counter()

    def megabytes(self) -> float:
        peak = torch.cuda.max_memory_allocated() if self.cuda else memory("VmHWM")
        return (peak - self.before) / MEGABYTE


if __name__ == "__main__":
    main()
