"""A study's results: its table, the fitted cost, its figure, and the words for the terminal, the page and files.

All of it is arithmetic on sessions: one person, one number of options, so many answers.
"""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from shortlist.costs import Seconds
from shortlist.rates import percent
from shortlist.study.store import Session, StudyStore

GUESSING = 0.01
FEWEST = 3  # people in a group from which one is left out
HEADER = ("Options", "People", "Total time, s", "Seconds a question", "Right, %")
RULE = "As in the paper: in every group of at least three, the one whose time is furthest from the mean is left out."
EVERYBODY = "With everybody."
CSV_HEADER = "person name options finished left_out item classes truth chosen correct active_seconds wall_seconds at"

# --- the table -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """A line of the table. A spread is a sample standard deviation; a single person has none."""

    options: int
    people: int
    total: float  # seconds for all items
    total_sd: float | None
    per_question: float
    accuracy: float
    accuracy_sd: float | None


PAPER = (  # 20 images; printed seconds per query disagree with total / 20, which is what stands here
    Group(4, 10, 69.4, 13.8, 69.4 / 20, 1.0, 0.0),
    Group(8, 10, 91.5, 27.3, 91.5 / 20, 0.985, 0.032),
    Group(16, 10, 116.9, 29.6, 116.9 / 20, 0.995, 0.015),
    Group(32, 10, 166.9, 30.8, 166.9 / 20, 0.955, 0.052),
)


@dataclass(frozen=True)
class Fit:
    """The cost model a + b·log2(options), fitted by least squares to single answers."""

    cost: Seconds
    answers: int
    people: int
    r_squared: float | None  # of single answers
    error: float | None  # standard error of b, over people: answers of one person are not independent


@dataclass(frozen=True)
class Table:
    groups: tuple[Group, ...]
    left_out: tuple[int, ...]  # people, by the outlier rule
    correlation_people: float | None  # of total time with log2 of the options, over single people
    correlation_means: float | None  # over the means of the groups, which is the paper's 0.97
    fit: Fit | None
    guessing: tuple[int, ...] = ()  # people who count in the groups, and not in the fit


def tabulate(sessions: Sequence[Session], *, outlier_rule: bool = True) -> Table:
    """The groups and the fit; by the paper's rule the person furthest from their group's mean time is left out.

    >>> people = [Session(i, k, (s, s), 2) for i, (k, s) in enumerate([(4, 2.0), (4, 2.2), (4, 9.0), (8, 3.0)])]
    >>> table = tabulate(people)
    >>> [(g.options, g.people, round(g.total, 1)) for g in table.groups], table.left_out
    ([(4, 2, 4.2), (8, 1, 6.0)], (2,))
    """
    out = outliers(sessions) if outlier_rule else set()
    counted = [s for s in sessions if s.person not in out]
    guessing = tuple(sorted(s.person for s in counted if is_guessing(s)))
    groups = tuple(_group(k, [s for s in counted if s.options == k]) for k in sorted({s.options for s in counted}))
    return Table(
        groups=groups,
        left_out=tuple(sorted(out)),
        correlation_people=correlation(counted),
        correlation_means=correlation(groups),
        fit=fit([s for s in counted if s.person not in guessing]),
        guessing=guessing,
    )


def is_guessing(session: Session) -> bool:
    """Whether somebody was right no oftener than who presses any key would be once in a hundred times.

    Of answers so few that all of them may be right by chance, nothing is said.

    >>> is_guessing(Session(1, 4, (0.5,) * 20, 7)), is_guessing(Session(2, 4, (2.0,) * 20, 17))
    (True, False)
    """
    n, chance = len(session.seconds), 1 / session.options
    as_good = sum(math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(session.correct, n + 1))
    return chance**n <= GUESSING < as_good


def outliers(sessions: Sequence[Session]) -> set[int]:
    """The person furthest from the mean of each group of at least three; of several, the first to have come."""
    furthest = set()
    for k in {s.options for s in sessions}:
        group = sorted((s for s in sessions if s.options == k), key=lambda s: s.person)
        if len(group) >= FEWEST:
            mean = statistics.fmean(s.total for s in group)
            furthest.add(max(group, key=lambda s: abs(s.total - mean)).person)
    return furthest


def _group(options: int, sessions: Sequence[Session]) -> Group:
    totals, accuracies = [s.total for s in sessions], [s.accuracy for s in sessions]
    answers = sum(len(s.seconds) for s in sessions)
    return Group(
        options=options,
        people=len(sessions),
        total=statistics.fmean(totals),
        total_sd=_spread(totals),
        per_question=sum(totals) / answers,
        accuracy=sum(s.correct for s in sessions) / answers,
        accuracy_sd=_spread(accuracies),
    )


def _spread(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None


def correlation(rows: Sequence[Session | Group]) -> float | None:
    """Pearson's, of total seconds with log2 of the options; None where either does not vary.

    >>> round(correlation(PAPER), 3)
    0.979
    """
    options, seconds = [row.options for row in rows], [row.total for row in rows]
    if len(set(options)) < 2 or len(set(seconds)) < 2:
        return None
    return float(np.corrcoef(np.log2(options), seconds)[0, 1])


def fit(sessions: Sequence[Session]) -> Fit | None:
    """The cost of these sessions' answers; None unless they differ in the number of options.

    >>> paper = fit([Session(i, g.options, (g.per_question,) * 20, 20) for i, g in enumerate(PAPER)])
    >>> round(paper.cost.a, 3), round(paper.cost.b, 2), paper.answers
    (-0.005, 1.59, 80)
    """
    if len({s.options for s in sessions}) < 2:
        return None
    options = np.repeat([s.options for s in sessions], [len(s.seconds) for s in sessions])
    seconds = np.concatenate([s.seconds for s in sessions])
    cost = Seconds.fit(options, seconds)
    total = float(((seconds - seconds.mean()) ** 2).sum())
    left = float(((seconds - cost.a - cost.b * np.log2(options)) ** 2).sum())
    return Fit(
        cost=cost,
        answers=len(seconds),
        people=len(sessions),
        r_squared=1 - left / total if total > 0 else None,
        error=_error(cost, sessions),
    )


def _error(cost: Seconds, sessions: Sequence[Session]) -> float | None:
    """Of the slope through people's mean times: the same slope, as all answer the same number of questions."""
    if len(sessions) < FEWEST:
        return None
    bits = np.log2([s.options for s in sessions])
    left = np.array([s.per_question for s in sessions]) - cost.a - cost.b * bits
    variance = float((left**2).sum()) / (len(sessions) - 2)
    return float(np.sqrt(variance / ((bits - bits.mean()) ** 2).sum()))


# --- everything there is to show ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    items: int
    sessions: tuple[Session, ...]  # of those who finished
    under_way: int
    given_up: int
    ruled: Table  # by the paper's rule
    everybody: Table


def results_of(store: StudyStore, now: datetime | None = None) -> Results:
    now = now or datetime.now(UTC)
    people, sessions = store.people(), tuple(store.sessions())
    return Results(
        items=store.config()["items"],
        sessions=sessions,
        under_way=sum(person.is_under_way(now) for person in people),
        given_up=sum(not person.finished and not person.is_under_way(now) for person in people),
        ruled=tabulate(sessions),
        everybody=tabulate(sessions, outlier_rule=False),
    )


def figure(results: Results) -> dict[str, Any] | None:
    """What the page draws: seconds a question of every person and group, and the fit; None while there are none."""
    if not results.sessions:
        return None
    out, fitted = results.ruled.left_out, results.ruled.fit
    return {
        "people": [
            {"x": s.options, "y": s.per_question, "person": s.person, "right": s.accuracy, "left_out": s.person in out}
            for s in results.sessions
        ],
        "means": [{"x": g.options, "y": g.per_question, "n": g.people} for g in results.ruled.groups],
        "paper": [{"x": g.options, "y": g.per_question, "n": g.people} for g in PAPER],
        "fit": fitted and {"a": fitted.cost.a, "b": fitted.cost.b},
    }


# --- words -----------------------------------------------------------------------------------------------------


def written(value: float | None, digits: int = 1, spread: float | None = None) -> str:
    """
    >>> written(12.345), written(-0.5, 2), written(None), written(69.4, spread=13.8)
    ('12.3', '−0.50', '–', '69.4 ± 13.8')
    """
    if value is None:
        return "–"
    around = "" if spread is None else f" ± {written(spread, digits)}"
    return f"{value:.{digits}f}".replace("-", "−") + around


def cells(group: Group) -> tuple[str, ...]:
    total = written(group.total, spread=group.total_sd)
    right = written(percent(group.accuracy), spread=percent(group.accuracy_sd))
    return str(group.options), str(group.people), total, written(group.per_question, 2), right


def paper_cells(options: int) -> tuple[str, ...]:
    """Total, seconds a question and accuracy of the paper's group of that size, if it had one."""
    group = next((group for group in PAPER if group.options == options), None)
    return cells(group)[2:] if group else ("–",) * 3


def who(results: Results) -> str:
    """
    >>> who(Results(20, (), 2, 1, tabulate([]), tabulate([])))
    '0 people have finished; 2 under way; 1 began more than an hour ago and did not finish'
    """
    n = len(results.sessions)
    parts = [f"{n} {'person has' if n == 1 else 'people have'} finished", f"{results.under_way} under way"]
    if results.given_up:
        parts.append(f"{results.given_up} began more than an hour ago and did not finish")
    return "; ".join(parts)


def sentences(table: Table) -> list[str]:
    """The correlations and the cost model, with the paper's beside them."""
    return [
        f"Correlation of total time with log2 of the options: {written(table.correlation_means, 3)} over the means of "
        f"the groups (the paper's way: it prints 0.97, its table gives {written(correlation(PAPER), 3)}), "
        f"{written(table.correlation_people, 3)} over single people.",
        *([_guessing_words(len(table.guessing))] if table.guessing else []),
        *([_fit_words(table.fit)] if table.fit else []),
    ]


def _guessing_words(n: int) -> str:
    return (
        f"{n} {'person was' if n == 1 else 'people were'} right no oftener than by guessing: no cost is fitted to that."
    )


def _fit_words(fit: Fit) -> str:
    error = "" if fit.error is None else f" (standard error, over {fit.people} people)"
    return (
        f"Seconds of an answer: {written(fit.cost.a, 2)} + {written(fit.cost.b, 2)} · log2(options), by least squares "
        f"over {fit.answers} answers; the slope is {written(fit.cost.b, 2, fit.error)}{error}, the paper's 1.59. "
        f"R² of single answers: {written(fit.r_squared, 2)}."
    )


# --- files -----------------------------------------------------------------------------------------------------


def cost_line(fit: Fit) -> str:
    """What a campaign prices with, as it stands under [query] in its campaign.toml.

    >>> cost_line(Fit(Seconds(0.5, 1.25), 80, 4, 0.5, None))
    'cost = { name = "seconds", a = 0.5, b = 1.25 }'
    """
    return f'cost = {{ name = "seconds", a = {round(fit.cost.a, 4)!r}, b = {round(fit.cost.b, 4)!r} }}'


def cost_toml(fit: Fit) -> str:
    words = f"# Measured by a user study: {fit.people} people, {fit.answers} answers."
    return f"{words} Goes under [query] in campaign.toml.\n{cost_line(fit)}\n"


def answers_csv(store: StudyStore) -> str:
    """A row for every answer that counts, in the order they were given; practice is left out."""
    names, out = store.class_names(), tabulate(store.sessions()).left_out
    file = io.StringIO()
    write = csv.writer(file, lineterminator="\n")
    write.writerow(CSV_HEADER.split())
    for row in store.rows():
        options = json.dumps([names[c] for c in row.classes], ensure_ascii=False)
        person = (row.person, row.name or "", row.options, _yes(row.finished), _yes(row.person in out))
        answer = (row.key, options, names[row.truth], names[row.chosen], _yes(row.chosen == row.truth))
        write.writerow([*person, *answer, row.active_seconds, row.wall_seconds, row.at])
    return file.getvalue()


def _yes(truth: object) -> str:
    return "yes" if truth else "no"
