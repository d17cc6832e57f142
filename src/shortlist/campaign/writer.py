"""What can be changed in a campaign's database, inside one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from shortlist.campaign.schema import HAS_ANSWER, answers, classes, events, items, meta, questions, rounds
from shortlist.types import NONE, Answer, Round, ShortlistError


class Writer:
    def __init__(self, connection: sa.Connection) -> None:
        self.c = connection

    def set_config(self, config: dict[str, Any]) -> None:
        self.c.execute(meta.update().where(meta.c.key == "config").values(value=json.dumps(config)))

    def add_items(self, first: int, keys: Sequence[str], round: int) -> None:
        self.c.execute(items.insert(), [{"id": first + i, "key": k, "added_in": round} for i, k in enumerate(keys)])

    def add_classes(self, first: int, names: Sequence[str], round: int) -> None:
        rows = [{"id": first + i, "name": k, "active_since": round} for i, k in enumerate(names)]
        self.c.execute(classes.insert(), rows)

    def set_unreadable(self, reasons: Mapping[int, str]) -> None:
        """These items cannot be read, and all others can."""
        self.c.execute(items.update().where(items.c.unreadable.is_not(None)).values(unreadable=None))
        if rows := [{"item": item, "why": why} for item, why in reasons.items()]:
            mine = items.update().where(items.c.id == sa.bindparam("item"))
            self.c.execute(mine.values(unreadable=sa.bindparam("why")), rows)

    def start_round(self, number: int, state: str, alpha: float | None, threshold: float | None) -> None:
        self.c.execute(rounds.insert().values(number=number, state=state, alpha=alpha, threshold=threshold))

    def set_round(self, number: int, **values: Any) -> None:
        if isinstance(values.get("result"), Round):
            values["result"] = asdict(values["result"])
        self.c.execute(rounds.update().where(rounds.c.number == number).values(**values))

    def ask(self, rows: Iterable[dict[str, Any]]) -> None:
        if listed := list(rows):
            self.c.execute(questions.insert(), listed)

    def drop_reserved(self, round: int) -> None:
        """Ahead questions that nobody was given go back to the pool."""
        self.c.execute(questions.delete().where(questions.c.round == round, questions.c.state == "reserved"))

    def hand_out(self, round: int, n: int) -> list[int]:
        """The first n ahead questions that nobody has yet: from here on they count. Returns their ids."""
        mine = sa.select(questions.c.id).where(questions.c.round == round, questions.c.state == "reserved")
        first = mine.order_by(questions.c.id).limit(n).scalar_subquery()
        change = questions.update().where(questions.c.id.in_(first)).values(state="open").returning(questions.c.id)
        return sorted(self.c.execute(change).scalars())

    def widen(self, n_classes: int) -> None:
        """Questions that nobody has answered take up new classes, at the end of what they show."""
        whole = sa.case((questions.c.size == questions.c.n_classes, n_classes), else_=questions.c.size)
        self.c.execute(questions.update().where(~HAS_ANSWER).values(n_classes=n_classes, size=whole))

    def answer(self, given: Sequence[tuple[Answer, int, float]]) -> list[int]:
        """Append (answer, item, cost); their numbers."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [
            {
                "question": a.question,
                "item": item,
                "person": a.person,
                "kind": a.kind,
                "misses": a.path.count(NONE),
                "label": a.label,
                "cost": cost,
                "active_seconds": a.active_seconds,
                "wall_seconds": a.wall_seconds,
                "supersedes": a.supersedes,
                "at": at,
                "stage_seconds": None if a.stage_seconds is None else list(a.stage_seconds),
                "note": a.note,
                "final": a.final,
            }
            for a, item, cost in given
        ]
        if not rows:
            return []
        numbered = answers.insert().returning(answers.c.id, sort_by_parameter_order=True)
        try:
            return list(self.c.execute(numbered, rows).scalars())
        except sa.exc.IntegrityError:
            raise ShortlistError("answer: the same person has just answered this elsewhere; look again") from None

    def note(self, round: int, step: str, detail: str) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.c.execute(events.insert().values(at=at, round=round, step=step, detail=detail))
