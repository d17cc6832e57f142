"""Two figures of results beside the paper's: a panel for each way to pick items, its Cost(·) in the same panel.

Lines are means over seeds, bands one standard deviation. The paper's numbers are drawn thin, with hollow points.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from shortlist.experiments import figures
from shortlist.experiments.paper import ACCURACY_PER_COST, ROUNDS
from shortlist.experiments.results import Row
from shortlist.experiments.tables import Spread

PLAIN = ("Ent", "BADGE", "ProbCover", "SAAL")
BLUE, ORANGE, GREEN = figures.COLOURS[:3]
SIZE = (380, 240)  # pixels, of one panel
Point = dict[str, Any]


def accuracy_against_cost(rows: Sequence[Row]) -> figures.Figure:
    """What conventional queries, candidate sets and cost-aware selection get for their cost."""
    points = [point for plain in PLAIN for point in _cost_points(rows, plain)]
    x = alt.X("x:Q", title="Relative cost, %", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    y = alt.Y("y:Q", title="Accuracy, %", scale=alt.Scale(zero=False))
    names = ("CQ", "CSQ", "CSQ, cost-aware", "CSQ, items at random")
    return _panels(points, x, y, names, (figures.QUIET, BLUE, ORANGE, GREEN), ((6, 4), (1, 0), (1, 0), (2, 3)))


def accuracy_per_cost(rows: Sequence[Row]) -> figures.Figure:
    """The paper's table as lines, ours and theirs."""
    points = [point for plain in PLAIN for point in _worth_points(rows, plain)]
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    x = alt.X("x:Q", title="Round", axis=axis, scale=alt.Scale(zero=False, nice=False, padding=12))
    y = alt.Y("y:Q", title="Accuracy per cost", scale=alt.Scale(zero=False))
    names = ("CSQ", "CSQ, cost-aware", "CSQ, the paper", "CSQ, cost-aware, the paper")
    return _panels(points, x, y, names, (BLUE, ORANGE, BLUE, ORANGE), ((1, 0), (1, 0), (3, 3), (3, 3)))


FIGURES: Mapping[str, Callable[[Sequence[Row]], figures.Figure]] = {
    "accuracy-against-cost": accuracy_against_cost,
    "accuracy-per-cost": accuracy_per_cost,
}


# --- points ----------------------------------------------------------------------------------------------------


def _cost_points(rows: Sequence[Row], plain: str) -> list[Point]:
    drawn = {
        "CQ": (plain, "conventional_relative_cost"),
        "CSQ": (plain, "relative_cost"),
        "CSQ, cost-aware": (f"Cost({plain})", "relative_cost"),
    }
    found = [
        point
        for series, (acquisition, x) in drawn.items()
        for point in _points(_of(rows, acquisition), plain, series, x, "accuracy")
    ]
    beside = _points(_of(rows, "Rand"), plain, "CSQ, items at random", "relative_cost", "accuracy")
    return found + beside if found else []


def _worth_points(rows: Sequence[Row], plain: str) -> list[Point]:
    drawn = {"CSQ": plain, "CSQ, cost-aware": f"Cost({plain})"}
    ours = [
        point
        for series, acquisition in drawn.items()
        for point in _points(_of(rows, acquisition), plain, series, "round", "accuracy_per_cost")
        if point["x"] in ROUNDS
    ]
    theirs = [
        {"panel": plain, "series": f"{series}, the paper", "x": number, "y": value, "low": None, "high": None}
        for series, acquisition in drawn.items()
        for number, value in zip(ROUNDS, ACCURACY_PER_COST[acquisition], strict=True)
    ]
    return ours + theirs if ours else []


def _of(rows: Iterable[Row], acquisition: str) -> list[Row]:
    return [row for row in rows if row["query"] == "CSQ" and row["acquisition"] == acquisition]


def _points(rows: Sequence[Row], panel: str, series: str, x: str, y: str) -> list[Point]:
    """One a round: the means over seeds, with a band where there are several."""
    points = []
    for number in sorted({row["round"] for row in rows}):
        members = [row for row in rows if row["round"] == number]
        at, high = Spread.of(row[x] for row in members), Spread.of(row[y] for row in members)
        if at.mean is not None and high.mean is not None:
            low, top = (None, None) if high.std is None else (high.mean - high.std, high.mean + high.std)
            points.append({"panel": panel, "series": series, "x": at.mean, "y": high.mean, "low": low, "high": top})
    return points


# --- drawing ---------------------------------------------------------------------------------------------------


def _panels(
    points: Sequence[Point],
    x: alt.X,
    y: alt.Y,
    names: Sequence[str],
    colours: Sequence[str],
    dashes: Sequence[tuple[int, ...]],
) -> figures.Figure:
    if not points:
        return None
    there = {point["series"] for point in points}
    look = [(name, *rest) for name, *rest in zip(names, colours, dashes, strict=True) if name in there]
    domain = [name for name, *_ in look]
    panels = [plain for plain in PLAIN if plain in {point["panel"] for point in points}]
    key = alt.Legend(title=None, orient="bottom", columns=2 if len(panels) == 1 else 4, symbolType="stroke")
    colour = alt.Scale(domain=domain, range=[c for _, c, _ in look])
    dash = alt.Scale(domain=domain, range=[list(d) for _, _, d in look])
    unnamed = alt.Scale(domain=[*domain, ""], range=[c for _, c, _ in look])  # see figures._unnamed
    is_paper = "indexof(datum.series, 'the paper') >= 0"
    base = alt.Chart().encode(x=x)
    line = base.mark_line(strokeJoin="round").encode(
        y=y,
        color=alt.Color("series:N", scale=colour, legend=key),
        strokeDash=alt.StrokeDash("series:N", scale=dash, legend=key),
        strokeWidth=alt.condition(is_paper, alt.value(1.4), alt.value(2.4)),
        order="x:Q",
    )
    dots = base.mark_point(strokeWidth=1.4, opacity=1).encode(
        y=y,
        stroke=alt.Stroke("series:N", scale=unnamed, legend=None),
        fill=alt.condition(is_paper, alt.value(figures.PAPER), alt.Fill("series:N", scale=unnamed, legend=None)),
        size=alt.condition(is_paper, alt.value(24), alt.value(34)),
    )
    band = (
        base.mark_area(opacity=0.14)
        .encode(y=alt.Y("low:Q"), y2="high:Q", fill=alt.Fill("series:N", scale=unnamed, legend=None))
        .transform_filter("datum.low !== null")
    )
    layers = [line, dots] if all(point["low"] is None for point in points) else [band, line, dots]
    header = alt.Header(labelFontSize=15, labelFontWeight=600, labelColor=figures.INK)
    facet = alt.Facet("panel:N", title=None, sort=panels, header=header)
    chart = alt.layer(*layers).properties(width=SIZE[0], height=SIZE[1])
    return chart.facet(facet, columns=2, data=alt.Data(values=list(points)))


# --- files -----------------------------------------------------------------------------------------------------


def draw(rows: Sequence[Row], folder: Path, name: str) -> list[Path]:
    """Write the figures that have something to show as SVG, each sealed with the numbers it was made from."""
    written = []
    for title, make in FIGURES.items():
        chart, path = make(rows), folder / f"{name}-{title}.svg"
        if chart is None:  # one that was drawn before stays: it is not ours to take away
            continue
        folder.mkdir(parents=True, exist_ok=True)
        figures.save(chart, path)
        path.write_text(f"{path.read_text('utf-8').rstrip()}\n<!-- {seal(chart)} -->\n", "utf-8")
        written.append(path)
    return written


def seal(chart: Any) -> str:
    """Tells a figure of these numbers from one of others, whatever machine has drawn it."""
    values = json.dumps(chart.to_dict()["data"], sort_keys=True)
    return f"made from {hashlib.sha256(values.encode()).hexdigest()[:16]}"
