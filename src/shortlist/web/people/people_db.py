"""The file people.db: its tables and rows, one thread at a time that writes it, and what it has about questions.

Times are seconds since 1970. Of a secret that lets a person in (a session, a link, a token) only the SHA-256 is kept.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from shortlist.campaign.storage import schema
from shortlist.campaign.storage.database import Kind, connect, opening, transaction
from shortlist.types import AnswerKind, ShortlistError

Role = Literal["owner", "annotator"]
tables = sa.MetaData()

_META = schema.meta.to_metadata(tables)
people = sa.Table(
    "people",
    tables,
    sa.Column("name", sa.Text, primary_key=True),  # never changes: answers in campaign.db carry it
    sa.Column("folded", sa.Text, nullable=False, unique=True),  # the name without regard to case
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("password", sa.Text),  # argon2id; NULL: cannot sign in with one
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("added_at", sa.Float, nullable=False),
)
failures = sa.Table(
    "failures",  # wrong tries to sign in; digests, as people type passwords into the wrong field
    tables,
    sa.Column("account", sa.LargeBinary, primary_key=True),
    sa.Column("address", sa.LargeBinary, primary_key=True),
    sa.Column("of_account", sa.Integer, nullable=False),  # still held against the account
    sa.Column("of_address", sa.Integer, nullable=False),  # still held against the address
    sa.Column("last", sa.Float, nullable=False, index=True),
)
sa.Index("failures_by_address", failures.c.address)
sessions = sa.Table(
    "sessions",
    tables,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("person", sa.Text, sa.ForeignKey("people.name"), nullable=False, index=True),
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("used_at", sa.Float, nullable=False),
)
start_links = sa.Table(
    "start_links",
    tables,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("person", sa.Text, sa.ForeignKey("people.name"), nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
)
invitations = sa.Table(
    "invitations",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("by", sa.Text, sa.ForeignKey("people.name"), nullable=False),
    sa.Column("made_at", sa.Float, nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
    sa.Column("used_by", sa.Text, sa.ForeignKey("people.name")),
    sa.Column("revoked", sa.Boolean, nullable=False),
)
tokens = sa.Table(
    "tokens",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("person", sa.Text, sa.ForeignKey("people.name"), nullable=False, index=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("made_at", sa.Float, nullable=False),
)
leases = sa.Table(
    "leases",
    tables,
    sa.Column("question", sa.Integer, primary_key=True),  # of campaign.db
    sa.Column("person", sa.Text, primary_key=True),  # several where answers overlap
    sa.Column("until", sa.Float, nullable=False),
)
controls = sa.Table(
    "controls",  # whose answer is known; who takes a class from a list without it trusts lists more than they deserve
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("item", sa.Integer, nullable=False),  # of campaign.db, as the classes are
    sa.Column("classes", sa.JSON, nullable=False),  # the list shown, −1 between its stages
    sa.Column("truth", sa.Integer, nullable=False),
    sa.Column("wrong", sa.Boolean, nullable=False),  # the list lacks the truth
)
control_answers = sa.Table(
    "control_answers",
    tables,
    sa.Column("control", sa.Integer, sa.ForeignKey("controls.id"), primary_key=True),
    sa.Column("person", sa.Text, primary_key=True, index=True),
    sa.Column("said", sa.Integer),  # the class chosen
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("stage_seconds", sa.JSON, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

KIND = Kind("people", tables, version=1)


# --- rows ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    name: str
    role: Role
    active: bool
    has_password: bool
    added_at: float


@dataclass(frozen=True)
class Session:
    person: Person
    csrf: str  # every change asked for in this session must carry it
    used_at: float


@dataclass(frozen=True)
class Trust:
    """How a person answers lists whose truth is known. Skipped and unreadable ones are not counted."""

    wrong_asked: int = 0  # lists without the truth
    wrong_accepted: int = 0  # of them, those answered with a class on the list
    right_asked: int = 0  # lists with the truth
    right_correct: int = 0  # of them, those answered with the truth


# --- the file --------------------------------------------------------------------------------------------------


_NEW = insert(leases)
_SAVE = _NEW.on_conflict_do_update(index_elements=["question", "person"], set_={"until": _NEW.excluded.until})


class PeopleFile:
    """The file in a folder: made where there is none, for its owner's eyes only, and checked before it is used.

    Any thread may call.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / "people.db"
        self._clock = clock
        with opening(self.path):
            if not self.path.exists():
                KIND.create(self.path, lambda c: None, mode=0o600)
            KIND.check(self.path)
            if self.path.stat().st_mode & 0o077:  # a copy put back by hand may have come with other rights
                self.path.chmod(0o600)
        self._engine, self._light = connect(self.path), connect(self.path, durable=False)
        self._turn = threading.Lock()
        self.secret = self._secret()  # of this campaign's server: what follows from it, nobody else can make
        self.close = weakref.finalize(self, lambda *engines: [e.dispose() for e in engines], self._engine, self._light)

    def _writing(self, *, durable: bool = True) -> AbstractContextManager[sa.Connection]:
        """One transaction, on the disk at its end; a power cut may undo one that is not durable."""
        return transaction(self._engine if durable else self._light, self._turn)

    def _secret(self) -> str:
        mine = sa.select(_META.c.value).where(_META.c.key == "secret")
        if self._first(mine) is None:  # made anew, or by an earlier version
            new = insert(_META).values(key="secret", value=secrets.token_hex(32))
            with self._writing() as c:
                c.execute(new.on_conflict_do_nothing())
        return str(self._first(mine).value)

    def _first(self, chosen: sa.Select[Any]) -> Any:
        """The first row; None where there is none."""
        return next(iter(self._all(chosen)), None)

    def _all(self, chosen: sa.Select[Any]) -> Sequence[Any]:
        with self._engine.connect() as c:
            return c.execute(chosen).all()

    # --- leases: nothing here waits for the disk ----------------------------------------------------------------

    def save_leases(self, rows: Sequence[tuple[int, str, float]]) -> None:
        """Keep, or prolong, (question, person, until): a restart of the server takes no question away from a person."""
        if rows:
            with self._writing(durable=False) as c:
                c.execute(_SAVE, [{"question": q, "person": p, "until": until} for q, p, until in rows])

    def leases(self, now: float) -> list[tuple[int, str, float]]:
        """Those that still hold, as they were saved; the others are deleted."""
        with self._writing(durable=False) as c:
            c.execute(leases.delete().where(leases.c.until <= now))
            rows = c.execute(sa.select(leases).order_by(leases.c.question, leases.c.person))
            return [(row.question, row.person, row.until) for row in rows]

    # --- control questions -------------------------------------------------------------------------------------

    def add_control(self, item: int, classes: list[int], truth: int, wrong: bool) -> int:
        """A question whose answer is known, with a list that holds it or, where wrong, lacks it. Returns its id."""
        if wrong == (truth in classes):
            must = "lack" if wrong else "hold"
            raise ShortlistError(f"control question about item {item}: its list must {must} the truth, class {truth}")
        new = controls.insert().values(item=item, classes=list(classes), truth=truth, wrong=wrong)
        with self._writing() as c:
            return int(c.execute(new.returning(controls.c.id)).scalar_one())

    def control(self, id: int) -> Any:
        """Its row, or None."""
        return self._first(sa.select(controls).where(controls.c.id == id))

    def every_control(self) -> Sequence[Any]:
        return self._all(sa.select(controls).order_by(controls.c.id))

    def control_items(self, person: str) -> set[int]:
        """Items that this person has answered a control question about."""
        answered = sa.select(controls.c.item).join_from(control_answers, controls)
        return {row.item for row in self._all(answered.where(control_answers.c.person == person))}

    def answer_control(
        self, id: int, person: str, said: int | None, kind: AnswerKind, stage_seconds: Sequence[float], at: float
    ) -> None:
        """Once per person and control question."""
        if kind not in get_args(AnswerKind) or (kind == "label") != (said is not None):
            raise ShortlistError(f"control question {id}: an answer {kind!r} with class {said} is none; send another")
        row = {"control": id, "person": person, "said": said, "kind": kind, "at": at}
        try:
            with self._writing() as c:
                c.execute(control_answers.insert().values(**row, stage_seconds=list(stage_seconds)))
        except sa.exc.IntegrityError:
            raise ShortlistError(
                f"control question {id}: not there, or answered by {person} before; go on to the next"
            ) from None

    def control_answer(self, id: int, person: str) -> Any:
        """The row of this person's answer to it, or None."""
        mine = (control_answers.c.control == id, control_answers.c.person == person)
        return self._first(sa.select(control_answers).where(*mine))

    def trust(self) -> dict[str, Trust]:
        """By person: how often wrong lists were accepted, and right ones answered correctly."""
        chosen = sa.select(control_answers.c.person, control_answers.c.said, controls)
        judged = chosen.join_from(control_answers, controls).where(control_answers.c.kind.in_(["label", "none"]))
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in self._all(judged):
            if row.wrong:
                counts[row.person] += Counter(wrong_asked=1, wrong_accepted=row.said in row.classes)
            else:
                counts[row.person] += Counter(right_asked=1, right_correct=row.said == row.truth)
        return {person: Trust(**count) for person, count in sorted(counts.items())}
