"""Results beside the paper's: tables as Markdown that is made and never typed, and two figures.

The Markdown stands in a page between two marks; everything else on the page stays as it is. A figure has a panel for
each way to pick items, its Cost(·) in the same panel: lines are means over seeds, bands one standard deviation, and the
paper's numbers are drawn thin, with hollow points.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt

from shortlist.experiments import figures
from shortlist.experiments.result_files import Row
from shortlist.experiments.tables import FLOOR, Spread, number
from shortlist.measures import saved
from shortlist.rates import percent
from shortlist.system.files import write_text
from shortlist.types import ShortlistError

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
MAIN = "cifar100"  # the recipe of the paper's table and of the figures
NOT_RUN = "not run"
COSTS = (15, 20, 25, 30, 35, 40, 45)  # % of what all labels cost conventionally: where methods are put side by side
PLAIN = ("Rand", "Ent")  # conventional queries that are told beside candidate sets: the same items, another price
ONE_BIT = ("weak", "OneBit+Ent")  # is in a recipe of its own, and nowhere at the same cost after the same round
RECIPES = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "imagenet64": "ImageNet64x64",
    "products10k": "Products-10K",
    "noise": "CIFAR-100, wrong answers",
    "imbalance": "CIFAR-100-LT",
    "weak": "CIFAR-100, weak supervision",
    "text": "R52",
    "overlap": "R52, people who err",
    "first_question": "From the first question",
}
PICTURES = {
    "accuracy-against-cost": "Accuracy against relative cost on CIFAR-100, conventional queries and candidate sets",
    "accuracy-per-cost": "Accuracy per cost by round on CIFAR-100, beside the paper's",
}


def block(rows: Sequence[Row], pictures: Sequence[str] = ()) -> str:
    """All that is to be said of the results; `pictures` are the figures' paths as the page sees them."""
    parts = [
        "<!-- made from results/ by `shortlist compare`; edits here are lost -->",
        *(_main(rows) if any(_of(rows, recipe) for recipe in (MAIN, *_with_settings(rows))) else []),
        *(f"![{_alt(path)}]({path})" for path in pictures),
        *(_claims(rows) if any(_of(rows, claim.recipe) for claim in CLAIMS) else []),
        *(_last_rounds(rows) if any(row["recipe"] in RECIPES for row in rows) else []),
        *not_run(rows),
        *origins(rows),
    ]
    return "\n\n".join(parts)


def _main(rows: Sequence[Row]) -> list[str]:
    """The paper's main experiment, in two tables."""
    return [
        "Accuracy per cost on CIFAR-100 (accuracy over relative cost, both in %), asked with candidate sets, by round: "
        "mean ± standard deviation over seeds, and below it the paper's number; bold where ours is as large. The paper "
        "has no line for random items.",
        worth_table(rows),
        "Accuracy in % for as much money: at a relative cost, between rounds by a straight line; empty where "
        "not every seed has paid that much.",
        equal_cost_table(rows),
    ]


def _alt(path: str) -> str:
    return next((words for name, words in PICTURES.items() if Path(path).stem.endswith(name)), Path(path).stem)


def _claims(rows: Sequence[Row]) -> list[str]:
    return [
        "How much cheaper candidate sets come than conventional queries for as many labels, after the last round "
        "unless one is named: in % of what those cost, or in points of relative cost where the paper says it so. Where "
        "it does not say how items are picked, here are three ways.",
        claims_table(rows),
    ]


def _last_rounds(rows: Sequence[Row]) -> list[str]:
    return [
        "After the last round, which methods reach at different costs. CQ is what the same items cost with all classes "
        f"shown at once.{_about_floor(rows)}",
        last_table(rows),
    ]


# --- tables ----------------------------------------------------------------------------------------------------


def worth_table(rows: Sequence[Row]) -> str:
    """The paper's table with ours above each of its lines, as the recipe is and with other settings."""
    lines = [["", "seeds", *map(str, ROUNDS)]]
    settings = {MAIN: ""} | {name: f", `{name.removeprefix(f'{MAIN}-')}`" for name in _with_settings(rows)}
    for acquisition in ("Rand", *ACCURACY_PER_COST):
        method, theirs = f"CSQ+{acquisition}", ACCURACY_PER_COST.get(acquisition)
        for recipe, others in settings.items():
            mine = _of(rows, recipe, method=method)
            if mine or (recipe == MAIN and theirs):
                ours = [_worth(mine, n, value) for n, value in zip(ROUNDS, theirs or NOTHING, strict=True)]
                lines.append([f"{method}{others}", _seeds(mine), *ours])
        if theirs:
            lines.append(["the paper", "3", *(number(value, 2) for value in theirs)])
    return _markdown(lines)


def _with_settings(rows: Iterable[Row]) -> list[str]:
    """The main recipe's names with --set, where the paper has such a line."""
    lines = {f"CSQ+{acquisition}" for acquisition in ACCURACY_PER_COST}
    names = {row["recipe"] for row in rows if _method(row) in lines}
    return sorted(name for name in names if name.startswith(f"{MAIN}-") and "=" in name)


def _worth(rows: Sequence[Row], at: int, theirs: float | None) -> str:
    here = [row for row in rows if row["round"] == at]
    spread = Spread.of(row["accuracy_per_cost"] for row in here)
    if spread.mean is None:
        return ""
    is_bold = theirs is not None and round(spread.mean, 2) >= theirs
    cell = f"**{spread.written(2)}**" if is_bold else spread.written(2)
    return cell if _seeds(here) == _seeds(rows) else f"{cell} (n = {_seeds(here)})"


def claims_table(rows: Sequence[Row]) -> str:
    lines = [["", "the paper", "here"]]
    for claim in CLAIMS:
        unit, measure = (" points", _points_saved) if claim.points else ("%", _saving)
        here = []
        for acquisition in claim.acquisitions:
            mine = _of(rows, claim.recipe, claim.variant, f"CSQ+{acquisition}")
            at = [row for row in mine if row["round"] == claim.round] if claim.round else _last(mine)
            if at:
                here.append(f"CSQ+{acquisition} {Spread.of(map(measure, at)).written()}{unit} (n = {len(at)})")
        lines.append([claim.where, f"{claim.paper:g}{unit}", "; ".join(here) or NOT_RUN])
    return _markdown(lines)


def equal_cost_table(rows: Sequence[Row]) -> str:
    """Every method on CIFAR-100 at the same costs; CQ is a CSQ campaign at its conventional cost."""
    weak, one_bit = ONE_BIT
    lines = [["CIFAR-100", "seeds", *(f"{cost}%" for cost in COSTS)]]
    lines += [_at_costs(f"CQ+{plain}", _of(rows, MAIN, method=f"CSQ+{plain}"), CONVENTIONALLY) for plain in PLAIN]
    methods = [f"CSQ+{acquisition}" for acquisition in ("Rand", *ACCURACY_PER_COST)]
    lines += [_at_costs(method, _of(rows, MAIN, method=method), SPENT) for method in methods]
    lines.append(_at_costs(one_bit, _of(rows, weak, method=one_bit), SPENT))
    return _markdown([line for line in lines if line[1] != NOT_RUN])


def _at_costs(name: str, rows: Sequence[Row], spent: str) -> list[str]:
    seeds = sorted({row["seed"] for row in rows})
    campaigns = [[row for row in rows if row["seed"] == seed] for seed in seeds]
    found = [[accuracy_at(rounds, cost, spent) for rounds in campaigns] for cost in COSTS]
    return [name, _seeds(rows), *(Spread.of(at).written() if at and None not in at else "" for at in found)]


def last_table(rows: Sequence[Row]) -> str:
    header = ["", "method", "seeds", "labels", "accuracy, %", "relative cost, %", "CQ, %", "cheaper, %"]
    has_floor = bool(_about_floor(rows))
    lines = [[*header, "× the floor"] if has_floor else header]
    for recipe, name in RECIPES.items():
        of_recipe = _of(rows, recipe)
        for variant in dict.fromkeys(row["variant"] for row in of_recipe):
            title = f"{name}, {variant}" if variant else name
            for method in _in_order(_of(of_recipe, recipe, variant)):
                mine = _of(of_recipe, recipe, variant, method)
                lines.append([title, method, *_last_line(mine), *([_times_floor(mine)] if has_floor else [])])
                title = ""  # once, above its lines
    return _markdown(lines)


def _last_line(rows: Sequence[Row]) -> list[str]:
    last = _last(rows)
    labels = number(Spread.of(row["labelled"] for row in last).mean, 0)
    measured = ([row[name] for row in last] for name in ("accuracy", SPENT, CONVENTIONALLY))
    return [_seeds(last), labels, *(Spread.of(values).written() for values in (*measured, map(_saving, last)))]


def _about_floor(rows: Sequence[Row]) -> str:
    """What the floor is, where it is known of any campaign in the table."""
    is_known = any(row["floor"] for recipe in RECIPES for row in _of(rows, recipe))
    return f" {FLOOR}" if is_known else ""


def _times_floor(rows: Sequence[Row]) -> str:
    last = _last(rows)
    if not last or not all(row["floor"] for row in last):
        return ""
    return Spread.of(row["cost"] / row["floor"] for row in last).written()


def not_run(rows: Sequence[Row]) -> list[str]:
    """The recipes of which nothing is known."""
    names = [f"{name} (`{recipe}`)" for recipe, name in RECIPES.items() if not _of(rows, recipe)]
    return [f"Not run: {', '.join(names)}."] if names else []


def origins(rows: Sequence[Row]) -> list[str]:
    """Where, when and with what code the numbers came about."""
    recipes = [f"`{name}` {_origin(_of(rows, name))}" for name in [*RECIPES, *_with_settings(rows)] if _of(rows, name)]
    return [f"Where this ran: {'; '.join(recipes)}."] if recipes else []


def _origin(rows: Sequence[Row]) -> str:
    hardware, torch, commits = (
        " and ".join(sorted({row[key] for row in rows if row[key]})) for key in ("hardware", "torch", "commit")
    )
    days = sorted({row["date"][:10] for row in rows if row["date"]})
    when = " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))
    trained = " and ".join(sorted({_training(row) for row in rows} - {""}))
    told = {"trained by": trained, "on": hardware, "torch": torch, "commit": commits}
    parts = [*(what and f"{how} {what}" for how, what in told.items()), when]
    return ", ".join(part for part in parts if part) or "somewhere, which was not written down"


def _training(row: Row) -> str:
    """The recipe of a network's training, and what was different from it."""
    training = json.loads(row["settings"]).get("model", {}).get("training")
    if not isinstance(training, dict):
        return f"`{training}`" if training else ""
    others = ", ".join(f"{key} = {value}" for key, value in sorted(training.items()) if key != "base")
    return f"`{training.get('base', 'fast')}`{f' with {others}' if others else ''}"


def left_out(rows: Sequence[Row]) -> list[str]:
    """Recipes that are in the results and not in the block: smoke runs, and most with other settings."""
    return sorted({row["recipe"] for row in rows} - {*RECIPES, *_with_settings(rows)})


# --- rows ------------------------------------------------------------------------------------------------------


def _of(rows: Iterable[Row], recipe: str, variant: str | None = None, method: str | None = None) -> list[Row]:
    """Those of a recipe; None: of any variant, of any method."""
    mine = [row for row in rows if row["recipe"] == recipe and variant in (None, row["variant"])]
    return [row for row in mine if method in (None, _method(row))]


def _method(row: Row) -> str:
    return f"{row['query']}+{row['acquisition']}"


def _in_order(rows: Sequence[Row]) -> list[str]:
    """Methods in the paper's order: conventional, candidate sets, others; each acquisition before its Cost(·)."""
    order = [f"{query}+{acquisition}" for query in ("CQ", "CSQ") for acquisition in ("Rand", *ACCURACY_PER_COST)]
    return sorted({_method(row) for row in rows}, key=lambda name: ([*order, name].index(name), name))


def _last(rows: Sequence[Row]) -> list[Row]:
    """The last round that all seeds have finished, a row a seed."""
    ends = [max(row["round"] for row in rows if row["seed"] == seed) for seed in {row["seed"] for row in rows}]
    return [row for row in rows if row["round"] == min(ends, default=0)]


def _seeds(rows: Sequence[Row]) -> str:
    return str(len({row["seed"] for row in rows})) if rows else NOT_RUN


def _saving(row: Row) -> float | None:  # %
    return percent(saved(row["cost"], row["conventional_cost"]))


def _points_saved(row: Row) -> float | None:
    conventional = row["conventional_relative_cost"]
    return None if conventional is None else float(conventional - row["relative_cost"])


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, f"|{'---|' * len(lines[0])}", *body])


# --- pages -----------------------------------------------------------------------------------------------------


def write_block(page: Path, made: str) -> bool:
    """Put the block between the marks of a page; whether that changed it."""
    try:
        text = page.read_text("utf-8")
    except OSError as error:
        raise ShortlistError(f"{page}: cannot be read ({error.strerror})") from None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ShortlistError(f"{page}: needs the lines {BEGIN} and {END}, once each, where the results are to stand")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    fresh = f"{before}{BEGIN}\n{made}\n{after}"
    if fresh == text:
        return False
    write_text(page, fresh)
    return True


# --- at the same cost --------------------------------------------------------------------------------------------


SPENT = "relative_cost"
CONVENTIONALLY = "conventional_relative_cost"  # what the same items cost with all classes shown at once


def accuracy_at(rounds: Sequence[Row], cost: float, spent: str = SPENT) -> float | None:
    """Of one campaign at a relative cost; None below what it first paid and above what it paid in all."""
    known = [row for row in rounds if row[spent] is not None and row["accuracy"] is not None]
    points = sorted((row["round"], row[spent], row["accuracy"]) for row in known)
    for (_, before, low), (_, after, high) in pairwise(points):
        if before <= cost <= after and before < after:
            return float(low + (high - low) * (cost - before) / (after - before))
    return None


# --- the paper's numbers -------------------------------------------------------------------------------------

ROUNDS = tuple(range(2, 10))
NOTHING = (None,) * len(ROUNDS)
ACCURACY_PER_COST = {  # CIFAR-100, all with candidate sets, rounds 2 to 9, three seeds
    "Ent": (2.36, 1.74, 1.55, 1.43, 1.36, 1.30, 1.26, 1.24),
    "Cost(Ent)": (2.36, 2.09, 1.89, 1.68, 1.56, 1.48, 1.37, 1.30),
    "BADGE": (2.51, 1.94, 1.69, 1.51, 1.40, 1.34, 1.29, 1.27),
    "Cost(BADGE)": (2.64, 2.17, 1.92, 1.75, 1.58, 1.49, 1.37, 1.32),
    "ProbCover": (2.43, 1.72, 1.60, 1.55, 1.47, 1.39, 1.33, 1.30),
    "Cost(ProbCover)": (2.43, 2.10, 1.98, 1.79, 1.66, 1.52, 1.39, 1.32),
    "SAAL": (2.37, 1.83, 1.55, 1.43, 1.37, 1.32, 1.28, 1.25),
    "Cost(SAAL)": (2.36, 2.12, 1.94, 1.74, 1.64, 1.50, 1.38, 1.31),
}


@dataclass(frozen=True)
class Claim:
    """How much cheaper candidate sets came than conventional queries for as many labels.

    In % of the conventional cost, or in points of relative cost, as the paper says it.
    """

    where: str
    paper: float
    recipe: str
    acquisitions: tuple[str, ...]  # the paper does not always say which
    variant: str = ""
    round: int | None = None  # None: the last
    points: bool = False


ANY = ("Rand", "Ent", "Cost(Ent)")
OURS = ("Cost(Ent)",)
CLAIMS = (
    Claim("CIFAR-10", 43, "cifar10", ANY),
    Claim("CIFAR-100", 54, "cifar100", ANY),
    Claim("ImageNet64x64", 48, "imagenet64", ANY),
    Claim("R52, TF-IDF, round 10", 65.6, "text", ("Rand",), round=10, points=True),
    # it does not say where it counts from
    Claim("R52, TF-IDF, round 10 counted from 0", 65.6, "text", ("Rand",), round=11, points=True),
    Claim("CIFAR-100, label noise 0.05, round 9", 33.4, "noise", OURS, "noise=0.05", 9, points=True),
    Claim("CIFAR-100, label noise 0.1, round 9", 27.4, "noise", OURS, "noise=0.1", 9, points=True),
    Claim("CIFAR-100-LT, ratio 6, round 4", 31.1, "imbalance", OURS, "ratio=6", 4, points=True),
    Claim("CIFAR-100-LT, ratio 10, round 4", 29.2, "imbalance", OURS, "ratio=10", 4, points=True),
    Claim("Products-10K, EfficientNet-B3", 27, "products10k", OURS, "efficientnet-b3", points=True),
)


# --- figures ---------------------------------------------------------------------------------------------------

PANELS = ("Ent", "BADGE", "ProbCover", "SAAL")
BLUE, ORANGE, GREEN = figures.COLOURS[:3]
Point = dict[str, Any]
LOOKS = {  # the colour and the dash of each series, in the order of the legend
    "CQ": (figures.QUIET, (6, 4)),
    "CSQ": (BLUE, (1, 0)),
    "CSQ, cost-aware": (ORANGE, (1, 0)),
    "CSQ, items at random": (GREEN, (2, 3)),
    "CSQ, the paper": (BLUE, (3, 3)),
    "CSQ, cost-aware, the paper": (ORANGE, (3, 3)),
}


def accuracy_against_cost(rows: Sequence[Row]) -> figures.Figure:
    """What conventional queries, candidate sets and cost-aware selection get for their cost."""
    points: list[Point] = []
    for plain in PANELS:
        drawn = [
            *_curve(rows, plain, "CQ", plain, CONVENTIONALLY, "accuracy"),
            *_curve(rows, plain, "CSQ", plain, SPENT, "accuracy"),
            *_curve(rows, plain, "CSQ, cost-aware", f"Cost({plain})", SPENT, "accuracy"),
        ]
        beside = _curve(rows, plain, "CSQ, items at random", "Rand", SPENT, "accuracy")
        points += [*drawn, *beside] if drawn else []
    x = alt.X("x:Q", title="Relative cost, %", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    return _panels(points, x, "Accuracy, %")


def accuracy_per_cost(rows: Sequence[Row]) -> figures.Figure:
    """The paper's table as lines, ours and theirs."""
    points: list[Point] = []
    for plain in PANELS:
        series = {"CSQ": plain, "CSQ, cost-aware": f"Cost({plain})"}
        ours = [_curve(rows, plain, name, of, "round", "accuracy_per_cost") for name, of in series.items()]
        drawn = [point for curve in ours for point in curve if point["x"] in ROUNDS]
        theirs = [
            {"panel": plain, "series": f"{name}, the paper", "x": n, "y": value, "low": None, "high": None}
            for name, of in series.items()
            for n, value in zip(ROUNDS, ACCURACY_PER_COST[of], strict=True)
        ]
        points += [*drawn, *theirs] if drawn else []
    return _panels(points, figures.round_axis("x:Q"), "Accuracy per cost")


FIGURES = {"accuracy-against-cost": accuracy_against_cost, "accuracy-per-cost": accuracy_per_cost}


def _curve(rows: Sequence[Row], panel: str, series: str, acquisition: str, x: str, y: str) -> list[Point]:
    """A point for each round of candidate sets: the means over seeds, with a band where there are several."""
    points = []
    mine = [row for row in rows if _method(row) == f"CSQ+{acquisition}"]
    for n in sorted({row["round"] for row in mine}):
        members = [row for row in mine if row["round"] == n]
        at, high = Spread.of(row[x] for row in members), Spread.of(row[y] for row in members)
        if at.mean is not None and high.mean is not None:
            low, top = (None, None) if high.std is None else (high.mean - high.std, high.mean + high.std)
            points.append({"panel": panel, "series": series, "x": at.mean, "y": high.mean, "low": low, "high": top})
    return points


def _panels(points: Sequence[Point], x: alt.X, title: str) -> figures.Figure:
    if not points:
        return None
    there = {point["series"] for point in points}
    series = [name for name in LOOKS if name in there]
    colours, dashes = zip(*(LOOKS[name] for name in series), strict=True)
    panels = [plain for plain in PANELS if plain in {point["panel"] for point in points}]
    key = figures.key(columns=2 if len(panels) == 1 else 4)
    unnamed = figures.unnamed_scale(series, colours)
    fill = alt.Fill("series:N", scale=unnamed, legend=None)
    is_paper = "indexof(datum.series, 'the paper') >= 0"
    y = alt.Y("y:Q", title=title, scale=alt.Scale(zero=False))
    base = alt.Chart().encode(x=x)
    line = base.mark_line(strokeJoin="round").encode(
        y=y,
        color=alt.Color("series:N", scale=figures.scale(series, colours), legend=key),
        strokeDash=alt.StrokeDash("series:N", scale=figures.scale(series, map(list, dashes)), legend=key),
        strokeWidth=alt.condition(is_paper, alt.value(1.4), alt.value(2.4)),
        order="x:Q",
    )
    dots = base.mark_point(strokeWidth=1.4, opacity=1).encode(
        y=y,
        stroke=alt.Stroke("series:N", scale=unnamed, legend=None),
        fill=alt.condition(is_paper, alt.value(figures.PAPER), fill),
        size=alt.condition(is_paper, alt.value(24), alt.value(34)),
    )
    has_spread = any(point["low"] is not None for point in points)
    bands = [figures.band(base, alt.Y("low:Q"), fill, alt.value(0.14))] if has_spread else []
    header = alt.Header(labelFontSize=15, labelFontWeight=600, labelColor=figures.INK)
    facet = alt.Facet("panel:N", title=None, sort=panels, header=header)
    chart = alt.layer(*bands, line, dots).properties(width=380, height=240)  # pixels, of one panel
    return chart.facet(facet, columns=2, data=alt.Data(values=list(points)))


def draw(rows: Sequence[Row], folder: Path, name: str) -> list[Path]:
    """Write the figures that have something to show as SVG, each sealed with the numbers it was made from."""
    written = []
    for title, make in FIGURES.items():
        chart, path = make(rows), folder / f"{name}-{title}.svg"
        if chart is None:  # one that was drawn before stays: it is not ours to take away
            continue
        spec = figures.specification(chart)
        write_text(path, f"{figures.still(spec, background='white').rstrip()}\n<!-- {seal(chart)} -->\n")
        written.append(path)
    return written


def seal(chart: Any) -> str:
    """Tells a figure of these numbers from one of others, whatever machine has drawn it."""
    values = json.dumps(chart.to_dict(validate=False)["data"], sort_keys=True)
    return f"made from {hashlib.sha256(values.encode()).hexdigest()[:16]}"
