"""One page that explains what campaigns came to: finished, running or killed, one seed or many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shortlist import measures
from shortlist.campaign.config import to_toml
from shortlist.campaign.storage.folder import find_campaigns
from shortlist.experiments import figures
from shortlist.experiments.method_names import by_subject, explained, grouped
from shortlist.experiments.report_page import Html, block, details, el, figure, legend, page, table, together
from shortlist.experiments.tables import (
    FLOOR,
    MISSING,
    PURPOSES,
    Groups,
    Spread,
    Summary,
    amount,
    best_method,
    duration,
    money,
    money_line,
    number,
    rival,
    state,
    summaries,
    unfinished,
    unit_word,
)
from shortlist.measures import Record
from shortlist.rates import percent
from shortlist.system.files import write_text
from shortlist.types import Round, ShortlistError


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Write the page about every campaign in or below `folders`; all of it, or what was there stays."""
    if out.is_dir():
        raise ShortlistError(f"{out}: this is a folder; name the file to write the report to")
    written = report([measures.read(folder) for folder in find_campaigns(folders)])
    try:
        write_text(out, written)
    except OSError as error:
        raise ShortlistError(f"{out}: cannot be written ({error.strerror})") from None
    return out


def report(records: Sequence[Record]) -> str:
    """The whole page as text; the same records give the same text."""
    subjects = by_subject(records)
    sections = [section(f"s{i}", name, members) for i, (name, members) in enumerate(subjects.items())]
    quiet = "Figures are still pictures here; with JavaScript they show numbers under the pointer."
    closing = "Made by Shortlist. Everything on this page is in the page: it loads nothing."
    return page(
        money_line(records),
        el("h1", "Shortlist report"),
        *sections,
        el("footer", el("noscript", el("p", quiet)), el("p", closing)),
    )


def section(at: str, name: str, records: Sequence[Record]) -> Html:
    """All about one dataset with one model."""
    groups = grouped(records)
    rows = summaries(groups)
    best = best_method(rows)
    return el(
        "section",
        el("p", subject_line(name, records[0]), class_="subject"),
        headline(groups, rows, best),
        notice(groups),
        pictures(at, groups),
        method_table(rows, best),
        block("How to read the names", terms(groups)),
        block("Round by round", *(rounds_of(m, r) for m, r in groups.items())),
        ledger_table(groups),
        campaigns(groups),
        block("Settings", *(settings_of(m, r) for m, r in groups.items())),
    )


def subject_line(name: str, record: Record) -> str:
    model = record.config["model"]
    parts = [
        name,
        f"{record.n_items:,} items",
        f"{len(record.classes):,} classes",
        str(model.get("estimator", model["name"])),
        f"cost in {unit_word(record.unit)}",
    ]
    return " · ".join(parts)


# --- the headline ------------------------------------------------------------------------------------------------


def headline(groups: Groups, rows: Sequence[Summary], best: Summary | None) -> Html:
    before, loud, after = money(rows, best)
    kind = "dearer" if loud.endswith("dearer") else None
    title = el("h2", before, el("b", loud, class_=kind) if loud else None, after)
    if best is None:
        return title
    twin = twin_of(groups, best.method)
    means, seeds = (f" (means of {best.seeds} seeds)", "seeds") if best.seeds > 1 else ("", "seed")
    lead = (
        f"{best.method} got {number(best.labelled.mean, 0)} labels for {amount(best.cost.mean, best.unit)}. "
        f"Asking about the same items conventionally, with all classes at once, comes to "
        f"{amount(best.conventional_cost.mean, best.unit)}{means}. "
    )
    if twin:
        lead += (
            f"{twin}, run with the same {seeds}, ended with exactly the same labels for the same items, at that full "
            "price."
        )
    other = rival(rows, best)
    if other and other.method != best.method:
        lead += (
            f" Its {number(percent(other.accuracy))}% accuracy came at {amount(other.cost, best.unit)}; the cheapest "
            f"way to as much with all classes at once, with the items of {other.method}, comes to "
            f"{amount(other.conventional_cost, best.unit)}."
        )
    if best.times_floor.mean is not None:
        lead += f" {best.method} is at {number(best.times_floor.mean)} × the floor. {FLOOR}"
    return together(title, el("p", lead, class_="lead"), bars(best), facts(groups, best))


def twin_of(groups: Groups, method: str) -> str | None:
    """The conventional method that, seed by seed, labelled the same items alike: compared, not assumed."""
    for other, records in groups.items():
        if records[0].config["query"]["name"] != "conventional":
            continue
        pairs = [(mine, theirs) for mine in groups[method] for theirs in records if _twins(mine, theirs)]
        labels = ((measures.labels(mine.folder), measures.labels(theirs.folder)) for mine, theirs in pairs)
        if len(pairs) == len(groups[method]) and all(mine == theirs for mine, theirs in labels):
            return other
    return None


def _twins(one: Record, other: Record) -> bool:
    alike = [key for key in one.config if key not in ("query", "stop")]
    return all(one.config[key] == other.config.get(key) for key in alike) and len(one.rounds) == len(other.rounds)


def bars(best: Summary) -> Html:
    """Paid and conventional as two lengths, the longer one at 70%: the number stands behind it."""
    costs = {best.method: best.cost.mean or 0.0, "conventionally": best.conventional_cost.mean or 0.0}
    longest = max(costs.values()) or 1.0
    parts = []
    for name, cost in costs.items():
        kind = "plain" if name == "conventionally" else None
        bar = el("i", class_=kind, style=f"width:{70 * cost / longest:.1f}%")
        parts += [el("span", name), el("div", bar, el("b", amount(cost, best.unit)))]
    return el("div", *parts, class_="bars")


def facts(groups: Groups, best: Summary) -> Html:
    classes = len(groups[best.method][0].classes)
    measured = {
        "Labels": number(best.labelled.mean, 0),
        "Accuracy": "not measured" if best.accuracy.mean is None else f"{best.accuracy.percent.written()}%",
        "Relative cost": f"{best.relative_cost.percent.written()}%",
        "Accuracy per cost": number(best.accuracy_per_cost.mean, 2),
        "Cost over the floor": MISSING if best.times_floor.mean is None else f"{best.times_floor.written()} ×",
        f"Mean list, of {classes:,} classes": number(best.set_size.mean),
    }
    return el("dl", *(el("div", el("dt", name), el("dd", value)) for name, value in measured.items()), class_="facts")


def notice(groups: Groups) -> Html | None:
    """What is not finished comes before any number that it could change."""
    waiting = unfinished(groups)
    if not waiting:
        return None
    title = f"{len(waiting)} of {sum(len(records) for records in groups.values())} campaigns not finished"
    say = (
        "Means below are over the seeds that have finished a round; the table compares seeds at their last common one."
    )
    return block(title, el("p", say), el("ul", *(el("li", w) for w in waiting)), class_="block notice")


# --- figures ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    draw: Callable[..., figures.Figure]
    explanation: str


MAIN = Picture(
    "accuracy",
    "Accuracy against cost",
    figures.accuracy_against_cost,
    "Each line is a method, each point a round. Further left is cheaper, further up is better: of two methods, the "
    "one whose line lies up and to the left gets more for the same money. 100% is the price of labelling every item "
    "by choosing among all classes.",
)
NO_ACCURACY = "There is neither a test split nor a holdout, so accuracy is not known. Set holdout to measure it."
BAND = " In all figures lines are means over seeds, bands one standard deviation either way."
SMALL = (
    Picture(
        "cost",
        "What was paid, round by round",
        figures.cost_by_round,
        "Everything paid so far. The dotted line is what the same labels would have cost with all classes shown at "
        "once; the gap below it is the saving.",
    ),
    Picture(
        "size",
        "How long the shortlists were",
        figures.set_size_by_round,
        "The mean number of classes shown first, each step up being twice as many. The surer the model, the shorter "
        "the list. Calibration items are left out.",
    ),
    Picture(
        "alpha",
        "How much risk was worth it",
        figures.alpha_by_round,
        "α is the share of shortlists allowed to miss the right class. Unless it is fixed, every round takes the one "
        "that makes labels cheapest on its calibration items: short lists that sometimes miss, or long ones that "
        "rarely do. An item with no class above the threshold is asked about all classes, and counts in α.",
    ),
    Picture(
        "coverage",
        "How often the shortlist was enough",
        figures.coverage_by_round,
        "Of the lists that were short of all classes, the share that held the answer: measured, not promised. After "
        "a miss the annotator says “None of the above” and sees the other classes, so a miss costs more but loses no "
        "label (save for one-bit queries). Items asked with all classes are not counted; tables below say how many.",
    ),
)


def pictures(at: str, groups: Groups) -> Html | None:
    if not any(record.rounds for records in groups.values() for record in records):
        return None
    small = [_drawn(at, picture, groups) for picture in SMALL]
    looks = {method: look for method, look in figures.looks(groups).items() if any(r.rounds for r in groups[method])}
    return together(
        legend(looks),
        _drawn(at, MAIN, groups) or block(MAIN.title, el("p", NO_ACCURACY)),
        el("div", *(s for s in small if s), class_="pair") if any(small) else None,
    )


def _drawn(at: str, picture: Picture, groups: Groups) -> Html | None:
    chart = picture.draw(groups, legend=False)
    if chart is None:
        return None
    band = BAND if picture is MAIN and any(len(records) > 1 for records in groups.values()) else ""
    return figure(chart, f"{at}-{picture.name}", picture.title, picture.explanation + band)


# --- tables ----------------------------------------------------------------------------------------------------


def method_table(rows: Sequence[Summary], best: Summary | None) -> Html:
    unit = unit_word(rows[0].unit)
    columns: dict[str, Callable[[Summary], str]] = {
        "Method": lambda s: s.method,
        "Seeds": lambda s: str(s.seeds) if s.seeds == s.started else f"{s.seeds} of {s.started}",
        "Rounds": lambda s: str(s.rounds),
        "Labels": lambda s: number(s.labelled.mean, 0),
        "Accuracy, %": lambda s: s.accuracy.percent.written(),
        "Macro-F1, %": lambda s: s.macro_f1.percent.written(),
        f"Paid, {unit}": lambda s: number(s.cost.mean, 0),
        "Relative cost, %": lambda s: s.relative_cost.percent.written(),
        "Accuracy per cost": lambda s: number(s.accuracy_per_cost.mean, 2),
        "Saving, %": lambda s: s.saving.percent.written(),
        "× the floor": lambda s: s.times_floor.written(),
        "Mean set size": lambda s: number(s.set_size.mean),
        "Time": lambda s: duration(s.seconds.mean),
    }
    filled = [[written(row) for written in columns.values()] for row in rows]
    at = next((i for i, row in enumerate(rows) if best and row.method == best.method), None)
    say = (
        "After the last round that all seeds have finished; mean ± sample standard deviation over seeds. "
        "Saving is against asking about the same items conventionally; × the floor is what was paid over the least "
        "that it could have been with the model’s probabilities; time is the computer’s and the annotators’."
    )
    return block("Methods side by side", table(list(columns), filled, say, best=at))


def rounds_of(method: str, records: Sequence[Record]) -> Html:
    numbers = sorted({round.number for record in records for round in record.rounds})
    if not numbers:
        return details(f"{method}: no round finished", el("p", "Nothing to show yet."))
    unit = unit_word(records[0].unit)
    columns: dict[str, Callable[[Sequence[Round]], str]] = {
        "Round": lambda seeds: str(seeds[0].number),
        "Labels": _mean("labelled", 0),
        "Asked": _mean("asked", 0),
        f"Paid, {unit}": _mean("cost", 0),
        f"Conventionally, {unit}": _mean("conventional_cost", 0),
        "Saving, %": lambda seeds: number(Spread.of(map(measures.saving, seeds)).percent.mean),
        "Relative cost, %": _percent("relative_cost"),
        "Floor, bits": _mean("floor", 0),
        "× the floor": lambda seeds: number(Spread.of(map(measures.times_floor, seeds)).mean, 2),
        "Accuracy, %": _measured,
        "Macro-F1, %": _percent("macro_f1"),
        "α": _mean("alpha", 3),
        "Threshold": _mean("threshold", 4),
        "Set size": _mean("mean_set_size", 2),
        "Short lists": _mean("lists", 0),
        "of them held, %": _percent("coverage"),
        "All classes": _mean("full", 0),
        "Time": lambda seeds: duration(Spread.of(r.seconds for r in seeds).mean),
    }
    by_number = [[r for record in records for r in record.rounds if r.number == n] for n in numbers]
    rows = [[written(seeds) for written in columns.values()] for seeds in by_number]
    caption = f"{method}, mean of {len(records)} seeds" if len(records) > 1 else f"{method}, 95% interval of accuracy"
    return details(f"{method}: {len(numbers)} rounds", table(list(columns), rows, caption))


def _mean(measure: str, digits: int = 1) -> Callable[[Sequence[Round]], str]:
    return lambda seeds: number(Spread.of(getattr(r, measure) for r in seeds).mean, digits)


def _percent(measure: str) -> Callable[[Sequence[Round]], str]:
    return lambda seeds: number(Spread.of(getattr(r, measure) for r in seeds).percent.mean)


def _measured(seeds: Sequence[Round]) -> str:
    """Accuracy with its spread over seeds, or with its Wilson interval where there is one seed."""
    spread = Spread.of(r.accuracy for r in seeds).percent
    interval = seeds[0].interval
    if len(seeds) > 1 or spread.mean is None or interval is None:
        return spread.written()
    low, high = (number(percent(end)) for end in interval)
    return f"{spread.written()} ({low}–{high})"


def ledger_table(groups: Groups) -> Html:
    """What the money went into: mean over seeds of everything paid, rounds under way included."""
    rows = [row for method, records in groups.items() for row in _ledger_rows(method, records)]
    unit = unit_word(next(iter(groups.values()))[0].unit)
    header = ["Method", "What for", "Answers", f"Paid, {unit}", "Per answer"]
    say = "Everything paid, rounds under way included; means over seeds. The holdout counts in no cost above."
    inside = table(header, rows, say, words=2) if rows else el("p", "Nothing was paid yet.")
    return block("Ledger: what was paid, and for what", inside)


def _ledger_rows(method: str, records: Sequence[Record]) -> list[list[str]]:
    rows: list[list[str]] = []
    for purpose, words in PURPOSES.items():
        lines = [line for record in records for line in record.ledger if line.purpose == purpose]
        if lines:
            answers, cost = sum(line.answers for line in lines), sum(line.cost for line in lines)
            each = [number(answers / len(records), 0), number(cost / len(records), 0), number(cost / answers, 2)]
            rows.append(["" if rows else method, words, *each])  # the name once, above its lines
    return rows


def campaigns(groups: Groups) -> Html:
    """Every folder with how far it is and what it had to say."""
    members = [(method, record) for method, records in groups.items() for record in records]
    rows = [
        [method, str(record.config["seed"]), state(record), str(record.folder), "; ".join(record.notes)]
        for method, record in members
    ]
    header = ["Method", "Seed", "State", "Folder", "Notes"]
    say = "Only a campaign’s own process knows whether it is still running."
    listed = table(header, rows, say, words=len(header))
    title = f"{len(rows)} folder{'' if len(rows) == 1 else 's'}, how far they are, and their notes"
    worth_a_look = any(record.notes or record.ending is None for _, record in members)
    return block("Campaigns", details(title, listed, unfolded=worth_a_look))


def settings_of(method: str, records: Sequence[Record]) -> Html:
    seeds = ", ".join(str(record.config["seed"]) for record in records)
    config = {key: value for key, value in records[0].config.items() if key != "seed"}
    return details(f"{method}: seed{'s' if len(records) > 1 else ''} {seeds}", el("pre", to_toml(config)))


def terms(groups: Groups) -> Html:
    """The names that occur, in words: query designs, then ways to pick items."""
    configs = [records[0].config for records in groups.values()]
    sentences: dict[str, str] = {}
    for kind, key in (("queries", "query"), ("acquisition", "acquisition")):
        for config in configs:
            sentences |= explained(kind, config[key])
    entries = [together(el("dt", name), el("dd", sentence)) for name, sentence in sentences.items()]
    return el("dl", *entries, class_="terms")
