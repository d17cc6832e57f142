"""What every benchmark here needs: a clock, realistic probabilities, and a table that says whether the bars are met."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table


def best_of(runs: int, work: Callable[[], Any]) -> float:
    """Seconds of the fastest run: the one that other processes disturbed least."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def realistic(n: int, n_classes: int, seed: int, dtype: str = "float32") -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(n, L) softmax probabilities, some sure and some not, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((n, n_classes), dtype=np.float32).astype(dtype)
    favourite = rng.integers(n_classes, size=n)
    logits[np.arange(n), favourite] += np.log(n_classes) + rng.gamma(2, 1.5, n).astype(dtype)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    labels = (np.cumsum(probs, axis=1, dtype=np.float64) < rng.random((n, 1))).sum(axis=1)
    return probs, np.minimum(labels, n_classes - 1)


@dataclass
class Report:
    """Lines of a benchmark; those with a bar decide the exit status."""

    title: str
    packages: tuple[str, ...] = ()
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    missed: int = 0

    def line(self, what: str, measured: str) -> None:
        self.rows.append((what, measured, "", ""))

    def bar(self, what: str, measured: str, bar: str, met: bool) -> None:
        self.rows.append((what, measured, bar, "met" if met else "MISSED"))
        self.missed += not met

    def finish(self) -> None:
        console = Console(width=None if sys.stdout.isatty() else 110)
        table = Table("", "measured", "bar", "", title=self.title, title_justify="left", caption=self._where())
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        sys.exit(1 if self.missed else 0)

    def _where(self) -> str:
        versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", *self.packages))
        return f"{processor()}, {len(os.sched_getaffinity(0))} core(s); Python {platform.python_version()}, {versions}"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
