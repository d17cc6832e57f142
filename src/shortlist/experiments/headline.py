"""What a report says first: how much cheaper the labels came, and what stands behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortlist import measures
from shortlist.experiments.labels import by_subject, grouped
from shortlist.experiments.page import Html, el, together
from shortlist.experiments.tables import Summary, amount, number, summaries, unfinished
from shortlist.measures import Record

Groups = Mapping[str, Sequence[Record]]  # by method


@dataclass(frozen=True)
class Money:
    """The headline: what comes before, what is said loudly, and what comes after."""

    before: str
    loud: str = ""
    after: str = ""
    dearer: bool = False

    def __str__(self) -> str:
        return f"{self.before}{self.loud}{self.after}"


def money_line(records: Sequence[Record]) -> str:
    """The headline of the subject that has one to tell, for a title or the last line of a command."""
    lines = []
    for members in by_subject(records).values():
        groups = grouped(members)
        lines.append(money(groups, best_method(groups, summaries(groups))))
    return str(next((line for line in lines if line.loud), lines[0])) if lines else "No campaign yet"


def best_method(groups: Groups, rows: Sequence[Summary]) -> Summary | None:
    """The candidate set method with most accuracy for its cost, among those that came furthest; failing that, another.

    Early rounds are cheap, so a method that has only begun would win over all that are done.
    """
    shorter = [row for row in rows if row.rounds and _query(groups, row) != "conventional"]
    mine = [row for row in shorter if _query(groups, row) == "candidate_set"] or shorter
    furthest = max((row.rounds for row in mine), default=0)
    return max((row for row in mine if row.rounds == furthest), key=_worth, default=None)


def _query(groups: Groups, row: Summary) -> str:
    return str(groups[row.method][0].config["query"]["name"])


def _worth(row: Summary) -> tuple[float, float]:
    return (row.accuracy_per_cost.mean or 0.0, row.saving.mean or 0.0)


def money(groups: Groups, best: Summary | None) -> Money:
    """
    >>> str(money({}, None))
    'No round is finished yet'
    """
    if best is None:
        return _nothing_saved(summaries(groups))
    saved = best.saving.mean or 0.0
    if abs(saved) < 0.5:
        return Money("Same labels, ", "same price", " as asking conventionally")
    word = "cheaper" if saved > 0 else "dearer"
    return Money("Same labels, ", f"{number(abs(saved), 0)}% {word}", " than asking conventionally", dearer=saved < 0)


def _nothing_saved(rows: Sequence[Summary]) -> Money:
    begun = [row for row in rows if row.rounds]
    if not begun:
        return Money("No round is finished yet")
    most = max(begun, key=lambda row: row.labelled.mean or 0)
    paid = amount(most.cost.mean, most.unit)
    return Money(f"{number(most.labelled.mean, 0)} labels for {paid}, asked conventionally")


def headline(groups: Groups, rows: Sequence[Summary], best: Summary | None) -> Html:
    line = money(groups, best)
    loud = el("b", line.loud, class_="dearer" if line.dearer else None) if line.loud else None
    title = el("h2", line.before, loud, line.after)
    if best is None:
        return title
    twin = twin_of(groups, best.method)
    said = together(_evidence(best), " ", _same_items(twin, best) if twin else None)
    return together(title, el("p", said, class_="lead"), bars(best), facts(groups, best))


def _evidence(best: Summary) -> str:
    seeds = f" (means of {best.seeds} seeds)" if best.seeds > 1 else ""
    return (
        f"{best.method} got {number(best.labelled.mean, 0)} labels for {amount(best.cost.mean, best.unit)}. "
        f"Asking about the same items conventionally, with all classes at once, comes to "
        f"{amount(best.conventional_cost.mean, best.unit)}{seeds}."
    )


def _same_items(twin: str, best: Summary) -> str:
    seeds = "the same seeds" if best.seeds > 1 else "the same seed"
    return f"{twin}, run with {seeds}, ended with exactly the same labels for the same items, at that full price."


def twin_of(groups: Groups, method: str) -> str | None:
    """The conventional method that, seed by seed, labelled the same items alike: compared, not assumed."""
    for other, records in groups.items():
        if records[0].config["query"]["name"] != "conventional":
            continue
        pairs = [(mine, theirs) for mine in groups[method] for theirs in records if _twins(mine, theirs)]
        if len(pairs) == len(groups[method]) and all(_same_labels(*pair) for pair in pairs):
            return other
    return None


def _twins(one: Record, other: Record) -> bool:
    alike = [key for key in one.config if key not in ("query", "stop")]
    return all(one.config[key] == other.config.get(key) for key in alike) and len(one.rounds) == len(other.rounds)


def _same_labels(one: Record, other: Record) -> bool:
    return measures.labels(one.folder) == measures.labels(other.folder)


def bars(best: Summary) -> Html:
    """Paid and conventional as two lengths, the longer one at 70%: the number stands behind it."""
    costs = {f"{best.method}": best.cost.mean or 0.0, "conventionally": best.conventional_cost.mean or 0.0}
    longest = max(costs.values()) or 1.0
    parts = []
    for name, cost in costs.items():
        kind = "plain" if name == "conventionally" else None
        bar = el("i", class_=kind, style=f"width:{70 * cost / longest:.1f}%")
        parts += [el("span", name), el("div", bar, el("b", amount(cost, best.unit)))]
    return el("div", *parts, class_="bars")


def facts(groups: Groups, best: Summary) -> Html:
    classes = len(groups[best.method][0].classes)
    told = {
        "Labels": number(best.labelled.mean, 0),
        "Accuracy": _accuracy(best),
        "Relative cost": f"{best.relative_cost.written()}%",
        "Accuracy per cost": number(best.accuracy_per_cost.mean, 2),
        f"Mean list, of {classes:,} classes": number(best.set_size.mean),
    }
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in told.items()), class_="facts")


def _accuracy(best: Summary) -> str:
    return "not measured" if best.accuracy.mean is None else f"{best.accuracy.written()}%"


def notice(groups: Groups) -> Html | None:
    """What is not finished comes before any number that it could change."""
    waiting = unfinished(groups)
    if not waiting:
        return None
    title = f"{len(waiting)} of {sum(len(records) for records in groups.values())} campaigns not finished"
    say = (
        "Means below are over the seeds that have finished a round; the table compares seeds at their last common one."
    )
    return el("div", el("h3", title), el("p", say), el("ul", *(el("li", w) for w in waiting)), class_="block notice")
