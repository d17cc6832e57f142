"""The figures of a report: one line per method, the mean over its seeds, with a band of one standard deviation.

Twins share a colour and differ in dash: conventional queries are dashed, candidate sets solid. Ink, grid and paper
have colours that nothing else has, so that a page can give them its own in dark mode and in print.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import polars as pl
import vl_convert

from shortlist.experiments.method_names import part_label
from shortlist.experiments.tables import Groups, number, unit_word
from shortlist.rates import in_percent
from shortlist.system.files import replacing, write_text
from shortlist.types import Round, ShortlistError

Figure: TypeAlias = alt.LayerChart | None

INK, QUIET, GRID, PAPER = "#1f2934", "#5b6775", "#e3e7ec", "#fefefe"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
# Okabe and Ito's colours for every kind of eye, less black and yellow; then wine, olive and grey of Paul Tol's.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933", "#777777")
SOLID = (1, 0)
# Dash and shape of a query design. Those without a line here take the others in order of appearance.
MARKS = {
    "conventional": ((6, 4), "square"),
    "candidate_set": (SOLID, "circle"),
    "top_k": ((2, 3), "diamond"),
    "one_bit": ((8, 3, 2, 3), "triangle-up"),
}
OTHER_MARKS = (((2, 2), "triangle-down"), ((10, 3), "diamond"), ((4, 2, 1, 2), "square"))

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
    queries = {method: str(records[0].config["query"]["name"]) for method, records in groups.items()}
    others = list(dict.fromkeys(query for query in queries.values() if query not in MARKS))
    colours: dict[str, str] = {}
    taken: set[tuple[str, str]] = set()
    result = {}
    for method, records in groups.items():
        query = queries[method]
        acquisition = part_label("acquisition", records[0].config["acquisition"])
        key = method if (query, acquisition) in taken else acquisition
        taken.add((query, acquisition))
        colour = colours.setdefault(key, COLOURS[len(colours) % len(COLOURS)])
        marks = MARKS.get(query) or OTHER_MARKS[others.index(query) % len(OTHER_MARKS)]
        result[method] = Look(colour, *marks)
    return result


# --- numbers ---------------------------------------------------------------------------------------------------

NO_MEASURES = ("number", "holdout_cost", "interval")
MEASURES = tuple(measure.name for measure in fields(Round) if measure.name not in NO_MEASURES)


def by_round(groups: Groups) -> pl.DataFrame:
    """Method, round, how many seeds have finished it, and of every measure the mean and `_std`; rates in percent."""
    rows = [
        {"method": method, "query": record.config["query"]["name"], "round": round.number, **in_percent(round)}
        for method, records in groups.items()
        for record in records
        for round in record.rounds
    ]
    kinds = {"method": pl.String, "query": pl.String, "round": pl.Int64} | dict.fromkeys(MEASURES, pl.Float64)
    means = [pl.col(m).mean() for m in MEASURES]
    stds = [pl.col(m).std().alias(f"{m}_std") for m in MEASURES]
    table = pl.DataFrame(rows, schema=kinds)
    return table.group_by("method", "query", "round", maintain_order=True).agg(pl.len().alias("seeds"), *means, *stds)


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
    chart = _of_lists(groups, measure, legend)
    return chart and _across(most, f"all {most} classes") + chart


def alpha_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    measure = Measure("alpha", "α, share of lists that may miss", within=(0, 1), scale=alt.Scale(zero=True))
    return _of_lists(groups, measure, legend)


def coverage_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    return _of_lists(groups, Measure("coverage", "Short lists that held the answer, %", within=(0, 100)), legend)


def cost_by_round(groups: Groups, *, legend: bool = True) -> Figure:
    """What was paid so far, above it what the same labels cost when asked conventionally."""
    table = by_round(groups)
    unit = next((records[0].unit for records in groups.values()), "bits")
    measure = Measure("cost", f"Paid so far, {unit_word(unit)}", within=(0, None), scale=alt.Scale(zero=True))
    # conventional campaigns lie on the reference, which says the same without hiding anything
    others = table.filter(pl.col("query") != "conventional")
    chart = _lines(table if others.is_empty() else others, groups, round_axis(), measure, legend=legend)
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


def _of_lists(groups: Groups, measure: Measure, legend: bool) -> Figure:
    """The first random items, and everything in a conventional campaign, are asked with no list."""
    table = by_round(groups).filter((pl.col("round") > 1) & (pl.col("query") != "conventional"))
    return _lines(table, groups, round_axis(), measure, legend=legend)


def _lines(
    table: pl.DataFrame, groups: Groups, x: alt.X, measure: Measure, *, size: tuple[int, int] = NARROW, legend: bool
) -> Figure:
    mean, std = pl.col(measure.name), pl.col(f"{measure.name}_std")
    low, high = ((mean + sign * std).clip(*measure.within) for sign in (-1, 1))
    rows = table.drop_nulls(measure.name).with_columns(low.alias("low"), high.alias("high"))
    if rows.is_empty():
        return None
    look = {method: one for method, one in looks(groups).items() if method in set(rows["method"])}
    base = alt.Chart().encode(x=x)
    has_spread = rows["low"].count() > 0
    bands = [band(base, measure.axis_of("low"), _fill(look), _seen(0.14, 0.03))] if has_spread else []
    layers = [*bands, _line(base, look, measure, legend), _points(base, look, measure)]
    chart = alt.layer(*layers, data=alt.Data(values=_told(rows, measure)))
    return chart.add_params(alt.param(name="shown", value="")).properties(width=size[0], height=size[1])


def _line(base: alt.Chart, look: Mapping[str, Look], measure: Measure, legend: bool) -> alt.Chart:
    shown = key(columns=3) if legend else None
    dashes = [list(one.dash) for one in look.values()]
    return base.mark_line(strokeWidth=2.5, strokeJoin="round").encode(
        y=measure.axis_of(measure.name),
        color=alt.Color("method:N", scale=scale(look, [one.colour for one in look.values()]), legend=shown),
        strokeDash=alt.StrokeDash("method:N", scale=scale(look, dashes), legend=shown),
        opacity=_seen(1, 0.12),
        order="round:Q",
    )


def _points(base: alt.Chart, look: Mapping[str, Look], measure: Measure) -> alt.Chart:
    return base.mark_point(size=70, stroke=PAPER, strokeWidth=1).encode(
        y=measure.axis_of(measure.name),
        fill=_fill(look),
        shape=alt.Shape("method:N", scale=unnamed_scale(look, [one.shape for one in look.values()]), legend=None),
        opacity=_seen(1, 0.12),
        tooltip=[
            alt.Tooltip("method:N", title="Method"),
            alt.Tooltip("round:Q", title="Round"),
            *(alt.Tooltip(f"{column}_told:N", title=title) for title, (column, _) in TOLD.items()),
            alt.Tooltip("seeds:Q", title="Seeds"),
        ],
    )


def _fill(look: Mapping[str, Look]) -> alt.Fill:
    return alt.Fill("method:N", scale=unnamed_scale(look, [one.colour for one in look.values()]), legend=None)


# --- what all figures share, also those beside the paper's -----------------------------------------------------


def key(columns: int) -> alt.Legend:
    return alt.Legend(title=None, orient="bottom", columns=columns, symbolType="stroke")


def scale(names: Iterable[str], values: Iterable[Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(values))


def unnamed_scale(names: Iterable[str], values: Iterable[Any]) -> alt.Scale:
    """A scale that no legend shows. Vega-Lite merges the legends of equal domains, and one that is off puts out all:
    a name that nothing has keeps this domain apart from that of the lines."""
    return scale([*names, ""], values)


def band(base: alt.Chart, y: alt.Y, fill: alt.Fill, opacity: Any) -> alt.Chart:
    """From `low` to `high`, where there is a spread."""
    area = base.mark_area().encode(y=y, y2="high:Q", fill=fill, opacity=opacity)
    return area.transform_filter("datum.low !== null")


def round_axis(column: str = "round:Q") -> alt.X:
    axis = alt.Axis(format="d", tickMinStep=1, grid=False)
    return alt.X(column, title="Round", axis=axis, scale=alt.Scale(zero=False, nice=False, padding=12))


# --- what the pointer shows ------------------------------------------------------------------------------------


def _seen(full: float, faint: float) -> Any:
    return alt.condition(SHOWN, alt.value(full), alt.value(faint))


TOLD = {  # under the pointer: column, digits
    "Labels": ("labelled", 0),
    "Accuracy, %": ("accuracy", 1),
    "Relative cost, %": ("relative_cost", 1),
    "Paid so far": ("cost", 0),
    "Mean set size": ("mean_set_size", 2),
    "α": ("alpha", 3),
    "Short lists": ("lists", 0),
    "of them held, %": ("coverage", 1),
    "Asked with all classes": ("full", 0),
}


def _told(rows: pl.DataFrame, measure: Measure) -> list[dict[str, Any]]:
    """What is drawn as numbers, and what a tooltip says as it says it: Vega writes what is missing as null."""
    drawn = dict.fromkeys(["method", "round", "seeds", "relative_cost", measure.name, "low", "high"])
    return [
        {column: row[column] for column in drawn}
        | {f"{column}_told": number(row[column], digits) for column, digits in TOLD.values()}
        for row in rows.to_dicts()
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
    one_each = {span: method for method, span in reversed(spans.items())}
    rows = costs.filter(pl.col("method").is_in(list(one_each.values())))
    base = alt.Chart().encode(x=round_axis(), y="conventional_cost:Q", detail="method:N")
    line = base.mark_line(color=QUIET, strokeDash=[2, 3], strokeWidth=2)
    last = rows.filter(pl.col("round") == pl.col("round").max()).head(1).to_dicts()
    words = base.mark_text(align="right", dx=-20, color=QUIET, fontSize=12).encode(text=alt.value("conventionally"))
    return alt.layer(line, words.properties(data=alt.Data(values=last)), data=alt.Data(values=rows.to_dicts()))


def specification(chart: alt.LayerChart) -> dict[str, Any]:
    """The figure as Vega-Lite, dressed, with no address in it."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # what is drawn here is valid, which tests check
    spec.pop("$schema", None)
    return {**spec, "config": CONFIG}


# --- files -----------------------------------------------------------------------------------------------------


def save(chart: alt.LayerChart, path: Path) -> Path:
    """Write a figure as SVG or PNG, by the ending of `path`."""
    if path.suffix == ".svg":
        write_text(path, still(specification(chart), background="white"))
    elif path.suffix == ".png":
        spec = specification(chart) | {"background": "white"}
        with replacing(path) as fresh:
            fresh.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=2))
    else:
        raise ShortlistError(f"{path}: a figure is saved as .svg or .png")
    return path


def save_all(groups: Groups, folder: Path) -> list[Path]:
    """Write every figure that has something to show as SVG, named after what it shows."""
    made = {draw.__name__.replace("_", "-"): draw(groups) for draw in FIGURES}
    return [save(chart, folder / f"{name}.svg") for name, chart in made.items() if chart is not None]


def still(spec: dict[str, Any], **more: str) -> str:
    """A specified figure as SVG."""
    return str(vl_convert.vegalite_to_svg(spec | more, vl_version=VEGA_LITE))


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
