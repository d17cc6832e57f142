"""Everything a campaign has decided or heard, in one SQLite file. Written down before it is acted on.

Every change of state is one transaction, so a process killed at any moment leaves the file at the end of some
step.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.schema import (
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
from shortlist.types import NONE, Answer, AnswerKind, Purpose, Round, ShortlistError

IS_ANSWERED = sa.select(answers.c.id).where(answers.c.question == questions.c.id).exists()
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

    @property
    def path(self) -> tuple[int, ...]:
        """One entry per stage: NONE, or the class chosen."""
        return (NONE,) * self.misses + (() if self.label is None else (self.label,))


class Heard(NamedTuple):
    """As much of an answer as it takes to resolve it."""

    id: int
    question: int
    item: int
    kind: AnswerKind
    label: int | None
    supersedes: int | None


class Store:
    """One campaign's database. `Store.create` makes it, `Store(path)` opens it, `read_only` never writes."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        _check(path)
        self.path = path
        self.engine = _engine(path, read_only=read_only)
        self.close = weakref.finalize(self, self.engine.dispose)  # also when nobody calls it
        with _opening(path), self.engine.connect():  # whoever has been in clears up on leaving
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def create(cls, path: Path, keys: Sequence[str], names: Sequence[str], config: dict[str, Any]) -> Store:
        """A new database, complete or not there at all: it is filled beside its place and moved there last."""
        fresh = path.with_name(path.name + ".new")
        for stale in path.parent.glob(fresh.name + "*"):
            stale.unlink()
        engine = _engine(fresh)
        try:
            tables.create_all(engine)
            with engine.begin() as c:
                facts = {"schema_version": str(SCHEMA_VERSION), "config": json.dumps(config)}
                c.execute(meta.insert(), [{"key": k, "value": v} for k, v in facts.items()])
                c.execute(items.insert(), [{"id": i, "key": k, "added_in": 0} for i, k in enumerate(keys)])
                c.execute(classes.insert(), [{"id": i, "name": k, "active_since": 0} for i, k in enumerate(names)])
        finally:
            engine.dispose()  # the last to leave folds the write-ahead log into the file
        fresh.replace(path)
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """One transaction: all of it is kept, or none."""
        try:
            with self.engine.begin() as c:
                yield Writer(c)
        except sa.exc.OperationalError as error:
            raise ShortlistError(f"{self.path}: cannot be written ({error.orig})") from None

    # --- reading -----------------------------------------------------------------------------------------------

    def config(self) -> dict[str, Any]:
        """What was asked for."""
        with self.engine.connect() as c:
            kept = c.execute(sa.select(meta.c.value).where(meta.c.key == "config")).scalar()
        try:
            values: dict[str, Any] = json.loads(kept or "")
        except json.JSONDecodeError:
            raise _damaged(self.path, "its configuration cannot be read") from None
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


class Writer:
    """What can be changed, inside one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self.c = connection

    def set_config(self, config: dict[str, Any]) -> None:
        self.c.execute(meta.update().where(meta.c.key == "config").values(value=json.dumps(config)))

    def add_items(self, first: int, keys: Sequence[str], round: int) -> None:
        self.c.execute(items.insert(), [{"id": first + i, "key": k, "added_in": round} for i, k in enumerate(keys)])

    def add_classes(self, first: int, names: Sequence[str], round: int) -> None:
        rows = [{"id": first + i, "name": k, "active_since": round} for i, k in enumerate(names)]
        self.c.execute(classes.insert(), rows)

    def start_round(self, number: int, state: str, alpha: float | None, threshold: float | None) -> None:
        self.c.execute(rounds.insert().values(number=number, state=state, alpha=alpha, threshold=threshold))

    def set_round(self, number: int, **values: Any) -> None:
        if isinstance(values.get("result"), Round):
            values["result"] = asdict(values["result"])
        self.c.execute(rounds.update().where(rounds.c.number == number).values(**values))

    def ask(self, rows: Iterable[dict[str, Any]]) -> None:
        if listed := list(rows):
            self.c.execute(questions.insert(), listed)

    def drop_reserved(self, round: int) -> None:
        """Ahead questions that nobody was given go back to the pool."""
        self.c.execute(questions.delete().where(questions.c.round == round, questions.c.state == "reserved"))

    def hand_out(self, round: int, n: int) -> list[int]:
        """The first n ahead questions that nobody has yet: from here on they count. Returns their ids."""
        mine = sa.select(questions.c.id).where(questions.c.round == round, questions.c.state == "reserved")
        first = mine.order_by(questions.c.id).limit(n).scalar_subquery()
        change = questions.update().where(questions.c.id.in_(first)).values(state="open").returning(questions.c.id)
        return sorted(self.c.execute(change).scalars())

    def widen(self, n_classes: int) -> None:
        """Questions that nobody has answered take up new classes, at the end of what they show."""
        whole = sa.case((questions.c.size == questions.c.n_classes, n_classes), else_=questions.c.size)
        self.c.execute(questions.update().where(~IS_ANSWERED).values(n_classes=n_classes, size=whole))

    def answer(self, given: Sequence[tuple[Answer, int, float]]) -> None:
        """Append (answer, item, cost)."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [
            {
                "question": a.question,
                "item": item,
                "person": a.person,
                "kind": a.kind,
                "misses": a.path.count(NONE),
                "label": a.label,
                "cost": cost,
                "active_seconds": a.active_seconds,
                "wall_seconds": a.wall_seconds,
                "supersedes": a.supersedes,
                "at": at,
            }
            for a, item, cost in given
        ]
        if not rows:
            return
        try:
            self.c.execute(answers.insert(), rows)
        except sa.exc.IntegrityError:
            raise ShortlistError("answer: the same person has just answered this elsewhere; look again") from None

    def note(self, round: int, step: str, detail: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.c.execute(events.insert().values(at=at, round=round, step=step, detail=detail))


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


def _check(path: Path) -> None:
    """Refuse what is no database of ours, without touching it."""
    with _opening(path):
        if not path.is_file():
            raise ShortlistError(f"{path.parent}: no campaign here (there is no {path.name})")
        engine = _engine(path, read_only=True)
        try:
            with engine.connect() as c:
                _check_schema(path, c)
        finally:
            engine.dispose()


def _check_schema(path: Path, c: sa.Connection) -> None:
    verdict = c.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if verdict != "ok":
        raise _damaged(path, str(verdict))
    found = sa.inspect(c)
    for table in tables.sorted_tables:
        if not found.has_table(table.name):
            raise _damaged(path, f"no table {table.name}")
    version = c.execute(sa.select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
    if version != str(SCHEMA_VERSION):
        raise ShortlistError(
            f"{path}: made with schema version {version}, this Shortlist reads {SCHEMA_VERSION}; "
            "use the version that made it"
        )


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """What the system or SQLite has against it, in a sentence."""
    try:
        yield
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be opened ({error.strerror})") from None
    except sa.exc.OperationalError as error:
        raise ShortlistError(f"{path}: cannot be opened ({error.orig})") from None
    except sa.exc.DatabaseError as error:
        raise _damaged(path, str(error.orig)) from None


def _damaged(path: Path, why: str) -> ShortlistError:
    return ShortlistError(f"{path}: this database is damaged ({why}); put back a copy, or start in another folder")


def _mode(path: Path, read_only: bool) -> dict[str, str]:
    if not read_only:
        return {"mode": "rwc"}
    # a reader, too, keeps its place in a file beside the log; where it may write none and there is no log, it need not
    log = path.with_name(path.name + "-wal")
    return {"mode": "ro"} if os.access(path.parent, os.W_OK) or log.exists() else {"mode": "ro", "immutable": "1"}


def _engine(path: Path, *, read_only: bool = False) -> sa.Engine:
    address = sa.URL.create(
        "sqlite", database=f"file:{quote(str(path))}", query={"uri": "true", **_mode(path, read_only)}
    )
    engine = sa.create_engine(address, connect_args={"timeout": 30})

    @sa.event.listens_for(engine, "connect")
    def settings(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        if not read_only:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=FULL")  # an answer that was acknowledged survives a power cut
        cursor.close()

    return engine
