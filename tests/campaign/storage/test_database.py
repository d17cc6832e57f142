"""Databases of ours: an earlier version gets the columns it lacks, and every other file is left as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from shortlist.campaign.storage.database import Kind, connected, kept
from shortlist.types import ShortlistError
from tests.campaign.toys import hashes
from tests.cases import in_turn

TABLES = sa.MetaData()
META = sa.Table("meta", TABLES, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
THINGS = sa.Table(
    "things",
    TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("second", sa.Integer, nullable=False, server_default="2"),
    sa.Column("third", sa.Text),
)
KIND = Kind("box", TABLES, 3, {2: (THINGS.c.second,), 3: (THINGS.c.third,)})


def box(folder: Path, version: str, *columns: str) -> Path:
    """A file as a version with these columns made it, with one thing in it."""
    path = folder / "box.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        c.execute("INSERT INTO meta VALUES ('schema_version', ?)", (version,))
        c.execute(f"CREATE TABLE things (id INTEGER PRIMARY KEY{''.join(f', {column}' for column in columns)})")
        c.execute("INSERT INTO things (id) VALUES (7)")
    return path


@in_turn(("version", "columns"), [("1", ()), ("2", ("second INTEGER NOT NULL DEFAULT 5",))])
def test_an_earlier_version_gets_the_columns_it_lacks(tmp_path: Path, version: str, columns: tuple[str, ...]) -> None:
    path = box(tmp_path, version, *columns)
    with pytest.raises(ShortlistError, match=f"made with schema version {version}, this Shortlist reads 3"):
        KIND.check(path)
    KIND.upgrade(path)
    KIND.check(path)
    KIND.upgrade(path)  # nothing is left to do
    with connected(path, read_only=True) as engine, engine.connect() as c:
        assert c.execute(sa.select(THINGS)).all() == [(7, 5 if columns else 2, None)]


@in_turn("version", ["0", "3", "4", "-1", "x", "1.5", ""])
def test_any_other_is_left_as_it_is(tmp_path: Path, version: str) -> None:
    path = box(tmp_path, version, "second INTEGER", "third TEXT")
    before = hashes(tmp_path)
    KIND.upgrade(path)
    if version != "3":
        with pytest.raises(ShortlistError, match="made with schema version"):
            KIND.check(path)
    assert hashes(tmp_path) == before


def test_there_has_to_be_one(tmp_path: Path) -> None:
    KIND.upgrade(tmp_path / "box.db")
    with pytest.raises(ShortlistError, match=r"no box here \(there is no box\.db\)"):
        KIND.check(tmp_path / "box.db")
    assert list(tmp_path.iterdir()) == []


def test_a_new_one_is_of_this_version_with_what_is_put_in(tmp_path: Path) -> None:
    path = tmp_path / "box.db"

    def fill(c: sa.Connection) -> None:
        c.execute(THINGS.insert().values(id=1))

    KIND.create(path, fill, mode=0o600)
    KIND.check(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with connected(path) as engine, kept(engine) as c:
        assert c.execute(sa.select(THINGS)).all() == [(1, 2, None)]
        settings = [c.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "foreign_keys")]
        assert settings == ["wal", 1]
        assert c.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # through a power cut
    with connected(path, durable=False) as engine, engine.connect() as c:
        assert c.exec_driver_sql("PRAGMA synchronous").scalar() == 1


def test_one_that_was_put_in_its_place_is_not_written_to(tmp_path: Path) -> None:
    path = box(tmp_path, "3", "second INTEGER", "third TEXT")
    with connected(path) as engine:
        with kept(engine) as c:
            c.exec_driver_sql("INSERT INTO things (id) VALUES (8)")
        other = tmp_path / "other"
        other.mkdir()
        box(other, "3", "second INTEGER", "third TEXT").replace(path)
        with pytest.raises(ShortlistError, match="it was deleted or replaced while it was in use"), kept(engine):
            pass


def test_a_log_that_goes_while_it_is_used_is_missed_by_those_who_come_later(tmp_path: Path) -> None:
    """What was written last is in it alone, and a new connection has a new one."""
    path = box(tmp_path, "3", "second INTEGER", "third TEXT")
    with connected(path) as engine, engine.connect() as first:
        first.exec_driver_sql("INSERT INTO things (id) VALUES (8)")
        first.commit()
        (tmp_path / "box.db-wal").unlink()
        with pytest.raises(ShortlistError, match="it was deleted or replaced while it was in use"):
            engine.connect().exec_driver_sql("SELECT id FROM things")
