"""Control questions: the answer is known, and some come with a list that lacks it. Who takes such a list trusts it
more than they should."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import sqlalchemy as sa

from shortlist.types import AnswerKind, ShortlistError
from shortlist.web.people.file import PeopleFile
from shortlist.web.people.schema import Control, ControlAnswer, Trust, control_answers, controls

_ANSWER = sa.select(*(control_answers.c[name] for name in ControlAnswer.__dataclass_fields__))
_OF_CONTROL = control_answers.c.control == controls.c.id


class Controls(PeopleFile):
    def add_control(self, item: int, classes: list[int], truth: int, wrong: bool) -> int:
        """A question whose answer is known, with a list that holds it or, where wrong, lacks it. Returns its id."""
        if wrong == (truth in classes):
            must = "lack" if wrong else "hold"
            raise ShortlistError(f"control question about item {item}: its list must {must} the truth, class {truth}")
        new = controls.insert().values(item=item, classes=list(classes), truth=truth, wrong=wrong)
        with self._writing() as c:
            return int(c.execute(new.returning(controls.c.id)).scalar_one())

    def control(self, id: int) -> Control | None:
        return self._control(sa.select(controls).where(controls.c.id == id))

    def every_control(self) -> list[Control]:
        with self._reading() as c:
            rows = c.execute(sa.select(controls).order_by(controls.c.id)).all()
        return [Control(row.id, row.item, tuple(row.classes), row.truth, row.wrong) for row in rows]

    def next_control(self, person: str) -> Control | None:
        """One that this person has not answered, the least answered first."""
        times = sa.select(sa.func.count()).select_from(control_answers).where(_OF_CONTROL).scalar_subquery()
        mine = sa.exists().where(_OF_CONTROL, control_answers.c.person == person)
        return self._control(sa.select(controls).where(~mine).order_by(times, controls.c.id).limit(1))

    def _control(self, chosen: sa.Select[Any]) -> Control | None:
        with self._reading() as c:
            row = c.execute(chosen).first()
        return None if row is None else Control(row.id, row.item, tuple(row.classes), row.truth, row.wrong)

    def answer_control(
        self, id: int, person: str, said: int | None, kind: AnswerKind, stage_seconds: Sequence[float], at: float
    ) -> None:
        """Once per person and control question."""
        if kind not in get_args(AnswerKind) or (kind == "label") != (said is not None):
            raise ShortlistError(f"control question {id}: an answer {kind!r} with class {said} is none; send another")
        row = {"control": id, "person": person, "said": said, "kind": kind, "at": at}
        try:
            with self._writing() as c:
                c.execute(control_answers.insert().values(**row, stage_seconds=list(stage_seconds)))
        except sa.exc.IntegrityError:
            raise ShortlistError(
                f"control question {id}: not there, or answered by {person} before; go on to the next"
            ) from None

    def controls_of(self, person: str) -> list[ControlAnswer]:
        """What this person has answered, oldest first."""
        return self._answers(_ANSWER.where(control_answers.c.person == person))

    def control_answer(self, id: int, person: str) -> ControlAnswer | None:
        """What this person has answered to it."""
        mine = (control_answers.c.control == id, control_answers.c.person == person)
        return next(iter(self._answers(_ANSWER.where(*mine))), None)

    def _answers(self, chosen: sa.Select[Any]) -> list[ControlAnswer]:
        with self._reading() as c:
            rows = c.execute(chosen.order_by(control_answers.c.at, control_answers.c.control)).all()
        return [ControlAnswer(r.control, r.person, r.said, r.kind, tuple(r.stage_seconds), r.at) for r in rows]

    def trust(self) -> dict[str, Trust]:
        """By person: how often wrong lists were accepted, and right ones answered correctly."""
        chosen = sa.select(control_answers.c.person, control_answers.c.said, controls)
        judged = chosen.join_from(control_answers, controls).where(control_answers.c.kind.in_(["label", "none"]))
        seen: defaultdict[str, Trust] = defaultdict(Trust)
        with self._reading() as c:
            for row in c.execute(judged):
                seen[row.person] = _counted(seen[row.person], row)
        return dict(sorted(seen.items()))


def _counted(trust: Trust, row: Any) -> Trust:
    if row.wrong:
        accepted = trust.wrong_accepted + (row.said in row.classes)
        return replace(trust, wrong_asked=trust.wrong_asked + 1, wrong_accepted=accepted)
    correct = trust.right_correct + (row.said == row.truth)
    return replace(trust, right_asked=trust.right_asked + 1, right_correct=correct)
