"""The numbers of a report and how they are written, on the terminal and on the page alike."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple

from shortlist.experiments.method_names import by_subject, grouped
from shortlist.measures import Record, accuracy_per_cost, saved, saving, times_floor
from shortlist.rates import percent
from shortlist.types import Round

if TYPE_CHECKING:
    from rich.table import Table

Groups = Mapping[str, Sequence[Record]]  # by method
MISSING = "–"
FLOOR = (  # what the column says
    "The floor is the least that these answers could have cost with the model’s probabilities, item by item: −log₂ of "
    "each answer’s, as far as answers bear them out. A better model has a lower one."
)
UNITS = {"linear": "units"}  # what a cost model counts, where its name does not say it
MEASURED = ("labelled", "accuracy", "macro_f1", "cost", "conventional_cost", "relative_cost")  # of a round, as it is
PURPOSES = {
    "holdout": "holdout, measured with only",
    "initial": "first random items",
    "calibration": "calibration items",
    "query": "selected items",
    "ahead": "asked ahead",
}


# --- how numbers are written -----------------------------------------------------------------------------------


def number(value: float | None, digits: int = 1) -> str:
    """
    >>> number(12345.678), number(-0.04), number(None)
    ('12,345.7', '0.0', '–')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def amount(value: float | None, unit: str) -> str:
    """
    >>> amount(10234.4, "bits"), amount(3.21, "seconds"), amount(80, "linear")
    ('10,234 bits', '3.2 seconds', '80.0 units')
    """
    return f"{number(value, 0 if value is not None and abs(value) >= 100 else 1)} {unit_word(unit)}"


def unit_word(unit: str) -> str:
    return UNITS.get(unit, unit)


def duration(seconds: float | None) -> str:
    """
    >>> duration(0.84), duration(75), duration(7260)
    ('0.8 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds is None:
        return MISSING
    if seconds < 60:
        return f"{number(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True)
class Spread:
    """A number over seeds: its mean, and its sample standard deviation if there is more than one."""

    mean: float | None
    std: float | None = None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread:
        """
        >>> Spread.of([1.0, 3.0, None])
        Spread(mean=2.0, std=1.4142135623730951)
        """
        known = [v for v in values if v is not None]
        if not known:
            return cls(None)
        return cls(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)

    @property
    def percent(self) -> Spread:
        """Of a share, in percent.

        >>> Spread(0.07, 0.001).percent
        Spread(mean=7.0, std=0.1)
        """
        return Spread(percent(self.mean), percent(self.std))

    def written(self, digits: int = 1, between: str = " ± ") -> str:
        """
        >>> Spread(96.24, 0.31).written(), Spread(96.24).written(), Spread(None).written()
        ('96.2 ± 0.3', '96.2', '–')
        """
        spread = "" if self.std is None else f"{between}{number(self.std, digits)}"
        return f"{number(self.mean, digits)}{spread}"


# --- what a method came to -------------------------------------------------------------------------------------


class Point(NamedTuple):
    """A round whose accuracy is known: means over seeds."""

    cost: float
    conventional_cost: float
    accuracy: float


@dataclass(frozen=True)
class Summary:
    """A method at the last round that all its seeds have finished."""

    method: str
    query: str
    seeds: int  # that have finished a round
    started: int
    rounds: int
    unit: str
    labelled: Spread
    accuracy: Spread
    macro_f1: Spread
    cost: Spread
    conventional_cost: Spread
    relative_cost: Spread
    accuracy_per_cost: Spread
    saving: Spread
    times_floor: Spread
    set_size: Spread
    seconds: Spread
    curve: tuple[Point, ...]

    def accuracy_at(self, cost: float) -> float | None:
        """Once so much was paid, between rounds by a straight line; that of the last round when all is paid."""
        reached = None
        for before, after in pairwise((*self.curve[:1], *self.curve)):
            if after.cost > cost:
                if reached is None:
                    return None
                share = (cost - before.cost) / (after.cost - before.cost)
                return before.accuracy + share * (after.accuracy - before.accuracy)
            reached = after.accuracy
        return reached

    def price_of(self, accuracy: float, field: Literal["cost", "conventional_cost"] = "cost") -> float | None:
        """What had been paid when it was first as accurate, or had all been asked conventionally; None: never."""
        for before, after in pairwise((*self.curve[:1], *self.curve)):
            if after.accuracy >= accuracy:
                low, high = getattr(before, field), getattr(after, field)
                gained = after.accuracy - before.accuracy
                return float(high - (high - low) * (after.accuracy - accuracy) / gained if gained > 0 else high)
        return None


def summaries(groups: Groups) -> list[Summary]:
    return [summary(method, records) for method, records in groups.items()]


def summary(method: str, records: Sequence[Record]) -> Summary:
    """Seeds that have no finished round yet count as started and nothing else."""
    begun = [record.rounds for record in records if record.rounds]
    common = min((len(rounds) for rounds in begun), default=0)
    shared = [rounds[:common] for rounds in begun]

    def over(measure: Callable[[Round], float | None]) -> Spread:
        return Spread.of(measure(rounds[-1]) for rounds in shared)

    return Summary(
        method=method,
        query=str(records[0].config["query"]["name"]),
        seeds=len(begun),
        started=len(records),
        rounds=common,
        unit=records[0].unit,
        **{name: over(attrgetter(name)) for name in MEASURED},
        accuracy_per_cost=over(accuracy_per_cost),
        saving=over(saving),
        times_floor=over(times_floor),
        set_size=Spread.of(set_size(rounds) for rounds in shared),
        seconds=Spread.of(math.fsum(r.seconds for r in rounds) for rounds in shared),
        curve=tuple(_point(seeds) for seeds in zip(*shared, strict=True) if all(r.accuracy is not None for r in seeds)),
    )


def _point(seeds: Sequence[Round]) -> Point:
    """A round of every seed, as one."""
    return Point(*(statistics.fmean(getattr(r, name) for r in seeds) for name in Point._fields))


def set_size(rounds: Sequence[Round]) -> float | None:
    """Mean number of classes shown first, over every question after the first random ones."""
    shown = [(r.mean_set_size, r.asked) for r in rounds if r.number > 1 and r.mean_set_size is not None]
    asked = sum(n for _, n in shown)
    return math.fsum(size * n for size, n in shown) / asked if asked else None


# --- the headline ------------------------------------------------------------------------------------------------


class Money(NamedTuple):
    """The headline: its emphasised words, and those before and after them."""

    before: str
    loud: str = ""
    after: str = ""


def money_line(records: Sequence[Record]) -> str:
    """The headline of the first subject with a saving, for a title or the last line of a command."""
    lines = []
    for members in by_subject(records).values():
        rows = summaries(grouped(members))
        lines.append(money(rows, best_method(rows)))
    return "".join(next((line for line in lines if line.loud), lines[0])) if lines else "No campaign yet"


def best_method(rows: Sequence[Summary]) -> Summary | None:
    """Of the methods with shortlists that came furthest, the most accurate for as much money as the cheapest has paid.

    Where accuracy is not measured, the candidate set method that saved most. Early rounds are cheap, so a method that
    has only begun would win over all that are done.
    """
    furthest = _furthest(rows)
    if all(row.curve for row in furthest):
        budget = min((_paid(row) for row in furthest), default=0.0)
        return max(furthest, key=lambda s: (s.accuracy_at(budget) or 0.0, s.saving.mean or 0.0), default=None)
    mine = [row for row in furthest if row.query == "candidate_set"] or furthest
    return max(mine, key=lambda s: s.saving.mean or 0.0)


def _furthest(rows: Sequence[Summary]) -> list[Summary]:
    shorter = [row for row in rows if row.rounds and row.query != "conventional"]
    return [row for row in shorter if row.rounds == max(other.rounds for other in shorter)]


def _paid(row: Summary) -> float:
    return row.curve[-1].cost


class Rival(NamedTuple):
    """The cheapest way to as much accuracy with all classes shown at once."""

    accuracy: float  # of the best method when it had paid as much as the cheapest of those that came as far
    cost: float  # that the best method had paid for it
    conventional_cost: float
    method: str  # whose items these are


def rival(rows: Sequence[Summary], best: Summary) -> Rival | None:
    """What the best method is compared with, at equal accuracy; None where accuracy is not measured."""
    furthest = _furthest(rows)
    if not all(row.curve for row in furthest):
        return None
    accuracy = best.accuracy_at(min(map(_paid, furthest)))
    cost = None if accuracy is None else best.price_of(accuracy)
    if accuracy is None or cost is None:
        return None
    ways = {row.method: row.price_of(accuracy, "conventional_cost") for row in (best, *rows)}
    known = {method: price for method, price in ways.items() if price is not None}
    method = min(known, key=lambda name: known[name])
    return Rival(accuracy, cost, known[method], method)


def money(rows: Sequence[Summary], best: Summary | None) -> Money:
    """The headline about the best method, or about what was paid where there is none.

    At equal accuracy, where it is measured: the cheapest way to it is what any other has to be compared with.
    """
    if best is None:
        most = max((row for row in rows if row.rounds), key=lambda row: row.labelled.mean or 0, default=None)
        if most is None:
            return Money("No round is finished yet")
        paid = amount(most.cost.mean, most.unit)
        return Money(f"{number(most.labelled.mean, 0)} labels for {paid}, asked conventionally")
    other = rival(rows, best)
    same = "Same labels, " if other is None else f"{number(percent(other.accuracy))}% accuracy, "
    share = best.saving.mean if other is None else saved(other.cost, other.conventional_cost)
    if share is None or abs(share) < 0.005:
        return Money(same, "same price", " as asking conventionally")
    word = "cheaper" if share > 0 else "dearer"
    return Money(same, f"{number(percent(abs(share)), 0)}% {word}", " than asking conventionally")


# --- how far a campaign is -------------------------------------------------------------------------------------


def state(record: Record) -> str:
    """How far a campaign is, in words. Only its own process knows whether it is still running."""
    if record.ending:
        return f"finished: {record.ending}"
    if not (record.rounds or record.ledger or record.open_questions):
        return "created, nothing asked yet"
    waiting = record.open_questions
    tail = f": {waiting:,} open question{'' if waiting == 1 else 's'}" if waiting else ""
    held = sum(line.answers for line in record.ledger if line.purpose == "holdout")
    stage = f"round {record.rounds[-1].number + 1 if record.rounds else 1}"
    if not record.rounds and held < record.config["holdout"]:
        stage = "the holdout"
    return f"running or stopped in {stage}{tail}"


def unfinished(groups: Groups) -> list[str]:
    """One sentence for each campaign that is not over."""
    return [
        f"{method}, seed {record.config['seed']}: {state(record)}"
        for method, records in groups.items()
        for record in records
        if record.ending is None
    ]


def above_floor(rows: Sequence[Summary], before: str = "") -> list[str]:
    """A sentence about the methods of which it is known."""
    known = [f"{row.method} {number(row.times_floor.mean)}" for row in rows if row.times_floor.mean is not None]
    return [f"{before}Cost: {', '.join(known)} × the floor."] if known else []


# --- on the terminal -------------------------------------------------------------------------------------------


COLUMNS: dict[str, Callable[[Summary], str]] = {  # narrow enough together for 80 characters
    "Labels": lambda s: number(s.labelled.mean, 0),
    "Accuracy\n%": lambda s: s.accuracy.percent.written(between="±"),
    "Macro-F1\n%": lambda s: s.macro_f1.percent.written(between="±"),
    "Relative\ncost %": lambda s: s.relative_cost.percent.written(between="±"),
    "Accuracy\nper cost": lambda s: number(s.accuracy_per_cost.mean, 2),
    "Saving": lambda s: MISSING if s.saving.mean is None else f"{number(percent(s.saving.mean))}%",
    "Set\nsize": lambda s: number(s.set_size.mean),
    "Time": lambda s: duration(s.seconds.mean),
}


def terminal_table(records: Sequence[Record]) -> Table:
    """The summary of a report, for the end of a command."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    subjects = by_subject(records)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0), pad_edge=False, caption_justify="left")
    methods = [method for members in subjects.values() for method in grouped(members)]
    table.add_column("Method", min_width=min(16, max(map(len, methods), default=0)), overflow="fold")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    notes: list[str] = []
    for subject, members in subjects.items():
        groups = grouped(members)
        if len(subjects) > 1:
            table.add_row(Text(subject, style="bold"))  # Text: names may hold what rich would take for markup
        for row in summaries(groups):
            table.add_row(Text(row.method), *(written(row) for written in COLUMNS.values()))
        notes += unfinished(groups) + above_floor(summaries(groups), f"{subject}: " if len(subjects) > 1 else "")
    notes += [FLOOR] if any("× the floor" in note for note in notes) else []
    table.caption = Text("\n".join(notes)) if notes else None
    return table
