"""A study's database: what is shown, who takes part, and what they answered. Nothing in it is ever changed back.

Answers are on disk before anybody is told that they were taken, and an item is answered once by each person.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from shortlist.campaign.database import Kind, Unwritable, connect, opening
from shortlist.types import ShortlistError
from shortlist.web.study.plan import Item, counts, next_group, order_for
from shortlist.web.study.schema import VERSION, answers, classes, items, meta, people, shown, tables
from shortlist.web.study.table import Session

KIND = Kind("study", tables, VERSION)


class OutOfTurn(ShortlistError):
    """An answer to something that is not the person's next question."""


@dataclass(frozen=True)
class Person:
    id: int
    name: str | None
    options: int
    items: tuple[int, ...]
    answered: int  # how many of them
    started: datetime
    finished: datetime | None


@dataclass(frozen=True)
class Shown:
    """A question as somebody sees it."""

    item: int
    practice: bool
    classes: tuple[int, ...]


class StudyStore:
    """`StudyStore.create` makes a database, `StudyStore(path)` opens it."""

    def __init__(self, path: Path) -> None:
        KIND.check(path)
        self.path = path
        self.engine = connect(path)
        self.close = weakref.finalize(self, self.engine.dispose)
        with opening(path), self.engine.connect():  # whoever has been in clears up on leaving
            pass
        self._turn = threading.Lock()  # writers wait here rather than in SQLite, which lets them in by chance

    @classmethod
    def create(
        cls,
        path: Path,
        config: dict[str, Any],
        names: Sequence[str],
        plan: Sequence[Item],
        keys: Sequence[str],
        pictures: Sequence[bytes],
    ) -> StudyStore:
        """A new database that nobody has taken part in."""
        KIND.create(path, lambda c: _fill(c, config, names, plan, keys, pictures))
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that nobody else's comes between; on disk when it ends."""
        try:
            with self._turn, self.engine.connect() as c:
                c.exec_driver_sql("BEGIN IMMEDIATE")  # before the first look: two may not count the same people
                yield c
                c.commit()
        except sa.exc.OperationalError as error:
            raise Unwritable(self.path, error) from None

    # --- what is shown -------------------------------------------------------------------------------------------

    def fact(self, key: str) -> str:
        with self.engine.connect() as c:
            return str(c.execute(sa.select(meta.c.value).where(meta.c.key == key)).scalar_one())

    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.fact("config"))
        return found

    def class_names(self) -> list[str]:
        with self.engine.connect() as c:
            return list(c.execute(sa.select(classes.c.name).order_by(classes.c.id)).scalars())

    def picture(self, item: int) -> bytes | None:
        with self.engine.connect() as c:
            found: bytes | None = c.execute(sa.select(items.c.picture).where(items.c.id == item)).scalar()
            return found

    def questions(self, person: Person) -> list[Shown]:
        """What they have still to answer, in their order."""
        chosen = sa.select(shown.c.item, shown.c.classes, items.c.practice).join(items)
        with self.engine.connect() as c:
            rows = {row.item: row for row in c.execute(chosen.where(shown.c.options == person.options))}
        left = [rows[item] for item in person.items[person.answered :]]
        return [Shown(row.item, row.practice, tuple(row.classes)) for row in left]

    # --- people --------------------------------------------------------------------------------------------------

    def person(self, cookie: str) -> Person | None:
        with self.engine.connect() as c:
            return _person(c, cookie)

    def people(self) -> list[Person]:
        with self.engine.connect() as c:
            return [_row_person(c, row) for row in c.execute(sa.select(people).order_by(people.c.id))]

    def start(self, cookie: str, name: str | None, now: datetime | None = None) -> Person:
        """A new person in the group with the fewest; whoever is there already stays who they are."""
        now = now or datetime.now(UTC)
        with self.writing() as c:
            if known := _person(c, cookie):
                return known
            config = json.loads(c.execute(sa.select(meta.c.value).where(meta.c.key == "config")).scalar_one())
            number = int(c.execute(sa.select(sa.func.coalesce(sa.func.max(people.c.id), 0))).scalar_one()) + 1
            group = next_group(config["groups"], _counts(c, now), config["seed"], number)
            c.execute(
                people.insert().values(
                    id=number,
                    cookie=_digest(cookie),
                    name=name,
                    options=group,
                    items=order_for(number, _practice(c), config["seed"]),
                    started=now.isoformat(),
                )
            )
            person = _person(c, cookie)
        assert person is not None
        return person

    def answer(self, cookie: str, item: int, chosen: int, active_seconds: float, wall_seconds: float) -> Person:
        """Append an answer to the person's next question; of any other, nothing is kept."""
        with self.writing() as c:
            person = _person(c, cookie)
            if person is None:
                raise OutOfTurn("answer: nobody has started here with this cookie; open the first page")
            _check_turn(c, person, item, chosen)
            now = datetime.now(UTC).isoformat()
            c.execute(
                answers.insert().values(
                    person=person.id,
                    item=item,
                    chosen=chosen,
                    active_seconds=active_seconds,
                    wall_seconds=wall_seconds,
                    at=now,
                )
            )
            if person.answered + 1 == len(person.items):
                c.execute(people.update().where(people.c.id == person.id).values(finished=now))
            after = _person(c, cookie)
        assert after is not None
        return after

    # --- what came of it -----------------------------------------------------------------------------------------

    def sessions(self) -> list[Session]:
        """Of those who finished; practice left out."""
        done = {person.id: person for person in self.people() if person.finished}
        rows: dict[int, list[Any]] = {number: [] for number in done}
        for row in self.rows():
            if row.person in rows:
                rows[row.person].append(row)
        return [_session(person, rows[person.id]) for person in done.values()]

    def session(self, person: Person) -> Session:
        return _session(person, [row for row in self.rows() if row.person == person.id])

    def rows(self) -> Sequence[sa.Row[Any]]:
        """Every answer that counts, in the order they were given, with what was shown."""
        chosen = (
            sa.select(
                answers, people.c.name, people.c.options, people.c.finished, items.c.key, items.c.truth, shown.c.classes
            )
            .join(people, answers.c.person == people.c.id)
            .join(items, answers.c.item == items.c.id)
            .join(shown, sa.and_(shown.c.item == items.c.id, shown.c.options == people.c.options))
            .where(~items.c.practice)
            .order_by(answers.c.id)
        )
        with self.engine.connect() as c:
            return c.execute(chosen).all()


def _fill(
    c: sa.Connection,
    config: dict[str, Any],
    names: Sequence[str],
    plan: Sequence[Item],
    keys: Sequence[str],
    pictures: Sequence[bytes],
) -> None:
    facts = {
        "config": json.dumps(config),
        "token": secrets.token_urlsafe(24),  # opens the page with the results
        "secret": secrets.token_urlsafe(32),  # signs the tokens of forms
    }
    c.execute(meta.insert(), [{"key": k, "value": v} for k, v in facts.items()])
    c.execute(classes.insert(), [{"id": i, "name": name} for i, name in enumerate(names)])
    for number, (item, key, picture) in enumerate(zip(plan, keys, pictures, strict=True)):
        c.execute(
            items.insert().values(
                id=number,
                key=key,
                position=item.position,
                truth=item.truth,
                practice=item.practice,
                picture=picture,
            )
        )
        c.execute(shown.insert(), [{"item": number, "options": k, "classes": list(v)} for k, v in item.options.items()])


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _person(c: sa.Connection, cookie: str) -> Person | None:
    row = c.execute(sa.select(people).where(people.c.cookie == _digest(cookie))).one_or_none()
    return None if row is None else _row_person(c, row)


def _row_person(c: sa.Connection, row: sa.Row[Any]) -> Person:
    given = sa.select(sa.func.count()).select_from(answers).where(answers.c.person == row.id)
    return Person(
        id=row.id,
        name=row.name,
        options=row.options,
        items=tuple(row.items),
        answered=int(c.execute(given).scalar_one()),
        started=datetime.fromisoformat(row.started),
        finished=datetime.fromisoformat(row.finished) if row.finished else None,
    )


def _counts(c: sa.Connection, now: datetime) -> Any:
    rows = c.execute(sa.select(people.c.options, people.c.started, people.c.finished))
    return counts([(row.options, datetime.fromisoformat(row.started), bool(row.finished)) for row in rows], now)


def _practice(c: sa.Connection) -> list[bool]:
    return list(c.execute(sa.select(items.c.practice).order_by(items.c.id)).scalars())


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


def _session(person: Person, rows: Sequence[Any]) -> Session:
    seconds = tuple(row.active_seconds for row in rows)
    return Session(person.id, person.options, seconds, sum(row.chosen == row.truth for row in rows))
