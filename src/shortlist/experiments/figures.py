"""The figures of a report: one line per method, the mean over its seeds, with a band of one standard deviation.

Twins share a colour and differ in dash: conventional queries are dashed, candidate sets solid. Ink, grid and paper
have colours that nothing else has, so that a page can give them its own in dark mode and in print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import polars as pl
import vl_convert

from shortlist.experiments.labels import acquisition_label
from shortlist.experiments.tables import number, unit_word
from shortlist.measures import Record
from shortlist.types import Round, ShortlistError

Groups: TypeAlias = Mapping[str, Sequence[Record]]  # by method
Figure: TypeAlias = alt.LayerChart | None

INK, QUIET, GRID, PAPER = "#1f2934", "#5b6775", "#e3e7ec", "#fefefe"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
# Okabe and Ito's colours for every kind of eye, less black and yellow; then wine, olive and grey of Paul Tol's.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933", "#777777")
DASHES = {"conventional": (6, 4), "candidate_set": (1, 0), "top_k": (2, 3), "one_bit": (8, 3, 2, 3)}
SHAPES = {"conventional": "square", "candidate_set": "circle", "top_k": "diamond", "one_bit": "triangle-up"}
OTHER_DASH, OTHER_SHAPE = (2, 2), "triangle-down"

WIDE, NARROW = (860, 420), (420, 250)  # pixels
# A page says which method to look at; alone, a figure shows all alike.
SHOWN = "shown === '' || datum.method === shown"


@dataclass(frozen=True)
class Look:
    """How a method is drawn, in every figure."""

    colour: str
    dash: tuple[int, ...]
    shape: str


def looks(groups: Groups) -> dict[str, Look]:
    """Colour by acquisition, dash by query design; a second method with both the same gets a colour of its own."""
    colours: dict[str, str] = {}
    taken: set[tuple[str, str]] = set()
    result = {}
    for method, records in groups.items():
        query = str(records[0].config["query"]["name"])
        acquisition = acquisition_label(records[0].config["acquisition"])
        key = method if (query, acquisition) in taken else acquisition
        taken.add((query, acquisition))
        colour = colours.setdefault(key, COLOURS[len(colours) % len(COLOURS)])
        result[method] = Look(colour, DASHES.get(query, OTHER_DASH), SHAPES.get(query, OTHER_SHAPE))
    return result


# --- numbers ---------------------------------------------------------------------------------------------------

MEASURES = (
    "labelled",
    "asked",
    "cost",
    "relative_cost",
    "conventional_cost",
    "accuracy",
    "macro_f1",
    "alpha",
    "threshold",
    "mean_set_size",
    "coverage",
    "seconds",
)


def by_round(groups: Groups) -> pl.DataFrame:
    """Method, round, how many seeds have finished it, and of every measure the mean and `_std`."""
    rows = [
        _row(method, record, round)
        for method, records in groups.items()
        for record in records
        for round in record.rounds
    ]
    kinds = {"method": pl.String, "query": pl.String, "round": pl.Int64} | dict.fromkeys(MEASURES, pl.Float64)
    means = [pl.col(m).mean() for m in MEASURES]
    stds = [pl.col(m).std().alias(f"{m}_std") for m in MEASURES]
    table = pl.DataFrame(rows, schema=kinds)
    return table.group_by("method", "query", "round", maintain_order=True).agg(pl.len().alias("seeds"), *means, *stds)


def _row(method: str, record: Record, round: Round) -> dict[str, Any]:
    measured = asdict(round)
    named = {"method": method, "query": record.config["query"]["name"], "round": round.number}
    return named | {measure: measured[measure] for measure in MEASURES}


def _shortlisted(table: pl.DataFrame) -> pl.DataFrame:
    """The first random items, and everything in a conventional campaign, are asked with no list."""
    return table.filter((pl.col("round") > 1) & (pl.col("query") != "conventional"))


# --- figures ---------------------------------------------------------------------------------------------------


def accuracy_against_cost(groups: Groups, *, legend: bool = True) -> Figure:
    """The paper's main figure. None, here and below, where there is nothing to show."""
    axis, scale = alt.Axis(tickCount=10), alt.Scale(zero=True)
    x = alt.X("relative_cost:Q", title="Relative cost, %", axis=axis, scale=scale)
    measure = Measure("accuracy", "Accuracy, %", within=(0, 100))
    return _lines(by_round(groups), groups, x, measure, size=WIDE, legend=legend)


def set_size_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    """On a log scale, as the cost of a list is; the full list is a line across."""
    most = max((len(record.classes) for records in groups.values() for record in records), default=2)
    scale = alt.Scale(type="log", base=2, domain=[1, most], nice=False)
    axis = alt.Axis(values=[2**i for i in range(most.bit_length())], format=",d")
    measure = Measure("mean_set_size", "Classes shown first", within=(1, most), scale=scale, axis=axis)
    chart = _lines(_shortlisted(by_round(groups)), groups, _round_axis(), measure, legend=legend)
    return chart and _across(most, f"all {most} classes") + chart


def alpha_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    measure = Measure("alpha", "α, share of lists that may miss", within=(0, 1), scale=alt.Scale(zero=True))
    return _lines(_shortlisted(by_round(groups)), groups, _round_axis(), measure, legend=legend)


def coverage_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    measure = Measure("coverage", "Lists that held the answer, %", within=(0, 100))
    return _lines(_shortlisted(by_round(groups)), groups, _round_axis(), measure, legend=legend)


def cost_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    """What was paid so far, above it what the same labels cost when asked conventionally."""
    table = by_round(groups)
    unit = next((records[0].unit for records in groups.values()), "bits")
    measure = Measure("cost", f"Paid so far, {unit_word(unit)}", within=(0, None), scale=alt.Scale(zero=True))
    # conventional campaigns lie on the reference, which says the same without hiding anything
    others = table.filter(pl.col("query") != "conventional")
    chart = _lines(table if others.is_empty() else others, groups, _round_axis(), measure, legend=legend)
    return chart and _reference(table) + chart


@dataclass(frozen=True)
class Measure:
    """A column, what its axis says, and where its values can lie: a band does not leave it."""

    name: str
    title: str
    within: tuple[float | None, float | None]
    scale: alt.Scale = field(default_factory=lambda: alt.Scale(zero=False, nice=True))
    axis: alt.Axis = field(default_factory=alt.Axis)

    def axis_of(self, column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", title=self.title, scale=self.scale, axis=self.axis)


def _lines(
    table: pl.DataFrame, groups: Groups, x: alt.X, measure: Measure, *, size: tuple[int, int] = NARROW, legend: bool
) -> Figure:
    rows = _banded(table.drop_nulls(measure.name), measure)
    if rows.is_empty():
        return None
    look = {method: one for method, one in looks(groups).items() if method in set(rows["method"])}
    base = alt.Chart().encode(x=x)
    layers = [_line(base, look, measure, legend), _points(base, look, measure)]
    if rows["low"].count():
        layers.insert(0, _band(base, look, measure))
    chart = alt.layer(*layers, data=alt.Data(values=_told(rows, measure)))
    return chart.add_params(alt.param(name="shown", value="")).properties(width=size[0], height=size[1])


def _line(base: alt.Chart, look: Mapping[str, Look], measure: Measure, legend: bool) -> alt.Chart:
    key = alt.Legend(title=None, orient="bottom", columns=3, symbolType="stroke") if legend else None
    colours = alt.Scale(domain=list(look), range=[one.colour for one in look.values()])
    dashes = alt.Scale(domain=list(look), range=[list(one.dash) for one in look.values()])
    return base.mark_line(strokeWidth=2.5, strokeJoin="round").encode(
        y=measure.axis_of(measure.name),
        color=alt.Color("method:N", scale=colours, legend=key),
        strokeDash=alt.StrokeDash("method:N", scale=dashes, legend=key),
        opacity=_seen(1, 0.12),
        order="round:Q",
    )


def _points(base: alt.Chart, look: Mapping[str, Look], measure: Measure) -> alt.Chart:
    return base.mark_point(size=70, stroke=PAPER, strokeWidth=1).encode(
        y=measure.axis_of(measure.name),
        fill=alt.Fill("method:N", scale=_unnamed(look, [one.colour for one in look.values()]), legend=None),
        shape=alt.Shape("method:N", scale=_unnamed(look, [one.shape for one in look.values()]), legend=None),
        opacity=_seen(1, 0.12),
        tooltip=_tooltip(),
    )


def _band(base: alt.Chart, look: Mapping[str, Look], measure: Measure) -> alt.Chart:
    return (
        base.mark_area()
        .encode(
            y=measure.axis_of("low"),
            y2="high:Q",
            fill=alt.Fill("method:N", scale=_unnamed(look, [one.colour for one in look.values()]), legend=None),
            opacity=_seen(0.14, 0.03),
        )
        .transform_filter("datum.low !== null")
    )


def _unnamed(look: Mapping[str, Look], values: Sequence[str]) -> alt.Scale:
    """A scale that no legend shows. Vega-Lite merges the legends of equal domains, and one that is off puts out all:
    a name that no method has keeps this domain apart from that of the lines."""
    return alt.Scale(domain=[*look, ""], range=list(values))


def _banded(table: pl.DataFrame, measure: Measure) -> pl.DataFrame:
    mean, std = pl.col(measure.name), pl.col(f"{measure.name}_std")
    low, high = ((mean + sign * std).clip(*measure.within) for sign in (-1, 1))
    return table.with_columns(low.alias("low"), high.alias("high"))


def _seen(full: float, faint: float) -> Any:
    return alt.condition(SHOWN, alt.value(full), alt.value(faint))


def _round_axis() -> alt.X:
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    return alt.X("round:Q", title="Round", axis=axis, scale=alt.Scale(zero=False, nice=False, padding=12))


TOLD = {  # under the pointer: column, digits
    "Labels": ("labelled", 0),
    "Accuracy, %": ("accuracy", 1),
    "Relative cost, %": ("relative_cost", 1),
    "Paid so far": ("cost", 0),
    "Mean set size": ("mean_set_size", 2),
    "α": ("alpha", 3),
    "Coverage, %": ("coverage", 1),
}


def _told(rows: pl.DataFrame, measure: Measure) -> list[dict[str, Any]]:
    """What is drawn as numbers, and what a tooltip says as it says it: Vega writes what is missing as null."""
    drawn = dict.fromkeys(["method", "round", "seeds", "relative_cost", measure.name, "low", "high"])
    return [
        {column: row[column] for column in drawn}
        | {f"{column}_told": number(row[column], digits) for column, digits in TOLD.values()}
        for row in rows.to_dicts()
    ]


def _tooltip() -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{column}_told:N", title=title) for title, (column, _) in TOLD.items()]
    return [
        alt.Tooltip("method:N", title="Method"),
        alt.Tooltip("round:Q", title="Round"),
        *numbers,
        alt.Tooltip("seeds:Q", title="Seeds"),
    ]


def _across(at: float, words: str) -> alt.LayerChart:
    base = alt.Chart(alt.Data(values=[{"at": at, "words": words}])).encode(y="at:Q")
    text = base.mark_text(align="right", baseline="bottom", dy=-3, color=QUIET, fontSize=12)
    rule = base.mark_rule(color=QUIET, strokeDash=[2, 3])
    return alt.layer(rule, text.encode(x=alt.value("width"), text="words:N"))


def _reference(table: pl.DataFrame) -> alt.LayerChart:
    """The conventional cost of the same labels; once where methods have labelled as many."""
    costs = table.select("method", "round", "conventional_cost")
    spans = {m: tuple(part["conventional_cost"]) for (m,), part in costs.group_by("method", maintain_order=True)}
    kept = {span: method for method, span in reversed(spans.items())}
    rows = costs.filter(pl.col("method").is_in(list(kept.values())))
    base = alt.Chart().encode(x=_round_axis(), y="conventional_cost:Q", detail="method:N")
    line = base.mark_line(color=QUIET, strokeDash=[2, 3], strokeWidth=2)
    last = rows.filter(pl.col("round") == pl.col("round").max()).head(1).to_dicts()
    words = base.mark_text(align="right", dx=-20, color=QUIET, fontSize=12).encode(text=alt.value("conventionally"))
    return alt.layer(line, words.properties(data=alt.Data(values=last)), data=alt.Data(values=rows.to_dicts()))


def specification(chart: alt.LayerChart) -> dict[str, Any]:
    """The figure as Vega-Lite, dressed, with no address in it."""
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("$schema", None)
    return {**spec, "config": CONFIG}


# --- files -----------------------------------------------------------------------------------------------------


def save(chart: alt.LayerChart, path: Path) -> Path:
    """Write a figure as SVG or PNG, by the ending of `path`."""
    spec = specification(chart) | {"background": "white"}
    if path.suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE), "utf-8")
    elif path.suffix == ".png":
        path.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=2))
    else:
        raise ShortlistError(f"{path}: a figure is saved as .svg or .png")
    return path


def save_all(groups: Groups, folder: Path) -> list[Path]:
    """Write every figure that has something to show as SVG, named after what it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {draw.__name__.replace("_", "-"): draw(groups) for draw in FIGURES}
    return [save(chart, folder / f"{name}.svg") for name, chart in made.items() if chart is not None]


def still(chart: alt.LayerChart) -> str:
    """The figure as SVG."""
    return str(vl_convert.vegalite_to_svg(specification(chart), vl_version=VEGA_LITE))


FIGURES = (accuracy_against_cost, set_size_by_round, alpha_by_round, coverage_by_round, cost_by_round)
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": QUIET,
        "titleColor": INK,
        "labelFontSize": 13,
        "titleFontSize": 14,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "gridColor": GRID,
        "domainColor": QUIET,
        "tickColor": QUIET,
        "labelOverlap": True,
    },
    "legend": {"labelColor": INK, "labelFontSize": 13, "labelLimit": 400, "symbolSize": 500, "symbolStrokeWidth": 2.5},
}
