"""A study in its folder: `study.toml` says what was asked for, `study.db` what is shown, who takes part, their answers.

The dataset is read once, when the study is made. Answers are only ever added: each person answers an item once, and an
answer is acknowledged when it is on disk.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import tomllib
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from shortlist.campaign.config import first_difference, from_toml, to_toml
from shortlist.campaign.storage import schema
from shortlist.campaign.storage.database import Kind, connect, opening, transaction
from shortlist.recipes.build import dataset_of
from shortlist.study.plan import Settings, next_group, order_for, pictures, plan_study, read_probs, signs
from shortlist.system.files import write_text
from shortlist.types import ShortlistError

tables = sa.MetaData()
meta = schema.meta.to_metadata(tables)
classes = sa.Table(
    "classes", tables, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.Text, nullable=False)
)
items = sa.Table(
    "items",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),  # in the dataset
    sa.Column("truth", sa.Integer, sa.ForeignKey("classes.id"), nullable=False),
    sa.Column("practice", sa.Boolean, nullable=False),
    sa.Column("picture", sa.LargeBinary, nullable=False),  # PNG
)
shown = sa.Table(
    "shown",
    tables,
    sa.Column("item", sa.Integer, sa.ForeignKey("items.id"), primary_key=True),
    sa.Column("options", sa.Integer, primary_key=True),  # how many
    sa.Column("classes", sa.JSON, nullable=False),  # in the order they are shown
)
people = sa.Table(
    "people",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("cookie", sa.Text, nullable=False, unique=True),  # its SHA-256: reading this file lets no one in
    sa.Column("name", sa.Text),  # or a code, if they gave one
    sa.Column("options", sa.Integer, nullable=False),  # their group
    sa.Column("items", sa.JSON, nullable=False),  # in their order
    sa.Column("started", sa.Text, nullable=False),
    sa.Column("finished", sa.Text),
)
answers = sa.Table(
    "answers",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("person", sa.Integer, sa.ForeignKey("people.id"), nullable=False),
    sa.Column("item", sa.Integer, sa.ForeignKey("items.id"), nullable=False),
    sa.Column("chosen", sa.Integer, sa.ForeignKey("classes.id"), nullable=False),
    sa.Column("active_seconds", sa.Float, nullable=False),
    sa.Column("wall_seconds", sa.Float, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.UniqueConstraint("person", "item"),
)

KIND = Kind("study", tables, version=1)
UNDER_WAY = timedelta(hours=1)  # a person who takes longer has given up, as far as groups are concerned
DEMO = {"name": "glyphs", "classes": 700, "items": 700, "test_items": 0, "size": 128}  # the paper's 128 pixels
HEADER = (
    "# A user study: `shortlist study FOLDER` starts it or goes on, `shortlist study FOLDER --table` shows results.\n"
)


class OutOfTurn(ShortlistError):
    """An answer to an item that is not the person's next one."""


@dataclass(frozen=True)
class Person:
    id: int
    name: str | None
    options: int
    items: list[int]
    started: str
    finished: str | None
    answered: int  # how many of the items

    def is_under_way(self, now: datetime) -> bool:
        """Whether they may still finish, as far as groups are concerned."""
        return self.finished is None and now - datetime.fromisoformat(self.started) < UNDER_WAY


@dataclass(frozen=True)
class Session:
    """What one person did from beginning to end, practice left out."""

    person: int
    options: int  # how many were shown with every item
    seconds: tuple[float, ...]  # of every answer
    correct: int

    @property
    def total(self) -> float:
        return sum(self.seconds)

    @property
    def per_question(self) -> float:
        return self.total / len(self.seconds)

    @property
    def accuracy(self) -> float:
        return self.correct / len(self.seconds)


class StudyStore:
    """The database of a study, which `create_study` has made."""

    def __init__(self, path: Path) -> None:
        KIND.check(path)
        self.path = path
        self.engine = connect(path)
        self.close = weakref.finalize(self, self.engine.dispose)
        with opening(path), self.engine.connect():  # a log that a killed process left is folded in when this closes
            pass
        self._turn = threading.Lock()

    def writing(self) -> AbstractContextManager[sa.Connection]:
        """One transaction, alone from its first look at the data; on disk when it ends."""
        return transaction(self.engine, self._turn)

    # --- what is shown -------------------------------------------------------------------------------------------

    def fact(self, key: str) -> str:
        with self.engine.connect() as c:
            return str(c.execute(sa.select(meta.c.value).where(meta.c.key == key)).scalar_one())

    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(self.fact("config"))
        return config

    def class_names(self) -> list[str]:
        with self.engine.connect() as c:
            return list(c.execute(sa.select(classes.c.name).order_by(classes.c.id)).scalars())

    def picture(self, item: int) -> bytes | None:
        with self.engine.connect() as c:
            picture: bytes | None = c.execute(sa.select(items.c.picture).where(items.c.id == item)).scalar()
            return picture

    def questions(self, person: Person) -> list[Any]:
        """The item, classes and whether it is practice, of what they have still to answer, in their order."""
        chosen = sa.select(shown.c.item, shown.c.classes, items.c.practice).join(items)
        with self.engine.connect() as c:
            rows = {row.item: row for row in c.execute(chosen.where(shown.c.options == person.options))}
        return [rows[item] for item in person.items[person.answered :]]

    # --- people --------------------------------------------------------------------------------------------------

    def person(self, cookie: str) -> Person | None:
        with self.engine.connect() as c:
            return _person(c, cookie)

    def people(self) -> list[Person]:
        with self.engine.connect() as c:
            return _people(c)

    def start(self, cookie: str, name: str | None, now: datetime | None = None) -> Person:
        """A new person in the group with the fewest people; a person who has started already is unchanged."""
        now, config = now or datetime.now(UTC), self.config()
        with self.writing() as c:
            if known := _person(c, cookie):
                return known
            before = _people(c)
            number = max((person.id for person in before), default=0) + 1
            there = Counter(person.options for person in before if person.finished or person.is_under_way(now))
            practice = list(c.execute(sa.select(items.c.practice).order_by(items.c.id)).scalars())
            new = {
                "id": number,
                "cookie": _digest(cookie),
                "name": name,
                "options": next_group(config["groups"], there, config["seed"], number),
                "items": order_for(number, practice, config["seed"]),
                "started": now.isoformat(),
            }
            c.execute(people.insert().values(new))
            return _people(c, people.c.id == number)[0]

    def answer(self, cookie: str, item: int, chosen: int, active_seconds: float, wall_seconds: float) -> Person:
        """Add an answer to the person's next question; an answer to any other is refused."""
        with self.writing() as c:
            person = _person(c, cookie)
            if person is None:
                raise OutOfTurn("answer: this browser has not started; open the first page")
            _check_turn(c, person, item, chosen)
            now = datetime.now(UTC).isoformat()
            seconds = {"active_seconds": active_seconds, "wall_seconds": wall_seconds}
            c.execute(answers.insert().values(person=person.id, item=item, chosen=chosen, **seconds, at=now))
            if person.answered + 1 == len(person.items):
                c.execute(people.update().where(people.c.id == person.id).values(finished=now))
            return _people(c, people.c.id == person.id)[0]

    # --- what came of it -----------------------------------------------------------------------------------------

    def sessions(self) -> list[Session]:
        """Of those who finished."""
        return [self.session(person) for person in self.people() if person.finished]

    def session(self, person: Person) -> Session:
        rows = self.rows(people.c.id == person.id)
        seconds = tuple(row.active_seconds for row in rows)
        return Session(person.id, person.options, seconds, sum(row.chosen == row.truth for row in rows))

    def rows(self, *where: sa.ColumnElement[bool]) -> Sequence[sa.Row[Any]]:
        """Every answer that counts, in the order they were given, with what was shown."""
        chosen = (
            sa.select(
                answers, people.c.name, people.c.options, people.c.finished, items.c.key, items.c.truth, shown.c.classes
            )
            .join(people, answers.c.person == people.c.id)
            .join(items, answers.c.item == items.c.id)
            .join(shown, sa.and_(shown.c.item == items.c.id, shown.c.options == people.c.options))
            .where(~items.c.practice, *where)
            .order_by(answers.c.id)
        )
        with self.engine.connect() as c:
            return c.execute(chosen).all()


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _person(c: sa.Connection, cookie: str) -> Person | None:
    return next(iter(_people(c, people.c.cookie == _digest(cookie))), None)


def _people(c: sa.Connection, *where: sa.ColumnElement[bool]) -> list[Person]:
    answered = sa.select(sa.func.count()).where(answers.c.person == people.c.id).scalar_subquery()
    told = [column for column in people.c if column.name != "cookie"]
    chosen: sa.Select[Any] = sa.select(*told, answered).where(*where).order_by(people.c.id)
    return [Person(*row) for row in c.execute(chosen)]


def _check_turn(c: sa.Connection, person: Person, item: int, chosen: int) -> None:
    if item not in person.items:
        raise ShortlistError(f"answer: there is no item {item}")
    if item in person.items[: person.answered]:
        raise OutOfTurn("answer: this item is answered already; the first answer stands")
    if item != person.items[person.answered]:
        raise OutOfTurn("answer: another item comes first")
    options = c.execute(sa.select(shown.c.classes).where(shown.c.item == item, shown.c.options == person.options))
    if chosen not in options.scalar_one():
        raise ShortlistError(f"answer: class {chosen} was not among the options")


# --- the folder --------------------------------------------------------------------------------------------------


def open_study(folder: Path, settings: Mapping[str, Any] | None = None) -> StudyStore:
    """The study in a folder, made if there is none; refused where `settings` or study.toml differ from it.

    `settings` come before those of study.toml.
    """
    database = folder / "study.db"
    asked = {**read_toml(folder / "study.toml"), **(settings or {})}
    if not database.exists():
        return create_study(folder, Settings.of(asked, str(folder)))
    store = StudyStore(database)
    config = store.config()
    if difference := first_difference(config, {**config, **asked}):
        store.close()
        raise ShortlistError(f"{folder}: this study has {difference}; start another one in another folder")
    return store


def read_toml(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return from_toml(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ShortlistError(f"{path}: cannot be read as TOML: {error}") from None


def create_study(folder: Path, settings: Settings) -> StudyStore:
    """Draw the items, keep their pictures, write the folder."""
    dataset = dataset_of(dict(settings.dataset), home=folder)
    if settings.dataset["name"] == "glyphs":
        dataset = signs(dataset)
    probs = read_probs(Path(settings.probs), dataset) if settings.probs else None
    plan = plan_study(dataset.labels, len(dataset.classes), settings, probs)
    shots, config = pictures(dataset, [item.position for item in plan]), settings.values()
    facts = {"config": json.dumps(config), "token": secrets.token_urlsafe(24)}  # the token opens the results page

    def fill(c: sa.Connection) -> None:
        c.execute(meta.insert(), [{"key": k, "value": v} for k, v in facts.items()])
        c.execute(classes.insert(), [{"id": i, "name": name} for i, name in enumerate(dataset.classes)])
        for number, (item, picture) in enumerate(zip(plan, shots, strict=True)):
            about = {"position": item.position, "truth": item.truth, "practice": item.practice}
            key = dataset.keys[item.position]
            c.execute(items.insert().values(id=number, key=key, picture=picture, **about))
            lists = [{"item": number, "options": k, "classes": list(v)} for k, v in item.options.items()]
            c.execute(shown.insert(), lists)

    write_text(folder / "study.toml", HEADER + to_toml(config))
    KIND.create(folder / "study.db", fill)
    return StudyStore(folder / "study.db")
