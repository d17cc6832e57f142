"""The file people.db: made for its owner's eyes only, checked before it is used, written by one thread at a time."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from shortlist.campaign.database import connect, damaged, opening
from shortlist.types import ShortlistError
from shortlist.web.people_schema import SCHEMA_VERSION, meta, tables

NAME = "people.db"


class PeopleFile:
    """The file in a folder; it is made where there is none. Any thread may call."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / NAME
        self._clock = clock
        with opening(self.path):
            if not self.path.exists():
                _create(self.path)
            _check(self.path)
            _shut(self.path)
        self._engine, self._light = connect(self.path), _light(self.path)
        self._lock = threading.Lock()  # one writer at a time: nobody has to poll for SQLite's own lock
        self.close = weakref.finalize(self, _dispose, self._engine, self._light)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._engine.connect() as c:
            yield c

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """One transaction, on the disk at its end."""
        with self._transaction(self._engine) as c:
            yield c

    @contextmanager
    def _jotting(self) -> Iterator[sa.Connection]:
        """One transaction that a power cut may undo."""
        with self._transaction(self._light) as c:
            yield c

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        try:
            with self._lock, engine.begin() as c:
                c.exec_driver_sql("BEGIN IMMEDIATE")  # what is read in it still holds when it is acted on
                yield c
        except sa.exc.OperationalError as error:
            raise ShortlistError(f"{self.path}: cannot be written ({error.orig})") from None


def _create(path: Path) -> None:
    """Complete or not there at all: it is filled beside its place and moved there last."""
    fresh = path.with_name(path.name + ".new")
    for stale in path.parent.glob(fresh.name + "*"):
        stale.unlink()
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # SQLite's files beside it take its mode
    engine = connect(fresh)
    try:
        tables.create_all(engine)
        with engine.begin() as c:
            c.execute(meta.insert().values(key="schema_version", value=str(SCHEMA_VERSION)))
    finally:
        engine.dispose()
    fresh.replace(path)


def _check(path: Path) -> None:
    """Refuse what is no database of ours, without touching it."""
    engine = connect(path, read_only=True)
    try:
        with engine.connect() as c:
            _check_schema(path, c)
    finally:
        engine.dispose()


def _check_schema(path: Path, c: sa.Connection) -> None:
    verdict = c.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if verdict != "ok":
        raise damaged(path, str(verdict))
    found = set(sa.inspect(c).get_table_names())
    if missing := [table.name for table in tables.sorted_tables if table.name not in found]:
        raise damaged(path, f"no table {missing[0]}")
    version = c.execute(sa.select(meta.c.value).where(meta.c.key == "schema_version")).scalar()
    if version != str(SCHEMA_VERSION):
        raise ShortlistError(
            f"{path}: made with schema version {version}, this Shortlist reads {SCHEMA_VERSION}; "
            "use the version that made it"
        )


def _shut(path: Path) -> None:
    """A copy put back by hand may have come with other rights."""
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _light(path: Path) -> sa.Engine:
    """Writes without waiting for the disk."""
    engine = connect(path)

    @sa.event.listens_for(engine, "connect")
    def settings(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=NORMAL").close()

    return engine


def _dispose(*engines: sa.Engine) -> None:
    for engine in engines:
        engine.dispose()
