"""A campaign's database as it is at one moment, however long the reading takes and whoever writes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import sqlalchemy as sa

from shortlist.campaign.folder import Folder
from shortlist.campaign.schema import meta
from shortlist.campaign.store import Store


@dataclass(frozen=True)
class _OneConnection:
    """Lends the same connection, in the same transaction, to every reader."""

    c: sa.Connection

    @contextmanager
    def connect(self) -> Iterator[sa.Connection]:
        yield self.c


@contextmanager
def snapshot_of(folder: Path) -> Iterator[Store]:
    """The store of the campaign in a folder; all that is read from it is one transaction."""
    with Store(Folder(folder).database, read_only=True) as store, store.engine.connect() as c:
        c.exec_driver_sql("BEGIN")
        c.execute(sa.select(meta.c.key)).all()  # the moment: SQLite's transaction begins with its first read
        store.engine = cast(sa.Engine, _OneConnection(c))
        yield store
