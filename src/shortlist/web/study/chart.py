"""The study's one figure: seconds a question against the number of options, as points for an SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.web.study.table import PAPER, Session, Table

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 16, 52  # margins, for the axes
APART = 9.0  # pixels between people of a group


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    label: str
    kind: str  # person | left-out | mean | paper


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    points: tuple[Point, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    line: tuple[tuple[float, float], ...]  # the fitted cost, from the smallest group to the largest
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw(sessions: Sequence[Session], table: Table) -> Chart | None:
    """None while nobody has finished."""
    if not sessions:
        return None
    options = sorted({s.options for s in sessions} | {g.options for g in PAPER})
    low, high = math.log2(options[0]), math.log2(options[-1])
    most = _round_up(max([*map(_per_question, sessions), *(g.per_question for g in PAPER)]))

    def x(k: float) -> float:
        share = (math.log2(k) - low) / (high - low)
        return LEFT + 40 + share * (WIDTH - LEFT - RIGHT - 80)

    def y(seconds: float) -> float:
        return HEIGHT - BOTTOM - seconds / most * (HEIGHT - TOP - BOTTOM)

    people = [
        Point(x(k) + shift, y(_per_question(s)), _label(s), "left-out" if s.person in table.left_out else "person")
        for k in options
        for s, shift in _beside([s for s in sessions if s.options == k])
    ]
    means = [Point(x(g.options), y(g.per_question), f"mean of {g.people}", "mean") for g in table.groups]
    paper = [Point(x(g.options), y(g.per_question), "the paper", "paper") for g in PAPER]
    ends = (options[0], options[-1])
    line = [(x(k), y(max(0.0, float(table.fit.cost(k))))) for k in ends] if table.fit else []
    return Chart(
        points=(*people, *paper, *means),
        across=tuple(Tick(x(k), str(k)) for k in options),
        up=tuple(Tick(y(most * i / 4), f"{most * i / 4:g}") for i in range(5)),
        line=tuple(line),
    )


def _per_question(session: Session) -> float:
    return session.total / len(session.seconds)


def _beside(sessions: Sequence[Session]) -> list[tuple[Session, float]]:
    """Side by side, so that nobody is hidden."""
    middle = (len(sessions) - 1) / 2
    apart = min(APART, 60 / max(1, len(sessions)))
    return [(session, (i - middle) * apart) for i, session in enumerate(sessions)]


def _label(session: Session) -> str:
    return f"person {session.person}: {_per_question(session):.2f} s a question, {session.accuracy:.0f}% right"


def _round_up(seconds: float) -> float:
    """
    >>> _round_up(8.3), _round_up(0.7), _round_up(41)
    (12.0, 0.8, 60.0)
    """
    size = 10.0 ** math.floor(math.log10(max(seconds, 1e-3)))
    return next(size * step for step in (1.2, 1.6, 2, 4, 6, 8, 12) if size * step >= seconds)
