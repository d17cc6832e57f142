"""The tables of people.db, and what their rows are read as. Times are seconds since 1970.

Of whatever lets somebody in (a session, a link, a token) only the SHA-256 is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from shortlist.types import AnswerKind

SCHEMA_VERSION = 1
Role = Literal["owner", "annotator"]
tables = sa.MetaData()

meta = sa.Table(
    "meta", tables, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
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
    "controls",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("item", sa.Integer, nullable=False),  # of campaign.db, as the classes are
    sa.Column("classes", sa.JSON, nullable=False),  # the list shown
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
    started_at: float
    used_at: float


@dataclass(frozen=True)
class Invitation:
    id: int
    role: Role
    by: str
    made_at: float
    expires_at: float
    used_by: str | None
    revoked: bool
    expired: bool

    @property
    def is_open(self) -> bool:
        return self.used_by is None and not self.revoked and not self.expired


@dataclass(frozen=True)
class Token:
    """A program's way in, without what lets it in."""

    id: int
    person: str
    label: str
    made_at: float


@dataclass(frozen=True)
class Lease:
    question: int
    person: str
    until: float


@dataclass(frozen=True)
class Control:
    """A question whose answer is known."""

    id: int
    item: int
    classes: tuple[int, ...]
    truth: int
    wrong: bool  # the list lacks the truth


@dataclass(frozen=True)
class ControlAnswer:
    control: int
    person: str
    said: int | None
    kind: AnswerKind
    stage_seconds: tuple[float, ...]
    at: float


@dataclass(frozen=True)
class Trust:
    """How somebody takes lists whose truth is known. What was skipped or unreadable is not counted."""

    wrong_asked: int = 0  # lists without the truth
    wrong_accepted: int = 0  # of them, those answered with a class on the list
    right_asked: int = 0  # lists with the truth
    right_correct: int = 0  # of them, those answered with the truth
