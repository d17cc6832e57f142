"""SQLite files of ours: made whole or not at all, and what is damaged or not ours is refused and left as it was."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from shortlist.system.files import replacing
from shortlist.types import ShortlistError


class Unwritable(ShortlistError):
    """The disk is full, or another process writes for too long: the request is worth repeating."""

    def __init__(self, path: Path, why: str, sentence: str = "") -> None:
        super().__init__(sentence or f"{path}: cannot be written ({why})")
        self.why = why


class Gone(Unwritable):
    """What is written now would go into a file that nobody finds again."""

    def __init__(self, path: Path) -> None:
        why = "it was deleted or replaced while it was in use"
        super().__init__(
            path, why, f"{path}: {why}, and nothing more is taken; put it back, or start again with a copy of it"
        )


class Damaged(Unwritable):
    """Not what SQLite has written."""

    def __init__(self, path: Path, why: str) -> None:
        words = f"{path}: this database is damaged ({why}); put back a copy, or start in another folder"
        super().__init__(path, why, words)


@dataclass(frozen=True)
class Kind:
    """What a database holds: its tables, one of them `meta`, and which version of them."""

    what: str  # in a word
    tables: sa.MetaData
    version: int
    later: Mapping[int, tuple[sa.Column[Any], ...]] = field(default_factory=dict)  # columns that a version added

    @property
    def _meta(self) -> sa.Table:
        return self.tables.tables["meta"]

    def create(self, path: Path, fill: Callable[[sa.Connection], None], *, mode: int = 0o666) -> None:
        """A new file, complete or not there at all. One process makes it at a time."""
        try:  # not durable: it is flushed whole, at the end
            with replacing(path, mode=mode, alone=True) as fresh, connected(fresh, durable=False) as engine:
                self.tables.create_all(engine)
                with engine.begin() as c:
                    c.execute(self._meta.insert().values(key="schema_version", value=str(self.version)))
                    fill(c)
        except Unwritable as error:
            raise Unwritable(path, error.why) from None

    def check(self, path: Path) -> None:
        """Refuse what is no database of this kind, without touching it."""
        with opening(path):
            if not path.is_file():
                raise ShortlistError(f"{path.parent}: no {self.what} here (there is no {path.name})")
            with connected(path, read_only=True) as engine, engine.connect() as c:
                verdict = c.exec_driver_sql("PRAGMA quick_check(1)").scalar()
                if verdict != "ok":
                    raise Damaged(path, str(verdict))
                there = sa.inspect(c)
                for table in self.tables.sorted_tables:
                    if not there.has_table(table.name):
                        raise Damaged(path, f"no table {table.name}")
                version = c.execute(self._version).scalar()
                if version != str(self.version):
                    raise ShortlistError(
                        f"{path}: made with schema version {version}, this Shortlist reads {self.version}; "
                        "use the version that made it"
                    )

    @property
    def _version(self) -> sa.Select[Any]:
        return sa.select(self._meta.c.value).where(self._meta.c.key == "schema_version")

    def upgrade(self, path: Path) -> None:
        """Give a file of an earlier version the columns it lacks, all of them or none; leave every other alone."""
        if not path.is_file() or self._is_current(path):
            return
        with opening(path), connected(path) as engine, engine.connect() as c:
            c.exec_driver_sql("BEGIN IMMEDIATE")  # another process that upgrades it waits here, and then finds it done
            version = int(c.execute(self._version).scalar_one())
            for later in range(version + 1, self.version + 1):
                for column in self.later[later]:
                    definition = sa.schema.CreateColumn(column).compile(dialect=engine.dialect)
                    c.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {definition}")
            meta = self._meta
            c.execute(meta.update().where(meta.c.key == "schema_version").values(value=str(self.version)))
            c.commit()

    def _is_current(self, path: Path) -> bool:
        """Whether there is nothing to upgrade; what is damaged or unknown is for `check` to refuse."""
        try:
            with connected(path, read_only=True) as engine, engine.connect() as c:
                version = c.execute(self._version).scalar()
        except (OSError, Unwritable):
            return True
        if not isinstance(version, str):  # nothing, or what somebody has put there
            return True
        return not (version.isdecimal() and 0 < int(version) < self.version)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """What the system or SQLite has against it, in a sentence."""
    try:
        yield
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be opened ({error.strerror})") from None
    except (Damaged, Gone):
        raise
    except Unwritable as error:
        raise ShortlistError(f"{path}: cannot be opened ({error.why})") from None


def _mode(path: Path, read_only: bool) -> dict[str, str]:
    if not read_only:
        return {"mode": "rw"}  # never a new, empty one where ours was taken away
    # a reader, too, keeps its place in a file beside the log; where it may write none and there is no log, it need not
    log = path.with_name(path.name + "-wal")
    return {"mode": "ro"} if os.access(path.parent, os.W_OK) or log.exists() else {"mode": "ro", "immutable": "1"}


@contextmanager
def transaction(engine: sa.Engine, turn: threading.Lock) -> Iterator[sa.Connection]:
    """One transaction, alone from its first look at the data: what is read in it still holds when it is acted on.

    Writers of this process wait for their turn rather than poll for SQLite's own lock, which admits them in any order.
    """
    with turn, kept(engine) as c:
        c.exec_driver_sql("BEGIN IMMEDIATE")
        yield c


@contextmanager
def kept(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One transaction; at its end it is on the disk, in the file that has the database's name."""
    with engine.begin() as c:
        yield c
    with engine.begin():  # a transaction that went into a file without a name counts for nothing
        pass


def connect(path: Path, *, read_only: bool = False, durable: bool = True) -> sa.Engine:
    """A database's connections. What is written survives a power cut, unless it need not be `durable`.

    No transaction begins once another file, or none, has the database's name, and what SQLite has against the file is
    said as `Unwritable`.
    """
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
            cursor.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            cursor.execute("PRAGMA schema_version").fetchone()  # the log beside it is there from here on
        cursor.close()

    _Place(path, has_log=not read_only).watch(engine)
    return engine


class _Place:
    """The file that an engine has opened, and the log beside it: whether the names still lead there."""

    def __init__(self, path: Path, has_log: bool) -> None:
        self.path, self.has_log = path, has_log
        self._connections = 0
        self._file = self._log = (0, 0)

    def watch(self, engine: sa.Engine) -> None:
        for name in ("connect", "close", "begin", "handle_error"):
            sa.event.listen(engine, name, getattr(self, f"_{name}"))

    def _connect(self, *_: object) -> None:
        if not self._connections:  # the last to leave folds the log into the file, and the next has a new one
            self._file, self._log = self._file if any(self._file) else _inode(self.path), self._log_now()
        self._connections += 1

    def _close(self, *_: object) -> None:
        self._connections -= 1

    def _begin(self, _: object) -> None:
        if (_inode(self.path), self._log_now()) != (self._file, self._log):
            raise Gone(self.path)

    def _handle_error(self, context: sa.engine.ExceptionContext) -> None:
        kind, words = type(context.original_exception), str(context.original_exception)
        if kind is sqlite3.DatabaseError:
            raise Damaged(self.path, words)
        if kind is sqlite3.OperationalError:
            raise Unwritable(self.path, words)

    def _log_now(self) -> tuple[int, int]:
        return _inode(self.path.with_name(f"{self.path.name}-wal")) if self.has_log else (0, 0)


def _inode(path: Path) -> tuple[int, int]:
    """Which file a name leads to."""
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


@contextmanager
def connected(path: Path, **how: bool) -> Iterator[sa.Engine]:
    """The same for a while: the last to leave folds the write-ahead log into the file."""
    engine = connect(path, **how)
    try:
        yield engine
    finally:
        engine.dispose()
