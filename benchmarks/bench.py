"""What every benchmark here needs: a clock, realistic arrays, and a table that says whether the bars are met."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from kept import RESULTS, Kept, Row
from machine import BUSY, busy, commit, cores, machine, processor, versions
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
    """Lines of a benchmark; those with a bar decide the exit status. `--keep` writes them to `results/` too."""

    title: str
    packages: tuple[str, ...] = ()
    note: str = ""  # what is compared, for whoever sees the table alone
    seeds: tuple[int, ...] = (0,)
    benchmark: str = field(default_factory=lambda: Path(sys.argv[0]).stem)
    rows: list[Row] = field(default_factory=list)
    about: str = ""

    def under(self, about: str) -> None:
        """The heading of the lines that follow."""
        self.about = about

    def line(self, what: str, measured: str) -> None:
        self.rows.append(Row(what, measured, self.about))

    def bar(self, what: str, measured: str, bar: str, met: bool) -> None:
        self.rows.append(Row(what, measured, self.about, bar=bar, met=bool(met)))

    def measured(
        self,
        what: str,
        values: Mapping[str, float],
        *,
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        note: str = "",
    ) -> None:
        """Numbers by unit, and bars for some of them: `measured("ours", {"s": 0.1, "MB": 25}, at_most={"MB": 200})`."""
        most, least = at_most or {}, at_least or {}
        bars = [f"≤ {told(b, u)}" for u, b in most.items()] + [f"≥ {told(b, u)}" for u, b in least.items()]
        met = all(values[u] <= b for u, b in most.items()) and all(values[u] >= b for u, b in least.items())
        words = ", ".join([told(value, unit) for unit, value in values.items()] + [note] * bool(note))
        kept = {unit: float(f"{value:.4g}") for unit, value in values.items()}
        self.rows.append(Row(what, words, self.about, kept, ", ".join(bars), met if bars else None))

    @property
    def missed(self) -> int:
        return sum(row.met is False for row in self.rows)

    def finish(self) -> None:
        self.show()
        if "--keep" in sys.argv:
            self.keep()
        sys.exit(1 if self.missed else 0)

    def show(self) -> None:
        console = Console(width=None if sys.stdout.isatty() else 110)
        table = Table("", "measured", "bar", "", title=self.title, title_justify="left", caption=self._where())
        for cells in self._cells():
            table.add_row(*cells)
        console.print(table)
        if (others := busy()) > BUSY:
            console.print(f"[yellow]Others had {others} cores busy: trust no time or ratio of this run.")

    def keep(self, folder: Path = RESULTS) -> Path:
        return self.kept().write(folder)

    def kept(self) -> Kept:
        return Kept(
            benchmark=self.benchmark,
            title=self.title,
            note=self.note,
            machine=machine(),
            versions=versions(("numpy", *self.packages)),
            seeds=self.seeds,
            date=date.today().isoformat(),
            commit=commit(),
            rows=tuple(self.rows),
        )

    def _cells(self) -> Iterator[tuple[str, str, str, str]]:
        about = ""
        for row in self.rows:
            if row.about != about:
                about = row.about
                yield f"[bold]{about}", "", "", ""
            indent = "  " if about else ""
            yield indent + row.what, row.measured, row.bar, "" if row.met is None else "met" if row.met else "MISSED"

    def _where(self) -> str:
        named = ", ".join(f"{name} {number}" for name, number in versions(("numpy", *self.packages)).items())
        return "\n".join([self.note] * bool(self.note) + [f"{processor()}, {cores()} core(s); {named}"])


def told(value: float, unit: str) -> str:
    """A number with three digits and its unit, in the one people read it in.

    >>> told(0.0042, "s"), told(3051, "MB"), told(12.34, "×"), told(1234567, "items")
    ('4.2 ms', '3.05 GB', '12.3×', '1,234,567 items')
    """
    if unit == "s" and 0 < value < 0.1:
        value, unit = 1e3 * value, "ms"
    if unit == "MB" and value >= 1000:
        value, unit = value / 1000, "GB"
    value = round(value, 1) if unit == "MB" else value
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits}{unit}" if unit in ("×", "%") else f"{digits} {unit}"


def progress(words: str) -> None:
    """What is being measured, for whoever is watching."""
    if sys.stderr.isatty():
        print(f"… {words}", file=sys.stderr)
