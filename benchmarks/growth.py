"""How each acquisition function grows with the pool: 1,000 to 1,000,000 items, plain and cost-aware.

    python benchmarks/growth.py [--cap SECONDS] [--most ITEMS] [--keep]

Between two sizes the exponent is log(seconds ratio) / log(size ratio): 1 is linear, 2 quadratic. A call that two
smaller ones say would take longer than `--cap` is not run, and the table says what was expected. ProbCover's delta is
chosen for every size so that an item has 30 others near on average.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from alone import Alone, TooLong, alone
from arrays import Arrays
from bench import Report, progress, told
from ours import METHODS, call

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
N_CLASSES, WIDTH, PICK, LABELLED, DEGREE = 100, 64, 100, 100, 30
RELIABLE = 0.02  # seconds; below, the fixed cost of a call hides how it grows
NOTE = (
    f"{N_CLASSES} classes, {WIDTH} features, {PICK} picks, {LABELLED} labelled. After the seconds and the peak memory, "
    "the exponent of growth since the size before, where that one took at least 20 ms."
)


@dataclass(frozen=True)
class Point:
    """A method on a pool of some size; `found` is None where there is no result, and `told` says why."""

    method: str
    size: int
    found: Alone | None
    expected: float = 0.0  # seconds, where there is no result
    told: str = ""
    at_least: bool = False  # it may take longer than expected: it was ended, or a smaller one was

    @property
    def seconds(self) -> float:
        return self.expected if self.found is None else self.found.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cap", type=float, default=10.0, help="seconds; a call expected to take longer is not run")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="items of the largest pool")
    parser.add_argument("--keep", action="store_true", help="write results and figure to benchmarks/results/")
    chosen = parser.parse_args()
    sizes = tuple(size for size in SIZES if size <= chosen.most)
    report = Report("Growth with the size of the pool", ("scipy", "scikit-learn"), NOTE)
    points: list[Point] = []
    for method, line in sweep(sizes, chosen.cap):
        report.under(method)
        for point, before in zip(line, [None, *line], strict=False):
            tell(report, point, before)
        points += line
    if chosen.keep:
        draw(points, report.keep().with_suffix(".svg"))
    report.finish()


def sweep(sizes: tuple[int, ...], cap: float) -> Iterator[tuple[str, list[Point]]]:
    progress(f"making {sizes[-1]:,} items")
    everything = Arrays.make(sizes[-1], N_CLASSES, WIDTH, LABELLED)
    pools = [everything.first(size).covering(DEGREE) for size in sizes]
    for method in METHODS:
        for cost_aware in (False, True):
            name = f"CostAware({method})" if cost_aware else method
            line: list[Point] = []
            for pool in pools:
                line.append(measured(name, method, cost_aware, pool, line, cap))
            yield name, line


def measured(name: str, method: str, cost_aware: bool, pool: Arrays, before: list[Point], cap: float) -> Point:
    expected, limit = extrapolated(before, pool.size), 3 * cap + 5  # and what it takes to load and to run again
    if expected > cap:
        more = bool(before) and before[-1].at_least
        why = f"not run: expected {'more than ' * more}{told(expected, 's')}"
        return Point(name, pool.size, None, expected, why, more)
    progress(f"{name}, {pool.size:,} items")
    few = pool.first(300)
    try:
        found = alone(
            lambda: call(method, pool, PICK, cost_aware),
            warm=lambda: call(method, few, 5, cost_aware)(),
            cap=limit,
        )
    except TooLong as late:
        return Point(name, pool.size, None, limit, f"{late}, expected {told(expected, 's')}", at_least=True)
    return Point(name, pool.size, found)


def extrapolated(before: list[Point], size: int) -> float:
    """Seconds that the sizes before let expect: at least linear growth, at most cubic."""
    if not before:
        return 0.0
    slope = exponent(before[-2], before[-1]) if len(before) > 1 else None
    return before[-1].seconds * float((size / before[-1].size) ** min(3.0, max(1.0, slope or 1.0)))


def exponent(small: Point, large: Point) -> float | None:
    """None where the smaller took too little time to say."""
    if small.seconds < RELIABLE:
        return None
    return log(large.seconds / small.seconds) / log(large.size / small.size)


def tell(report: Report, point: Point, before: Point | None) -> None:
    what = f"{point.size:,} items"
    if point.found is None:
        report.line(what, point.told)
        return
    grown = None if before is None or before.found is None else exponent(before, point)
    values = {"s": point.found.seconds, "MB": point.found.megabytes}
    report.measured(what, values, note="" if grown is None else f"exponent {grown:.2f}")


def draw(points: list[Point], path: Path) -> Path:
    """Seconds against items on log-log axes, one line per method; dashed: cost-aware."""
    import altair as alt

    from shortlist.experiments.figures import COLOURS, save

    plain = dict(zip(METHODS, (*COLOURS, "#000000"), strict=False))
    rows = [row(point) for point in points if point.found is not None]
    scale = alt.Scale(type="log")
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=alt.OverlayMarkDef(size=40))
        .encode(
            x=alt.X("items:Q", title="Items", scale=scale, axis=alt.Axis(format="~s", values=list(SIZES))),
            y=alt.Y("seconds:Q", title="Seconds", scale=scale, axis=alt.Axis(format="~g", tickCount=6)),
            color=alt.Color(
                "method:N",
                scale=alt.Scale(domain=list(plain), range=list(plain.values())),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(
                "kind:N", sort=["plain", "cost-aware"], legend=alt.Legend(title=None, symbolType="stroke")
            ),
        )
        .properties(width=640, height=420)
    )
    return save(alt.layer(chart), path)


def row(point: Point) -> dict[str, Any]:
    aware = point.method.startswith("CostAware(")
    method = point.method.removeprefix("CostAware(").removesuffix(")") if aware else point.method
    kind = "cost-aware" if aware else "plain"
    return {"method": method, "kind": kind, "items": point.size, "seconds": point.seconds}


if __name__ == "__main__":
    main()
