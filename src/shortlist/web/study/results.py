"""A study's results in words and numbers, the same on the terminal, on the page and in files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime

from shortlist.web.study.plan import UNDER_WAY
from shortlist.web.study.store import StudyStore
from shortlist.web.study.table import PAPER, Fit, Group, Session, Table, correlation, tabulate

HEADER = ("Options", "People", "Total time, s", "Seconds a question", "Right, %")
RULE = "As in the paper: in every group of at least three, the one whose time is furthest from the mean is left out."
EVERYBODY = "With everybody."
CSV_HEADER = (
    "person",
    "name",
    "options",
    "finished",
    "left_out",
    "item",
    "classes",
    "truth",
    "chosen",
    "correct",
    "active_seconds",
    "wall_seconds",
    "at",
)


@dataclass(frozen=True)
class Results:
    items: int
    sessions: tuple[Session, ...]  # of those who finished
    under_way: int
    given_up: int
    ruled: Table  # by the paper's rule
    everybody: Table


def results(store: StudyStore, now: datetime | None = None) -> Results:
    now = now or datetime.now(UTC)
    open_ = [person for person in store.people() if not person.finished]
    under_way = sum(now - person.started < UNDER_WAY for person in open_)
    sessions = tuple(store.sessions())
    return Results(
        items=store.config()["items"],
        sessions=sessions,
        under_way=under_way,
        given_up=len(open_) - under_way,
        ruled=tabulate(sessions),
        everybody=tabulate(sessions, outlier_rule=False),
    )


# --- words -----------------------------------------------------------------------------------------------------


def written(value: float | None, digits: int = 1) -> str:
    """
    >>> written(12.345), written(-0.5, 2), written(None)
    ('12.3', '−0.50', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


def spread(mean: float, sd: float | None) -> str:
    """
    >>> spread(69.4, 13.8), spread(69.4, None)
    ('69.4 ± 13.8', '69.4')
    """
    return written(mean) if sd is None else f"{written(mean)} ± {written(sd)}"


def cells(group: Group) -> tuple[str, ...]:
    """
    >>> cells(PAPER[0])
    ('4', '10', '69.4 ± 13.8', '3.47', '100.0 ± 0.0')
    """
    total, right = spread(group.total, group.total_sd), spread(group.accuracy, group.accuracy_sd)
    return str(group.options), str(group.people), total, written(group.per_question, 2), right


def paper_cells(options: int) -> tuple[str, ...]:
    """Total, seconds a question and accuracy of the paper's group of that size, if it had one."""
    found = next((group for group in PAPER if group.options == options), None)
    return cells(found)[2:] if found else ("–",) * 3


def who(found: Results) -> str:
    """
    >>> who(Results(20, (), 2, 1, tabulate([]), tabulate([])))
    '0 people have finished; 2 under way; 1 began more than an hour ago and did not finish'
    """
    n = len(found.sessions)
    parts = [f"{n} {'person has' if n == 1 else 'people have'} finished", f"{found.under_way} under way"]
    if found.given_up:
        parts.append(f"{found.given_up} began more than an hour ago and did not finish")
    return "; ".join(parts)


def sentences(table: Table) -> list[str]:
    """The correlations and the cost model, with the paper's beside them."""
    paper = correlation([g.options for g in PAPER], [g.total for g in PAPER])
    return [
        f"Correlation of total time with log2 of the options: {written(table.correlation_means, 3)} over the means of "
        f"the groups (the paper's way: it prints 0.97, its table gives {written(paper, 3)}), "
        f"{written(table.correlation_people, 3)} over single people.",
        *([_fit_words(table.fit)] if table.fit else []),
    ]


def _fit_words(fit: Fit) -> str:
    error = "" if fit.error is None else f" ± {written(fit.error, 2)} (standard error, over {fit.people} people)"
    return (
        f"Seconds of an answer: {written(fit.cost.a, 2)} + {written(fit.cost.b, 2)} · log2(options), by least squares "
        f"over {fit.answers} answers; the slope is {written(fit.cost.b, 2)}{error}, the paper's 1.59. "
        f"R² of single answers: {written(fit.r_squared, 2)}."
    )


# --- files -----------------------------------------------------------------------------------------------------


def cost_line(fit: Fit) -> str:
    """What a campaign prices with, as it stands under [query] in its campaign.toml.

    >>> from shortlist.costs import Seconds
    >>> cost_line(Fit(Seconds(0.5, 1.25), 80, 4, 0.5, None))
    'cost = { name = "seconds", a = 0.5, b = 1.25 }'
    """
    return f'cost = {{ name = "seconds", a = {round(fit.cost.a, 4)!r}, b = {round(fit.cost.b, 4)!r} }}'


def cost_toml(fit: Fit) -> str:
    words = f"# Measured by a user study: {fit.people} people, {fit.answers} answers."
    return f"{words} Goes under [query] in campaign.toml.\n{cost_line(fit)}\n"


def answers_csv(store: StudyStore) -> str:
    """A row for every answer that counts, in the order they were given."""
    names, out = store.class_names(), tabulate(store.sessions()).left_out
    file = io.StringIO()
    write = csv.writer(file, lineterminator="\n")
    write.writerow(CSV_HEADER)
    for row in store.rows():
        options = json.dumps([names[c] for c in row.classes], ensure_ascii=False)
        person = (row.person, row.name or "", row.options, _yes(row.finished), _yes(row.person in out))
        answer = (row.key, options, names[row.truth], names[row.chosen], _yes(row.chosen == row.truth))
        write.writerow([*person, *answer, row.active_seconds, row.wall_seconds, row.at])
    return file.getvalue()


def _yes(truth: object) -> str:
    return "yes" if truth else "no"
