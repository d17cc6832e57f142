"""One page that explains what campaigns came to: finished, running or killed, one seed or many."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shortlist import measures
from shortlist.campaign.config import to_toml
from shortlist.experiments import figures
from shortlist.experiments.folders import find_campaigns
from shortlist.experiments.headline import Groups, best_method, headline, money_line, notice
from shortlist.experiments.labels import by_subject, grouped, query_label
from shortlist.experiments.page import Html, details, el, figure, legend, page, table, together
from shortlist.experiments.tables import (
    PURPOSES,
    Spread,
    Summary,
    duration,
    number,
    saving,
    state,
    summaries,
    unit_word,
)
from shortlist.measures import Record
from shortlist.types import Round, ShortlistError


def write_report(folders: Sequence[Path], out: Path) -> Path:
    """Write the page about every campaign in or below `folders`; all of it, or what was there stays."""
    if out.is_dir():
        raise ShortlistError(f"{out}: this is a folder; name the file to write the report to")
    written = report([measures.read(folder) for folder in find_campaigns(folders)])
    fresh = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(written, "utf-8")
        fresh.replace(out)
    except OSError as error:
        raise ShortlistError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        if fresh.exists():
            fresh.unlink()
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
    best = best_method(groups, rows)
    return el(
        "section",
        el("p", subject_line(name, records[0]), class_="subject"),
        headline(groups, rows, best),
        notice(groups),
        pictures(at, groups),
        method_table(rows, best),
        el("div", el("h3", "How to read the names"), terms(groups), class_="block"),
        el("div", el("h3", "Round by round"), *(rounds_of(m, r) for m, r in groups.items()), class_="block"),
        ledger_table(groups),
        campaigns(groups),
        el("div", el("h3", "Settings"), *(settings_of(m, r) for m, r in groups.items()), class_="block"),
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
        "rarely do. An item with no class above the threshold is asked about all classes: it counts in α, not as a "
        "miss.",
    ),
    Picture(
        "coverage",
        "How often the shortlist was enough",
        figures.coverage_by_round,
        "The share of shortlists that held the answer: measured, not promised. After a miss the annotator says “None "
        "of the above” and sees the other classes, so a miss costs more but loses no label (save for one-bit queries).",
    ),
)


def pictures(at: str, groups: Groups) -> Html | None:
    if not any(record.rounds for records in groups.values() for record in records):
        return None
    small = [_drawn(at, picture, groups) for picture in SMALL]
    looks = {method: look for method, look in figures.looks(groups).items() if any(r.rounds for r in groups[method])}
    return together(
        legend(looks),
        _drawn(at, MAIN, groups) or no_accuracy(),
        el("div", *(s for s in small if s), class_="pair") if any(small) else None,
    )


def _drawn(at: str, picture: Picture, groups: Groups) -> Html | None:
    chart = picture.draw(groups, legend=False)
    if chart is None:
        return None
    band = BAND if picture is MAIN and any(len(records) > 1 for records in groups.values()) else ""
    return figure(chart, f"{at}-{picture.name}", picture.title, picture.explanation + band)


def no_accuracy() -> Html:
    say = "There is neither a test split nor a holdout, so accuracy is not known. Set holdout to measure it."
    return el("div", el("h3", MAIN.title), el("p", say), class_="block")


# --- tables ----------------------------------------------------------------------------------------------------


def method_table(rows: Sequence[Summary], best: Summary | None) -> Html:
    unit = unit_word(rows[0].unit)
    columns: dict[str, Callable[[Summary], str]] = {
        "Method": lambda s: s.method,
        "Seeds": lambda s: str(s.seeds) if s.seeds == s.started else f"{s.seeds} of {s.started}",
        "Rounds": lambda s: str(s.rounds),
        "Labels": lambda s: number(s.labelled.mean, 0),
        "Accuracy, %": lambda s: s.accuracy.written(),
        "Macro-F1, %": lambda s: s.macro_f1.written(),
        f"Paid, {unit}": lambda s: number(s.cost.mean, 0),
        "Relative cost, %": lambda s: s.relative_cost.written(),
        "Accuracy per cost": lambda s: number(s.accuracy_per_cost.mean, 2),
        "Saving, %": lambda s: s.saving.written(),
        "Mean set size": lambda s: number(s.set_size.mean),
        "Time": lambda s: duration(s.seconds.mean),
    }
    filled = [[written(row) for written in columns.values()] for row in rows]
    at = next((i for i, row in enumerate(rows) if best and row.method == best.method), None)
    say = (
        "After the last round that all seeds have finished; mean ± sample standard deviation over seeds. "
        "Saving is against asking about the same items conventionally; time is the computer’s and the annotators’."
    )
    return el("div", el("h3", "Methods side by side"), table(list(columns), filled, say, best=at), class_="block")


def rounds_of(method: str, records: Sequence[Record]) -> Html:
    numbers = sorted({round.number for record in records for round in record.rounds})
    if not numbers:
        return details(f"{method}: no round finished", el("p", "Nothing to show yet."))
    unit = unit_word(records[0].unit)
    header = ["Round", "Labels", "Asked", f"Paid, {unit}", f"Conventionally, {unit}", "Saving, %", "Relative cost, %"]
    header += ["Accuracy, %", "Macro-F1, %", "α", "Threshold", "Set size", "Coverage, %", "Time"]
    rows = [_round_row([r for record in records for r in record.rounds if r.number == n]) for n in numbers]
    caption = f"{method}, mean of {len(records)} seeds" if len(records) > 1 else f"{method}, 95% interval of accuracy"
    return details(f"{method}: {len(numbers)} rounds", table(header, rows, caption))


def _round_row(seeds: Sequence[Round]) -> list[str]:
    def mean(measure: Callable[[Round], float | None], digits: int = 1) -> str:
        return number(Spread.of(measure(r) for r in seeds).mean, digits)

    return [
        str(seeds[0].number),
        mean(lambda r: r.labelled, 0),
        mean(lambda r: r.asked, 0),
        mean(lambda r: r.cost, 0),
        mean(lambda r: r.conventional_cost, 0),
        mean(saving),
        mean(lambda r: r.relative_cost),
        _measured(seeds),
        mean(lambda r: r.macro_f1),
        mean(lambda r: r.alpha, 3),
        mean(lambda r: r.threshold, 4),
        mean(lambda r: r.mean_set_size, 2),
        mean(lambda r: r.coverage),
        duration(Spread.of(r.seconds for r in seeds).mean),
    ]


def _measured(seeds: Sequence[Round]) -> str:
    """Accuracy with its spread over seeds, or with its Wilson interval where there is one seed."""
    spread = Spread.of(r.accuracy for r in seeds)
    interval = seeds[0].interval
    if len(seeds) > 1 or spread.mean is None or interval is None:
        return spread.written()
    return f"{spread.written()} ({number(interval[0])}–{number(interval[1])})"


def ledger_table(groups: Groups) -> Html:
    """What the money went into: mean over seeds of everything paid, rounds under way included."""
    rows = [row for method, records in groups.items() for row in _ledger_rows(method, records)]
    unit = unit_word(next(iter(groups.values()))[0].unit)
    header = ["Method", "What for", "Answers", f"Paid, {unit}", "Per answer"]
    say = "Everything paid, rounds under way included; means over seeds. The holdout counts in no cost above."
    inside = table(header, rows, say, words=2) if rows else el("p", "Nothing was paid yet.")
    return el("div", el("h3", "Ledger: what was paid, and for what"), inside, class_="block")


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
    told = [(method, record) for method, records in groups.items() for record in records]
    rows = [
        [method, str(record.config["seed"]), state(record), str(record.folder), "; ".join(record.notes)]
        for method, record in told
    ]
    header = ["Method", "Seed", "State", "Folder", "Notes"]
    say = "Only a campaign’s own process knows whether it is still running."
    listed = table(header, rows, say, words=len(header))
    title = f"{len(rows)} folder{'' if len(rows) == 1 else 's'}, how far they are, and their notes"
    worth_a_look = any(record.notes or record.ending is None for _, record in told)
    return el("div", el("h3", "Campaigns"), details(title, listed, unfolded=worth_a_look), class_="block")


def settings_of(method: str, records: Sequence[Record]) -> Html:
    seeds = ", ".join(str(record.config["seed"]) for record in records)
    config = {key: value for key, value in records[0].config.items() if key != "seed"}
    return details(f"{method}: seed{'s' if len(records) > 1 else ''} {seeds}", el("pre", to_toml(config)))


# --- words -----------------------------------------------------------------------------------------------------

QUERY_TERMS = {
    "conventional": "Conventional query: the annotator chooses among all classes at once.",
    "candidate_set": "Candidate set query: the annotator first sees only the classes the model holds possible, and "
    "“None of the above”; the other classes come only after “None”.",
    "top_k": "The most probable classes, as many for every item, and “None of the above”; the others after “None”.",
    "one_bit": "“Is it this class?” and nothing more: a no leaves the item with a partial label.",
}
ACQUISITION_TERMS = {
    "random": ("Rand", "Items are picked at random."),
    "entropy": ("Ent", "Items are picked where the model’s probabilities are spread widest."),
    "margin": ("Margin", "Items are picked where the two most probable classes are closest."),
    "least_confident": ("LC", "Items are picked where the most probable class is least probable."),
    "core_set": ("CoreSet", "Items are picked furthest from everything labelled."),
    "badge": ("BADGE", "Items are picked that would change the model most, and differently from each other."),
    "prob_cover": ("ProbCover", "Items are picked with most neighbours that nothing labelled is near."),
    "saal": ("SAAL", "Items are picked whose loss rises most when the model is shaken."),
    "typi_clust": ("TypiClust", "Items are picked that are typical of clusters with few labels."),
    "cost_aware": ("Cost(·)", "As the method inside, weighed against what each item is expected to cost."),
}


def terms(groups: Groups) -> Html:
    """The names that occur, in words: query designs, then ways to pick items."""
    queries: dict[str, str] = {}
    picks: dict[str, str] = {}
    for records in groups.values():
        query, part = records[0].config["query"], records[0].config["acquisition"]
        if query["name"] in QUERY_TERMS:
            fixed = " α is fixed." if query.get("alpha") is not None else ""
            queries[query_label(query)] = QUERY_TERMS[query["name"]] + fixed
        while part:
            if part["name"] in ACQUISITION_TERMS:
                picks.setdefault(*ACQUISITION_TERMS[part["name"]])
            part = part.get("inner")
    told = queries | picks
    return el("dl", *(together(el("dt", term), el("dd", words)) for term, words in told.items()), class_="terms")
