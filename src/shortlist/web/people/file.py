"""The file people.db: made for its owner's eyes only, checked before it is used, written by one thread at a time."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa

from shortlist.campaign.database import Kind, Unwritable, connect, opening
from shortlist.web.people.schema import SCHEMA_VERSION, tables

NAME = "people.db"
KIND = Kind("people", tables, SCHEMA_VERSION)


class PeopleFile:
    """The file in a folder; it is made where there is none. Any thread may call."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / NAME
        self._clock = clock
        with opening(self.path):
            if not self.path.exists():
                KIND.create(self.path, lambda c: None, mode=0o600)
            KIND.check(self.path)
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
            raise Unwritable(self.path, error) from None


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
