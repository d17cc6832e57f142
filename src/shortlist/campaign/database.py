"""SQLite files of ours: made whole or not at all, and what is damaged or not ours is refused and left as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from shortlist.types import ShortlistError


class Unwritable(ShortlistError):
    """The disk is full, or somebody else writes for too long: what was asked is worth asking again."""

    def __init__(self, path: Path, error: sa.exc.OperationalError) -> None:
        super().__init__(f"{path}: cannot be written ({error.orig})")


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
        """A new file, complete or not there at all: it is filled beside its place and moved there last."""
        fresh = path.with_name(path.name + ".new")
        for stale in path.parent.glob(fresh.name + "*"):
            stale.unlink()
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))  # SQLite's files beside it take its mode
        engine = connect(fresh)
        try:
            self.tables.create_all(engine)
            with engine.begin() as c:
                c.execute(self._meta.insert().values(key="schema_version", value=str(self.version)))
                fill(c)
        finally:
            engine.dispose()  # the last to leave folds the write-ahead log into the file
        fresh.replace(path)

    def check(self, path: Path) -> None:
        """Refuse what is no database of this kind, without touching it."""
        with opening(path):
            if not path.is_file():
                raise ShortlistError(f"{path.parent}: no {self.what} here (there is no {path.name})")
            engine = connect(path, read_only=True)
            try:
                with engine.connect() as c:
                    self._check_schema(path, c)
            finally:
                engine.dispose()

    def _check_schema(self, path: Path, c: sa.Connection) -> None:
        verdict = c.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            raise damaged(path, str(verdict))
        found = sa.inspect(c)
        for table in self.tables.sorted_tables:
            if not found.has_table(table.name):
                raise damaged(path, f"no table {table.name}")
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
        engine = connect(path)
        try:
            with opening(path), engine.connect() as c:
                c.exec_driver_sql("BEGIN IMMEDIATE")  # whoever else upgrades it waits here, and then finds it done
                version = int(c.execute(self._version).scalar_one())
                for later in range(version + 1, self.version + 1):
                    for column in self.later[later]:
                        told = sa.schema.CreateColumn(column).compile(dialect=engine.dialect)
                        c.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {told}")
                meta = self._meta
                c.execute(meta.update().where(meta.c.key == "schema_version").values(value=str(self.version)))
                c.commit()
        finally:
            engine.dispose()

    def _is_current(self, path: Path) -> bool:
        """Whether there is nothing to upgrade; what is damaged or unknown is for `check` to refuse."""
        engine = connect(path, read_only=True)
        try:
            with engine.connect() as c:
                version = c.execute(self._version).scalar()
        except (OSError, sa.exc.DatabaseError):
            return True
        finally:
            engine.dispose()
        return not (version and version.isdecimal() and 0 < int(version) < self.version)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """What the system or SQLite has against it, in a sentence."""
    try:
        yield
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be opened ({error.strerror})") from None
    except sa.exc.OperationalError as error:
        raise ShortlistError(f"{path}: cannot be opened ({error.orig})") from None
    except sa.exc.DatabaseError as error:
        raise damaged(path, str(error.orig)) from None


def damaged(path: Path, why: str) -> ShortlistError:
    return ShortlistError(f"{path}: this database is damaged ({why}); put back a copy, or start in another folder")


def _mode(path: Path, read_only: bool) -> dict[str, str]:
    if not read_only:
        return {"mode": "rwc"}
    # a reader, too, keeps its place in a file beside the log; where it may write none and there is no log, it need not
    log = path.with_name(path.name + "-wal")
    return {"mode": "ro"} if os.access(path.parent, os.W_OK) or log.exists() else {"mode": "ro", "immutable": "1"}


def connect(path: Path, *, read_only: bool = False) -> sa.Engine:
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
