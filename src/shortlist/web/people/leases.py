"""Which open questions are with whom, so that a restart of the server takes none out of anybody's hands."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from shortlist.web.people.file import PeopleFile
from shortlist.web.people.schema import Lease, leases

_NEW = insert(leases)
_SAVE = _NEW.on_conflict_do_update(index_elements=["question", "person"], set_={"until": _NEW.excluded.until})


class Leases(PeopleFile):
    """Cheap: nothing here waits for the disk."""

    def save_leases(self, rows: Sequence[tuple[int, str, float]]) -> None:
        """Keep, or prolong, (question, person, until)."""
        if rows:
            with self._jotting() as c:
                c.execute(_SAVE, [{"question": q, "person": p, "until": until} for q, p, until in rows])

    def leases(self, now: float) -> list[Lease]:
        """Those that still hold; the others are cleared away."""
        with self._jotting() as c:
            c.execute(leases.delete().where(leases.c.until <= now))
            return [Lease(*row) for row in c.execute(sa.select(leases).order_by(leases.c.question, leases.c.person))]
