"""Results beside the paper's, as Markdown that is made and never typed.

The block stands in a page between two marks; everything else on the page stays as it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from shortlist.experiments.equal_cost import CONVENTIONALLY, SPENT, accuracy_at
from shortlist.experiments.paper import ACCURACY_PER_COST, CLAIMS, ROUNDS, Claim
from shortlist.experiments.results import Row
from shortlist.experiments.tables import Spread, number
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
}
PICTURES = {
    "accuracy-against-cost": "Accuracy against relative cost on CIFAR-100, conventional queries and candidate sets",
    "accuracy-per-cost": "Accuracy per cost by round on CIFAR-100, beside the paper's",
}


def block(rows: Sequence[Row], pictures: Sequence[str] = ()) -> str:
    """All that is to be said of the results; `pictures` are the figures' paths as the page sees them."""
    parts = [
        "<!-- made from results/ by `shortlist compare`; edits here are lost -->",
        "Accuracy per cost on CIFAR-100 (accuracy over relative cost, both in %), asked with candidate sets, by round: "
        "mean ± standard deviation over seeds, and below it the paper's number; bold where ours is as large.",
        worth_table(rows),
        *(f"![{_alt(path)}]({path})" for path in pictures),
        "How much cheaper candidate sets come than conventional queries for as many labels, after the last round "
        "unless one is named: in % of what those cost, or in points of relative cost where the paper says it so. Where "
        "it does not say how items are picked, here are three ways.",
        claims_table(rows),
        "Accuracy in % for as much money: at a relative cost, between rounds by a straight line; empty where "
        "not every seed has paid that much.",
        equal_cost_table(rows),
        "After the last round, which methods reach at different costs. CQ is what the same items cost with all classes "
        "shown at once.",
        last_table(rows),
        *origins(rows),
    ]
    return "\n\n".join(parts)


def _alt(path: str) -> str:
    return next((words for name, words in PICTURES.items() if Path(path).stem.endswith(name)), Path(path).stem)


# --- tables ----------------------------------------------------------------------------------------------------


def worth_table(rows: Sequence[Row]) -> str:
    """The paper's table with ours above each of its lines, as the recipe is and with other settings."""
    lines = [["", "seeds", *map(str, ROUNDS)]]
    for acquisition, theirs in ACCURACY_PER_COST.items():
        method = f"CSQ+{acquisition}"
        for recipe in [MAIN, *_with_settings(rows)]:
            mine = _using(rows, recipe, method)
            if mine or recipe == MAIN:
                ours = [_worth(mine, n, value) for n, value in zip(ROUNDS, theirs, strict=True)]
                lines.append([f"{method}{_settings(recipe)}", _seeds(mine), *ours])
        lines.append(["the paper", "3", *(number(value, 2) for value in theirs)])
    return _markdown(lines)


def _with_settings(rows: Iterable[Row]) -> list[str]:
    """The main recipe's names with --set, where the paper has such a line."""
    lines = {f"CSQ+{acquisition}" for acquisition in ACCURACY_PER_COST}
    names = {row["recipe"] for row in rows if _method(row) in lines}
    return sorted(name for name in names if name.startswith(f"{MAIN}-") and "=" in name)


def _settings(recipe: str) -> str:
    """
    >>> _settings("cifar100"), _settings("cifar100-model.training=paper")
    ('', ', `model.training=paper`')
    """
    others = recipe.removeprefix(MAIN).removeprefix("-")
    return f", `{others}`" if others else ""


def _worth(rows: Sequence[Row], at: int, theirs: float) -> str:
    spread = Spread.of(row["accuracy_per_cost"] for row in rows if row["round"] == at)
    if spread.mean is None:
        return ""
    told = f"**{spread.written(2)}**" if round(spread.mean, 2) >= theirs else spread.written(2)
    here = _seeds([row for row in rows if row["round"] == at])
    return told if here == _seeds(rows) else f"{told} (n = {here})"


def claims_table(rows: Sequence[Row]) -> str:
    lines = [["", "the paper", "here"]]
    for claim in CLAIMS:
        told = [_claimed(claim, acquisition, rows) for acquisition in claim.acquisitions]
        here = "; ".join(words for words in told if words)
        lines.append([claim.where, f"{claim.paper:g}{_unit(claim)}", here or NOT_RUN])
    return _markdown(lines)


def _claimed(claim: Claim, acquisition: str, rows: Sequence[Row]) -> str:
    mine = [row for row in _of(rows, claim.recipe, claim.variant) if _method(row) == f"CSQ+{acquisition}"]
    at = [row for row in mine if row["round"] == claim.round] if claim.round else _last(mine)
    if not at:
        return ""
    spread = Spread.of(map(_points if claim.points else _saving, at))
    return f"CSQ+{acquisition} {spread.written()}{_unit(claim)} (n = {len(at)})"


def _unit(claim: Claim) -> str:
    return " points" if claim.points else "%"


def equal_cost_table(rows: Sequence[Row]) -> str:
    """Every method on CIFAR-100 at the same costs; CQ is a CSQ campaign at its conventional cost."""
    weak, one_bit = ONE_BIT
    lines = [["CIFAR-100", "seeds", *(f"{cost}%" for cost in COSTS)]]
    lines += [_at_costs(f"CQ+{plain}", _using(rows, MAIN, f"CSQ+{plain}"), CONVENTIONALLY) for plain in PLAIN]
    methods = [f"CSQ+{acquisition}" for acquisition in ("Rand", *ACCURACY_PER_COST)]
    lines += [_at_costs(method, _using(rows, MAIN, method), SPENT) for method in methods]
    return _markdown([*lines, _at_costs(one_bit, _using(rows, weak, one_bit), SPENT)])


def _at_costs(name: str, rows: Sequence[Row], spent: str) -> list[str]:
    seeds = sorted({row["seed"] for row in rows})
    campaigns = [[row for row in rows if row["seed"] == seed] for seed in seeds]
    found = [[accuracy_at(rounds, cost, spent) for rounds in campaigns] for cost in COSTS]
    return [name, _seeds(rows), *(Spread.of(at).written() if at and None not in at else "" for at in found)]


def last_table(rows: Sequence[Row]) -> str:
    header = ["", "method", "seeds", "labels", "accuracy, %", "relative cost, %", "CQ, %", "cheaper, %"]
    lines = [header]
    for recipe, name in RECIPES.items():
        of_recipe = _of(rows, recipe)
        if not of_recipe:
            lines.append([name, NOT_RUN, *[""] * (len(header) - 2)])
        for variant in dict.fromkeys(row["variant"] for row in of_recipe):
            title = f"{name}, {variant}" if variant else name
            for mine in _by_method(_of(of_recipe, recipe, variant)):
                lines.append([title, *_last_line(mine)])
                title = ""  # once, above its lines
    return _markdown(lines)


def _last_line(rows: Sequence[Row]) -> list[str]:
    last = _last(rows)

    def over(measure: Callable[[Row], float | None]) -> str:
        return Spread.of(map(measure, last)).written()

    return [
        _method(rows[0]),
        _seeds(last),
        number(Spread.of(row["labelled"] for row in last).mean, 0),
        over(lambda row: row["accuracy"]),
        over(lambda row: row["relative_cost"]),
        over(lambda row: row["conventional_relative_cost"]),
        over(_saving),
    ]


def origins(rows: Sequence[Row]) -> list[str]:
    """Where, when and with what code the numbers came about."""
    told = [f"`{name}` {_origin(_of(rows, name))}" for name in [*RECIPES, *_with_settings(rows)] if _of(rows, name)]
    return [f"Where this ran: {'; '.join(told)}."] if told else []


def _origin(rows: Sequence[Row]) -> str:
    hardware, torch, commits = (
        " and ".join(sorted({row[key] for row in rows if row[key]})) for key in ("hardware", "torch", "commit")
    )
    days = sorted({row["date"][:10] for row in rows if row["date"]})
    when = " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))
    trained = " and ".join(sorted({_training(row) for row in rows} - {""}))
    parts = [
        trained and f"trained by {trained}",
        hardware and f"on {hardware}",
        torch and f"torch {torch}",
        commits and f"commit {commits}",
        when,
    ]
    return ", ".join(part for part in parts if part) or "somewhere, which was not written down"


def _training(row: Row) -> str:
    """The recipe of a network's training, and what was different from it."""
    training = json.loads(row["settings"]).get("model", {}).get("training")
    if not isinstance(training, dict):
        return f"`{training}`" if training else ""
    others = ", ".join(f"{key} = {value}" for key, value in sorted(training.items()) if key != "base")
    return f"`{training.get('base', 'fast')}`{f' with {others}' if others else ''}"


def left_out(rows: Iterable[Row]) -> list[str]:
    """Recipes that are in the results and not in the block: smoke runs, and most with other settings."""
    rows = list(rows)
    return sorted({row["recipe"] for row in rows} - {*RECIPES, *_with_settings(rows)})


# --- rows ------------------------------------------------------------------------------------------------------


def _of(rows: Iterable[Row], recipe: str, variant: str | None = None) -> list[Row]:
    return [row for row in rows if row["recipe"] == recipe and variant in (None, row["variant"])]


def _using(rows: Iterable[Row], recipe: str, method: str) -> list[Row]:
    return [row for row in _of(rows, recipe) if _method(row) == method]


def _method(row: Row) -> str:
    return f"{row['query']}+{row['acquisition']}"


def _by_method(rows: Sequence[Row]) -> list[list[Row]]:
    """In the paper's order: conventional, candidate sets, others; each acquisition before its Cost(·)."""
    order = [f"{query}+{acquisition}" for query in ("CQ", "CSQ") for acquisition in ("Rand", *ACCURACY_PER_COST)]
    names = sorted({_method(row) for row in rows}, key=lambda name: ([*order, name].index(name), name))
    return [[row for row in rows if _method(row) == name] for name in names]


def _last(rows: Sequence[Row]) -> list[Row]:
    """The last round that all seeds have finished, a row a seed."""
    ends = [max(row["round"] for row in rows if row["seed"] == seed) for seed in {row["seed"] for row in rows}]
    return [row for row in rows if row["round"] == min(ends, default=0)]


def _seeds(rows: Sequence[Row]) -> str:
    return str(len({row["seed"] for row in rows})) if rows else NOT_RUN


def _saving(row: Row) -> float | None:
    return 100 * (1 - row["cost"] / row["conventional_cost"]) if row["conventional_cost"] else None


def _points(row: Row) -> float | None:
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
    beside = page.with_name(f".{page.name}.{os.getpid()}.new")
    beside.write_text(fresh, "utf-8")
    beside.replace(page)
    return True
