"""Everything a campaign has decided or been told, in one SQLite file. Written down before it is acted on.

Every change of state is one transaction, so a process killed at any moment leaves the file at the end of some
step.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.randomness import DRAWS
from shortlist.campaign.storage.cells import wrong_cell
from shortlist.campaign.storage.database import Damaged, Kind, Unwritable, connect, connected, kept, opening
from shortlist.campaign.storage.schema import (
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
from shortlist.rates import in_shares
from shortlist.types import NONE, Answer, AnswerKind, Purpose, Round, ShortlistError, Stages

KIND = Kind("campaign", tables, SCHEMA_VERSION, LATER)
MOST = 1_000_000  # classes, and so stages, that anybody can have
_CORRECTION = answers.alias()
_LIVE = ~sa.select(_CORRECTION.c.id).where(_CORRECTION.c.supersedes == answers.c.id).exists()
_SETTLES = answers.c.label.is_not(None) | ((answers.c.kind == "none") & questions.c.exhaustive)


# --- rows ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundRow:
    number: int
    state: str
    alpha: float | None
    threshold: float | None
    trained_through: int | None
    result: Round | None
    query: dict[str, Any] | None = None  # what its calibration found, for `QueryDesign.restored`


@dataclass(frozen=True)
class QuestionRow(Stages):
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
        refuse_endless(self.misses)
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


class Told(NamedTuple):
    """An answer that rules out classes, and what was asked."""

    id: int
    item: int
    label: int | None  # None: none of those shown, and nothing more was asked
    round: int
    purpose: Purpose
    shown: tuple[int, ...]  # up to the last cut
    n_possible: int  # classes that no earlier answer had ruled out

    @property
    def named(self) -> tuple[int, ...]:
        """The class it is, or those it is not."""
        return self.shown if self.label is None else (self.label,)

    @property
    def n_left(self) -> int:
        """How many classes are possible after it."""
        return self.n_possible - len(self.shown) if self.label is None else 1


# --- reading ---------------------------------------------------------------------------------------------------


class Reader:
    """What a database of a campaign is asked; every call sees one moment."""

    path: Path
    engine: sa.Engine

    def _rows(self, chosen: sa.Select[Any]) -> Sequence[Any]:
        with self.engine.connect() as c:
            return c.execute(chosen).all()

    def _column(self, chosen: sa.Select[Any]) -> list[Any]:
        with self.engine.connect() as c:
            return list(c.execute(chosen).scalars())

    def _value(self, chosen: sa.Select[Any]) -> Any:
        with self.engine.connect() as c:
            return c.execute(chosen).scalar()

    def config(self) -> dict[str, Any]:
        """What was asked for."""
        text = self._value(sa.select(meta.c.value).where(meta.c.key == "config"))
        try:
            values: dict[str, Any] = json.loads(text or "")
        except json.JSONDecodeError:
            values = {}
        if not isinstance(values, dict) or not values:
            raise Damaged(self.path, "its configuration cannot be read")
        return values

    def keys(self) -> list[str]:
        return self._column(sa.select(items.c.key).order_by(items.c.id))

    def n_items(self) -> int:
        return int(self._value(sa.select(sa.func.count()).select_from(items)))

    def class_names(self) -> list[str]:
        return self._column(sa.select(classes.c.name).order_by(classes.c.id))

    def rounds(self) -> list[RoundRow]:
        with self.engine.connect() as c:
            rows = c.execute(sa.select(rounds).order_by(rounds.c.number)).all()
            states = dict(c.execute(sa.select(meta.c.key, meta.c.value).where(meta.c.key.startswith("query "))).all())
        return [_round_row(row, states.get(query_key(row.number))) for row in rows]

    def draws_version(self) -> int:
        """The version of the campaign's random draws; 1 where none was kept yet."""
        return int(self._value(sa.select(meta.c.value).where(meta.c.key == "draws")) or 1)

    def questions(self, *where: sa.ColumnElement[bool], limit: int | None = None) -> list[QuestionRow]:
        chosen = _QUESTION.where(*where).order_by(questions.c.id).limit(limit)
        return [_question(row) for row in self._rows(chosen)]

    def questions_by_id(self, ids: Iterable[int]) -> dict[int, QuestionRow]:
        return {q.id: q for part in _parts(ids) for q in self.questions(questions.c.id.in_(part))}

    def questions_about(self, items: Iterable[int]) -> list[QuestionRow]:
        return [q for part in _parts(items) for q in self.questions(questions.c.item.in_(part))]

    def items_labelled(self, classes: Iterable[int], most: int) -> dict[int, list[int]]:
        """Of each class the items that were first given it and still are, at most so many."""
        nth = sa.func.row_number().over(partition_by=answers.c.label, order_by=answers.c.id).label("nth")
        given = sa.select(answers.c.label, answers.c.item, nth).where(answers.c.label.in_(list(classes)), _LIVE)
        first = given.subquery()
        found: dict[int, list[int]] = {}
        with self.engine.connect() as c:
            for label, item in c.execute(sa.select(first.c.label, first.c.item).where(first.c.nth <= most)):
                found.setdefault(label, []).append(item)
        return found

    def partly_answered(self) -> dict[int, QuestionRow]:
        """Questions whose "None of the above" ends them and leaves a partial label."""
        missed = sa.select(answers.c.question).where(answers.c.kind == "none")
        return {q.id: q for q in self.questions(questions.c.id.in_(missed), questions.c.exhaustive.is_(False))}

    def resolved_together(self) -> dict[int, QuestionRow]:
        """Questions whose answers cannot be read one by one: partial labels, and what several people answer."""
        shared = self.questions(questions.c.wanted > 1, HAS_ANSWER)
        return self.partly_answered() | {q.id: q for q in shared}

    def open_questions(self, *, since: int = 0, after: int = 0, limit: int | None = None) -> list[QuestionRow]:
        """Questions of rounds since one, with an id after one, that have no answer yet."""
        where = (questions.c.round >= since, questions.c.id > after, questions.c.state == "open", ~IS_ANSWERED)
        return self.questions(*where, limit=limit)

    def asked_items(self, round: int, purpose: Purpose | None = None) -> list[int]:
        """Items of a round that people have been asked about, or can be now."""
        where = [questions.c.round == round, questions.c.state == "open"]
        if purpose is not None:
            where.append(questions.c.purpose == purpose)
        return self._column(sa.select(questions.c.item).where(*where))

    def is_waiting(self, round: int, purpose: Purpose | None = None) -> bool:
        """Whether a question of this round, or one of this purpose, has no answer yet."""
        mine = [questions.c.round == round, questions.c.state == "open", ~IS_ANSWERED]
        if purpose is not None:
            mine.append(questions.c.purpose == purpose)
        return bool(self._value(sa.select(sa.exists().where(*mine))))

    def answers(self, *where: sa.ColumnElement[bool]) -> list[AnswerRow]:
        return [AnswerRow(*row) for row in self._rows(_ANSWER.where(*where).order_by(answers.c.id))]

    def answers_to(self, asked: Iterable[int]) -> list[AnswerRow]:
        return [a for part in _parts(asked) for a in self.answers(answers.c.question.in_(part))]

    def heard(self, first: int, last: int | None = None, through: int | None = None) -> list[Heard]:
        """Answers about rounds from first to last, up to the answer `through`, in the order they were given."""
        where = [questions.c.round >= first]
        if last is not None:
            where.append(questions.c.round <= last)
        if through is not None:
            where.append(answers.c.id <= through)
        return list(map(Heard._make, self._rows(_HEARD.where(*where).order_by(answers.c.id))))

    def told(self, first: int, last: int, *, after: int = 0, through: int | None = None) -> list[Told]:
        """What people have told about rounds from first to last, by the answers after one and up to one, corrections in
        the place of what they correct."""
        where = [questions.c.round.between(first, last), questions.c.purpose != "import", answers.c.id > after]
        if through is not None:
            where.append(answers.c.id <= through)
        rows = self._rows(_TOLD.where(*where).order_by(answers.c.id))
        gone = {row.supersedes for row in rows}
        told = [_told(row) for row in rows if row.tells and row.id not in gone]
        return [answer for answer in told if answer.n_left > 0]  # none of all classes tells nothing of any

    def lists(self, round: int) -> dict[str, Any]:
        """What was shown first outside D_cal, as `types.Round` has it: how many classes on average, how many lists were
        short of all classes, what share of those held the answer, and how often all classes were shown."""
        short = sa.cast(questions.c.cuts, sa.Text) != "[]"
        held = sa.and_(short, answers.c.kind == "label", answers.c.misses == 0)
        counted = [sa.func.coalesce(sa.func.sum(sa.case((what, 1), else_=0)), 0) for what in (short, held, ~short)]
        outside = (questions.c.round == round, questions.c.purpose != "calibration")
        chosen = sa.select(sa.func.avg(questions.c.size), *counted).join_from(answers, questions)
        ((size, n, n_held, full),) = self._rows(chosen.where(*outside, answers.c.kind.in_(["label", "none"]), _LIVE))
        return {"mean_set_size": size, "lists": n, "coverage": n_held / n if n else None, "full": full}

    def events(self) -> list[tuple[int, str, str]]:
        chosen = sa.select(events.c.round, events.c.step, events.c.detail).order_by(events.c.id)
        return [(r.round, r.step, r.detail) for r in self._rows(chosen)]

    def last_answer(self) -> int:
        return int(self._value(sa.select(sa.func.max(answers.c.id))) or 0)

    def costs(self) -> list[tuple[int, str, float]]:
        """(round, purpose, cost) of every answer."""
        chosen = sa.select(questions.c.round, questions.c.purpose, answers.c.cost).join_from(answers, questions)
        return [(round, purpose, cost) for round, purpose, cost in self._rows(chosen)]

    def timed(self, kinds: Sequence[str], through: int | None) -> Iterator[tuple[QuestionRow, list[float]]]:
        """Questions and the seconds of every stage, of answers of these kinds that were timed, in their order."""
        last = sa.true() if through is None else answers.c.id <= through
        where = (answers.c.kind.in_(kinds), answers.c.stage_seconds.is_not(None), last)
        chosen = _QUESTION.add_columns(answers.c.stage_seconds).join_from(answers, questions).where(*where)
        with self.engine.connect() as c:
            for *question, seconds in c.execute(chosen.order_by(answers.c.id)):
                yield _question(question), seconds

    def settled(self, last: int, *, by_import: bool = False) -> list[int]:
        """Items that people settled, up to a round, as often as they did, or that an import did; the holdout left out.
        "Not any class" settles an item as a label does: asked conventionally, it would have cost as much."""
        imported = questions.c.purpose == "import"
        mine = (questions.c.round.between(1, last), _SETTLES, _LIVE)
        chosen = sa.select(answers.c.item).select_from(answers.join(questions))
        return self._column(chosen.where(imported if by_import else ~imported, *mine))

    def unreadable(self) -> dict[int, str]:
        """Items that the dataset could not read, and why."""
        chosen = sa.select(items.c.id, items.c.unreadable).where(items.c.unreadable.is_not(None)).order_by(items.c.id)
        return {row.id: row.unreadable for row in self._rows(chosen)}

    def tally(self) -> tuple[int, int]:
        """How many questions people have answered, and how many of the answers that stand settle an item, outside the
        holdout."""
        own = questions.c.purpose != "import"
        n = sa.select(sa.func.count()).select_from(answers.join(questions))
        with self.engine.connect() as c:
            answered = c.execute(n.where(own, answers.c.supersedes.is_(None))).scalar_one()
            settled = n.where(own, questions.c.purpose != "holdout", _SETTLES, _LIVE)
            return int(answered), int(c.execute(settled).scalar_one())

    def items_answered(self) -> list[int]:
        """Items that something has been said about; a skip says nothing."""
        return self._column(sa.select(answers.c.item).where(answers.c.kind != "skip", _LIVE).distinct())

    def answers_of(self, person: str, limit: int) -> list[AnswerRow]:
        """The standing answers of a person, newest first."""
        mine = _ANSWER.where(answers.c.person == person, _LIVE).order_by(answers.c.id.desc()).limit(limit)
        return [AnswerRow(*row) for row in self._rows(mine)]


def query_key(round: int) -> str:
    """Where `meta` has what the query of a round knows."""
    return f"query {round}"


def refuse_endless(number: int) -> None:
    """So many stages or classes were never written here; listing them would take all memory there is."""
    if number > MOST:
        raise ValueError(f"{number} stages or classes")


def _told(row: Any) -> Told:
    shown = tuple(np.frombuffer(row.classes, "<i4").tolist()) if row.label is None else ()
    n_rejected = 0 if row.rejected == "[]" else len(json.loads(row.rejected))
    return Told(row.id, row.item, row.label, row.round, row.purpose, shown, row.n_classes - n_rejected)


def _question(row: Iterable[Any]) -> QuestionRow:
    id, round, item, purpose, classes, cuts, n_classes, exhaustive, rejected, state, wanted = row
    refuse_endless(n_classes)
    listed = tuple(np.frombuffer(classes, "<i4").tolist())
    return QuestionRow(
        id, round, item, purpose, listed, tuple(cuts), n_classes, exhaustive, tuple(rejected), state, wanted
    )


_QUESTION = sa.select(*(questions.c[name] for name in QuestionRow.__dataclass_fields__))
_ANSWER = sa.select(*(answers.c[name] for name in AnswerRow.__dataclass_fields__))
_HEARD = sa.select(*(answers.c[name] for name in Heard._fields)).join_from(answers, questions)
_TELLS = answers.c.label.is_not(None) | ((answers.c.kind == "none") & ~questions.c.exhaustive)
_TOLD = sa.select(
    *(answers.c[name] for name in ("id", "item", "label", "supersedes")),
    *(questions.c[name] for name in ("round", "purpose", "n_classes")),
    sa.case((answers.c.label.is_(None), questions.c.classes)).label("classes"),  # else not needed
    sa.cast(questions.c.rejected, sa.Text).label("rejected"),  # mostly none: read here, JSON takes half the time
    _TELLS.label("tells"),
).join_from(answers, questions)


def _parts(ids: Iterable[int], size: int = 10_000) -> Iterator[list[int]]:
    """A few at a time: SQLite takes only so many parameters."""
    listed = sorted(ids)
    return (listed[i : i + size] for i in range(0, len(listed), size))


def _round_row(row: Any, query: str | None) -> RoundRow:
    earlier = {"alpha": row.alpha, "threshold": row.threshold}  # all that rounds of an earlier version know of a query
    state = json.loads(query) if query else None if row.alpha is None else earlier
    return RoundRow(row.number, row.state, row.alpha, row.threshold, row.trained_through, _round(row.result), state)


def _round(kept: dict[str, Any] | None) -> Round | None:
    if kept is None:
        return None
    is_percent = kept.pop("percent", True)  # earlier versions wrote rates in percent, and not that they did
    values = in_shares(kept) if is_percent else kept
    interval = values["interval"]
    return Round(**{**values, "interval": None if interval is None else tuple(interval)})


# --- writing ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """An answer as it is written down."""

    answer: Answer  # classes are the campaign's own numbers
    item: int
    cost: float
    question: QuestionRow | None = None  # None: an import's, which is made together with its answer


class Writer:
    def __init__(self, connection: sa.Connection) -> None:
        self.c = connection

    def set_config(self, config: dict[str, Any]) -> None:
        self.c.execute(meta.update().where(meta.c.key == "config").values(value=json.dumps(config)))

    def add_items(self, first: int, keys: Sequence[str], round: int) -> None:
        self.c.execute(items.insert(), [{"id": first + i, "key": k, "added_in": round} for i, k in enumerate(keys)])

    def add_classes(self, first: int, names: Sequence[str], round: int) -> None:
        rows = [{"id": first + i, "name": k, "active_since": round} for i, k in enumerate(names)]
        self.c.execute(classes.insert(), rows)

    def set_unreadable(self, reasons: Mapping[int, str]) -> None:
        """These items cannot be read, and all others can."""
        self.c.execute(items.update().where(items.c.unreadable.is_not(None)).values(unreadable=None))
        if rows := [{"item": item, "why": why} for item, why in reasons.items()]:
            mine = items.update().where(items.c.id == sa.bindparam("item"))
            self.c.execute(mine.values(unreadable=sa.bindparam("why")), rows)

    def start_round(self, number: int, state: str, query: Mapping[str, Any] | None = None) -> None:
        """Begin a round that asks with what `query` knows, until it is calibrated anew."""
        self.c.execute(rounds.insert().values(number=number, state=state))
        self.set_query(number, query)

    def set_query(self, number: int, state: Mapping[str, Any] | None) -> None:
        """Keep what a round's query knows; `alpha` and `threshold` beside it, where it has them, for reports."""
        self.c.execute(meta.delete().where(meta.c.key == query_key(number)))
        if state is not None:
            self.c.execute(meta.insert().values(key=query_key(number), value=json.dumps(dict(state))))
        self.set_round(number, **{name: (state or {}).get(name) for name in ("alpha", "threshold")})

    def set_round(self, number: int, **values: Any) -> None:
        if isinstance(values.get("result"), Round):
            values["result"] = {**asdict(values["result"]), "percent": False}
        self.c.execute(rounds.update().where(rounds.c.number == number).values(**values))

    def ask(self, rows: Iterable[dict[str, Any]]) -> None:
        if listed := list(rows):
            self.c.execute(questions.insert(), listed)

    def drop_reserved(self, round: int) -> None:
        """Ahead questions that were not handed out go back to the pool."""
        self.c.execute(questions.delete().where(questions.c.round == round, questions.c.state == "reserved"))

    def hand_out(self, round: int, n: int) -> list[int]:
        """Hand out the first n ahead questions left: from here on they count. Returns their ids."""
        mine = sa.select(questions.c.id).where(questions.c.round == round, questions.c.state == "reserved")
        first = mine.order_by(questions.c.id).limit(n).scalar_subquery()
        change = questions.update().where(questions.c.id.in_(first)).values(state="open").returning(questions.c.id)
        return sorted(self.c.execute(change).scalars())

    def widen(self, n_classes: int) -> None:
        """Questions without an answer take up new classes, at the end of what they show."""
        whole = sa.case((questions.c.size == questions.c.n_classes, n_classes), else_=questions.c.size)
        self.c.execute(questions.update().where(~HAS_ANSWER).values(n_classes=n_classes, size=whole))

    def answer(self, entries: Iterable[Entry]) -> list[int]:
        """Append answers; their numbers."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [{**_columns(e.answer), "item": e.item, "cost": e.cost, "at": at} for e in entries]
        if not rows:
            return []
        numbered = answers.insert().returning(answers.c.id, sort_by_parameter_order=True)
        try:
            return list(self.c.execute(numbered, rows).scalars())
        except sa.exc.IntegrityError:
            raise ShortlistError("answer: the same person has just answered this elsewhere; look again") from None

    def note(self, round: int, step: str, detail: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.c.execute(events.insert().values(at=at, round=round, step=step, detail=detail))


_AS_IT_IS = ("question", "person", "kind", "label", "active_seconds", "wall_seconds", "supersedes", "note", "final")


def _columns(answer: Answer) -> dict[str, Any]:
    """The columns that an answer fills by itself."""
    seconds = answer.stage_seconds
    same = {name: getattr(answer, name) for name in _AS_IT_IS}
    return {**same, "misses": answer.path.count(NONE), "stage_seconds": None if seconds is None else list(seconds)}


# --- a database ------------------------------------------------------------------------------------------------


class Store(Reader):
    """One campaign's database. `Store.create` makes it, `Store(path)` opens it; `read_only` writes nothing but the
    columns that an older version lacks."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        KIND.upgrade(path)
        KIND.check(path)
        self.path = path
        self.engine = connect(path, read_only=read_only)
        self.close = weakref.finalize(self, self.engine.dispose)  # also where it is not called
        with opening(path), self.engine.connect():  # the last connection clears up on leaving
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, *_: object) -> None:
        """Close it; what went wrong inside `with` because of a cell that was changed by hand is said so."""
        self.close()
        is_told = isinstance(error, ShortlistError) and type(error) is not Unwritable
        if isinstance(error, Exception) and not is_told:
            with connected(self.path, read_only=True) as engine:
                wrong = wrong_cell(engine)
            if wrong is not None:
                raise Damaged(self.path, wrong) from error

    @classmethod
    def create(cls, path: Path, keys: Sequence[str], names: Sequence[str], config: dict[str, Any]) -> Store:
        """A new database with nothing asked yet."""

        def fill(c: sa.Connection) -> None:
            known = {"config": json.dumps(config), "draws": str(DRAWS)}
            c.execute(meta.insert(), [{"key": key, "value": value} for key, value in known.items()])
            Writer(c).add_items(0, keys, 0)
            Writer(c).add_classes(0, names, 0)

        KIND.create(path, fill)
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """One transaction: all of it is kept, or none."""
        with kept(self.engine) as c:
            yield Writer(c)
