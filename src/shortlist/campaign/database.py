"""Opening a campaign's SQLite file: what is damaged or not ours is refused, and left as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from shortlist.campaign.schema import LATER, SCHEMA_VERSION, meta, tables
from shortlist.types import ShortlistError


def check(path: Path) -> None:
    """Refuse what is no database of ours, without touching it."""
    with opening(path):
        if not path.is_file():
            raise ShortlistError(f"{path.parent}: no campaign here (there is no {path.name})")
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
    found = sa.inspect(c)
    for table in tables.sorted_tables:
        if not found.has_table(table.name):
            raise damaged(path, f"no table {table.name}")
    version = c.execute(_VERSION).scalar()
    if version != str(SCHEMA_VERSION):
        raise ShortlistError(
            f"{path}: made with schema version {version}, this Shortlist reads {SCHEMA_VERSION}; "
            "use the version that made it"
        )


_VERSION = sa.select(meta.c.value).where(meta.c.key == "schema_version")


def upgrade(path: Path) -> None:
    """Give a database of an earlier version the columns it lacks, all of them or none; leave every other alone."""
    if not path.is_file() or _is_current(path):
        return
    engine = connect(path)
    try:
        with opening(path), engine.connect() as c:
            c.exec_driver_sql("BEGIN IMMEDIATE")  # whoever else upgrades it waits here, and then finds it done
            version = int(c.execute(_VERSION).scalar_one())
            for later in range(version + 1, SCHEMA_VERSION + 1):
                for column in LATER[later]:
                    told = sa.schema.CreateColumn(column).compile(dialect=engine.dialect)
                    c.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {told}")
            c.execute(meta.update().where(meta.c.key == "schema_version").values(value=str(SCHEMA_VERSION)))
            c.commit()
    finally:
        engine.dispose()


def _is_current(path: Path) -> bool:
    """Whether there is nothing to upgrade; what is damaged or unknown is for `check` to refuse."""
    engine = connect(path, read_only=True)
    try:
        with engine.connect() as c:
            version = c.execute(_VERSION).scalar()
    except (OSError, sa.exc.DatabaseError):
        return True
    finally:
        engine.dispose()
    return not (version and version.isdecimal() and 0 < int(version) < SCHEMA_VERSION)


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
