"""Everything a campaign has decided or heard, in one SQLite file. Written down before it is acted on.

Every change of state is one transaction, so a process killed at any moment leaves the file at the end of some
step.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.database import Kind, Unwritable, connect, damaged, opening
from shortlist.campaign.schema import (
    HAS_ANSWER,
    IS_ANSWERED,
    LATER,
    SCHEMA_VERSION,
    answers,
    classes,
    events,
    items,
    meta,
    questions,
    rounds,
    tables,
)
from shortlist.campaign.writer import Writer
from shortlist.types import NONE, AnswerKind, Purpose, Round

KIND = Kind("campaign", tables, SCHEMA_VERSION, LATER)
_CORRECTION = answers.alias()
_LIVE = ~sa.select(_CORRECTION.c.id).where(_CORRECTION.c.supersedes == answers.c.id).exists()


@dataclass(frozen=True)
class RoundRow:
    number: int
    state: str
    alpha: float | None
    threshold: float | None
    trained_through: int | None
    result: Round | None


@dataclass(frozen=True)
class QuestionRow:
    """A question as it is kept: items and classes are the campaign's own numbers."""

    id: int
    round: int
    item: int
    purpose: Purpose
    classes: tuple[int, ...]
    cuts: tuple[int, ...]
    n_classes: int
    exhaustive: bool
    rejected: tuple[int, ...]
    state: str
    wanted: int  # how many people are to answer it


@dataclass(frozen=True)
class AnswerRow:
    id: int
    question: int
    item: int
    person: str
    kind: AnswerKind
    misses: int
    label: int | None
    cost: float
    active_seconds: float | None
    wall_seconds: float | None
    supersedes: int | None
    at: str
    stage_seconds: list[float] | None
    note: str | None
    final: bool

    @property
    def path(self) -> tuple[int, ...]:
        """One entry per stage: NONE, or the class chosen."""
        return (NONE,) * self.misses + (() if self.label is None else (self.label,))


class Heard(NamedTuple):
    """As much of an answer as it takes to resolve it."""

    id: int
    question: int
    item: int
    person: str
    kind: AnswerKind
    label: int | None
    supersedes: int | None
    final: bool


class Store:
    """One campaign's database. `Store.create` makes it, `Store(path)` opens it; `read_only` writes nothing but the
    columns that an older version lacks."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        KIND.upgrade(path)
        KIND.check(path)
        self.path = path
        self.engine = connect(path, read_only=read_only)
        self.close = weakref.finalize(self, self.engine.dispose)  # also when nobody calls it
        with opening(path), self.engine.connect():  # whoever has been in clears up on leaving
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def create(cls, path: Path, keys: Sequence[str], names: Sequence[str], config: dict[str, Any]) -> Store:
        """A new database with nothing asked yet."""

        def fill(c: sa.Connection) -> None:
            c.execute(meta.insert().values(key="config", value=json.dumps(config)))
            c.execute(items.insert(), [{"id": i, "key": k, "added_in": 0} for i, k in enumerate(keys)])
            c.execute(classes.insert(), [{"id": i, "name": k, "active_since": 0} for i, k in enumerate(names)])

        KIND.create(path, fill)
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """One transaction: all of it is kept, or none."""
        try:
            with self.engine.begin() as c:
                yield Writer(c)
        except sa.exc.OperationalError as error:
            raise Unwritable(self.path, error) from None

    # --- reading -----------------------------------------------------------------------------------------------

    def config(self) -> dict[str, Any]:
        """What was asked for."""
        with self.engine.connect() as c:
            kept = c.execute(sa.select(meta.c.value).where(meta.c.key == "config")).scalar()
        try:
            values: dict[str, Any] = json.loads(kept or "")
        except json.JSONDecodeError:
            values = {}
        if not isinstance(values, dict) or not values:
            raise damaged(self.path, "its configuration cannot be read")
        return values

    def keys(self) -> list[str]:
        with self.engine.connect() as c:
            return list(c.execute(sa.select(items.c.key).order_by(items.c.id)).scalars().all())

    def n_items(self) -> int:
        with self.engine.connect() as c:
            return int(c.execute(sa.select(sa.func.count()).select_from(items)).scalar_one())

    def class_names(self) -> list[str]:
        with self.engine.connect() as c:
            return list(c.execute(sa.select(classes.c.name).order_by(classes.c.id)).scalars())

    def rounds(self) -> list[RoundRow]:
        with self.engine.connect() as c:
            rows = c.execute(sa.select(rounds).order_by(rounds.c.number)).all()
        return [RoundRow(r.number, r.state, r.alpha, r.threshold, r.trained_through, _round(r.result)) for r in rows]

    def questions(self, *where: sa.ColumnElement[bool]) -> list[QuestionRow]:
        return self._questions(sa.select(questions).where(*where))

    def questions_by_id(self, ids: Iterable[int]) -> dict[int, QuestionRow]:
        return {q.id: q for part in _parts(ids) for q in self.questions(questions.c.id.in_(part))}

    def partly_answered(self) -> dict[int, QuestionRow]:
        """Questions whose "None of the above" ends them and leaves a partial label."""
        missed = sa.select(answers.c.question).where(answers.c.kind == "none")
        return {q.id: q for q in self.questions(questions.c.id.in_(missed), questions.c.exhaustive.is_(False))}

    def resolved_together(self) -> dict[int, QuestionRow]:
        """Questions whose answers cannot be read one by one: partial labels, and what several people answer."""
        shared = self.questions(questions.c.wanted > 1, HAS_ANSWER)
        return self.partly_answered() | {q.id: q for q in shared}

    def _questions(self, chosen: sa.Select[Any]) -> list[QuestionRow]:
        with self.engine.connect() as c:
            return [_question(row) for row in c.execute(chosen.order_by(questions.c.id)).all()]

    def open_questions(self, *, since: int = 0, after: int = 0, limit: int | None = None) -> list[QuestionRow]:
        """Questions of rounds since one, with an id after one, that have no answer yet."""
        where = (questions.c.round >= since, questions.c.id > after, questions.c.state == "open", ~IS_ANSWERED)
        return self._questions(sa.select(questions).where(*where).limit(limit))

    def asked_items(self, round: int, purpose: Purpose | None = None) -> list[int]:
        """Items of a round that people have been asked about, or can be now."""
        where = [questions.c.round == round, questions.c.state == "open"]
        if purpose is not None:
            where.append(questions.c.purpose == purpose)
        with self.engine.connect() as c:
            return list(c.execute(sa.select(questions.c.item).where(*where)).scalars())

    def is_waiting(self, round: int, purpose: Purpose | None = None) -> bool:
        """Whether a question of this round, or one of this purpose, has no answer yet."""
        mine = [questions.c.round == round, questions.c.state == "open", ~IS_ANSWERED]
        if purpose is not None:
            mine.append(questions.c.purpose == purpose)
        with self.engine.connect() as c:
            return bool(c.execute(sa.select(sa.exists().where(*mine))).scalar_one())

    def answers(self, *where: sa.ColumnElement[bool]) -> list[AnswerRow]:
        with self.engine.connect() as c:
            return [AnswerRow(*row) for row in c.execute(_ANSWER.where(*where).order_by(answers.c.id)).all()]

    def answers_to(self, asked: Iterable[int]) -> list[AnswerRow]:
        return [a for part in _parts(asked) for a in self.answers(answers.c.question.in_(part))]

    def heard(self, first: int, last: int | None = None, through: int | None = None) -> list[Heard]:
        """Answers about rounds from first to last, up to the answer `through`, in the order they were given."""
        where = [questions.c.round >= first]
        if last is not None:
            where.append(questions.c.round <= last)
        if through is not None:
            where.append(answers.c.id <= through)
        with self.engine.connect() as c:
            return list(map(Heard._make, c.execute(_HEARD.where(*where).order_by(answers.c.id)).all()))

    def lists(self, round: int) -> tuple[float | None, float | None]:
        """How long the first lists outside D_cal were on average, and what share of them held the answer."""
        held = sa.case((sa.and_(answers.c.kind == "label", answers.c.misses == 0), 1.0), else_=0.0)
        outside = (questions.c.round == round, questions.c.purpose != "calibration")
        chosen = sa.select(sa.func.avg(questions.c.size), sa.func.avg(held)).join_from(answers, questions)
        with self.engine.connect() as c:
            size, share = c.execute(chosen.where(*outside, answers.c.kind.in_(["label", "none"]), _LIVE)).one()
        return size, share

    def coverage(self) -> dict[int, float]:
        """By round, the share of lists made with its own alpha, D_cal's and those asked ahead left out, that held the
        answer. Where no class conformed all were shown, and that counts as a miss, as it does for alpha."""
        on_list = (answers.c.kind == "label", answers.c.misses == 0, questions.c.size < questions.c.n_classes)
        held = sa.func.avg(sa.case((sa.and_(*on_list), 1.0), else_=0.0)).label("held")
        mine = (questions.c.purpose == "query", answers.c.kind.in_(["label", "none"]), _LIVE)
        chosen = sa.select(questions.c.round, held).join_from(answers, questions).where(*mine)
        with self.engine.connect() as c:
            return {row.round: row.held for row in c.execute(chosen.group_by(questions.c.round))}

    def is_ended(self, round: int) -> bool:
        """Whether the campaign was found to be over after this round."""
        return any(number == round and step == "ending" for number, step, _ in self.events())

    def events(self) -> list[tuple[int, str, str]]:
        with self.engine.connect() as c:
            chosen = sa.select(events.c.round, events.c.step, events.c.detail).order_by(events.c.id)
            return [(r.round, r.step, r.detail) for r in c.execute(chosen)]

    def last_answer(self) -> int:
        with self.engine.connect() as c:
            return int(c.execute(sa.select(sa.func.coalesce(sa.func.max(answers.c.id), 0))).scalar_one())

    def costs(self) -> list[tuple[int, str, float]]:
        """(round, purpose, cost) of every answer."""
        chosen = sa.select(questions.c.round, questions.c.purpose, answers.c.cost).join_from(answers, questions)
        with self.engine.connect() as c:
            return [(round, purpose, cost) for round, purpose, cost in c.execute(chosen).all()]

    def labels_given(self, last: int) -> list[int]:
        """Items that people gave a label, up to a round, as often as they did; imports and the holdout left out."""
        return self._labelled_items(last, questions.c.purpose != "import")

    def imported(self, last: int) -> set[int]:
        """Items that an import gave a label, up to a round."""
        return set(self._labelled_items(last, questions.c.purpose == "import"))

    def _labelled_items(self, last: int, which: sa.ColumnElement[bool]) -> list[int]:
        mine = (which, questions.c.round.between(1, last), answers.c.label.is_not(None), _LIVE)
        chosen = sa.select(answers.c.item).select_from(answers.join(questions)).where(*mine)
        with self.engine.connect() as c:
            return list(c.execute(chosen).scalars())

    def unreadable(self) -> dict[int, str]:
        """Items that the dataset could not read, and why."""
        chosen = sa.select(items.c.id, items.c.unreadable).where(items.c.unreadable.is_not(None)).order_by(items.c.id)
        with self.engine.connect() as c:
            return {row.id: row.unreadable for row in c.execute(chosen)}

    def tally(self) -> tuple[int, int]:
        """How many questions people have answered, and how many of their labels, outside the holdout, stand."""
        own = questions.c.purpose != "import"
        n = sa.select(sa.func.count()).select_from(answers.join(questions))
        with self.engine.connect() as c:
            answered = c.execute(n.where(own, answers.c.supersedes.is_(None))).scalar_one()
            labels = n.where(own, questions.c.purpose != "holdout", answers.c.label.is_not(None), _LIVE)
            return int(answered), int(c.execute(labels).scalar_one())

    def answers_of(self, person: str, limit: int) -> list[AnswerRow]:
        """What somebody has said and not taken back, newest first."""
        mine = _ANSWER.where(answers.c.person == person, _LIVE).order_by(answers.c.id.desc()).limit(limit)
        with self.engine.connect() as c:
            return [AnswerRow(*row) for row in c.execute(mine).all()]


def _question(row: Any) -> QuestionRow:
    return QuestionRow(
        row.id,
        row.round,
        row.item,
        row.purpose,
        tuple(np.frombuffer(row.classes, "<i4").tolist()),
        tuple(row.cuts),
        row.n_classes,
        row.exhaustive,
        tuple(row.rejected),
        row.state,
        row.wanted,
    )


_ANSWER = sa.select(*(answers.c[name] for name in AnswerRow.__dataclass_fields__))
_HEARD = sa.select(*(answers.c[name] for name in Heard._fields)).join_from(answers, questions)


def _parts(ids: Iterable[int], size: int = 10_000) -> Iterator[list[int]]:
    """A few at a time: SQLite takes only so many parameters."""
    listed = sorted(ids)
    return (listed[i : i + size] for i in range(0, len(listed), size))


def _round(kept: dict[str, Any] | None) -> Round | None:
    if kept is None:
        return None
    interval = kept["interval"]
    return Round(**{**kept, "interval": None if interval is None else tuple(interval)})
