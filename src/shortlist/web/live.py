"""A campaign that people are answering: questions lent and taken, answers written down, what there is to say of it.

Lives in the server's event loop; databases are written by the scribe's thread, and models are trained by the worker's
process, which tells in `heard` what it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shortlist.campaign import ledger
from shortlist.campaign.database import Unwritable
from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions import shown
from shortlist.campaign.resolution import live
from shortlist.campaign.store import AnswerRow, QuestionRow, RoundRow
from shortlist.campaign.timing import TIMED, Timed, timed
from shortlist.costs import Seconds
from shortlist.types import NONE, Answer, Question, ShortlistError
from shortlist.web.controls import Controls
from shortlist.web.desk import Closed, Desk
from shortlist.web.people.people import People
from shortlist.web.review import decision_path
from shortlist.web.scribe import Scribe

AT_ONCE = 20  # questions a page may keep
AHEAD = 10  # ahead questions handed out together, for everybody who is labelling
LEASES_KEPT = 0.5  # seconds
NOTICED = 2.0  # seconds until what others have written is seen
PRESENT = 300.0  # seconds for which somebody counts as being there
STALE = 2.0  # seconds after which the desk looks again what is open, if nobody has told it


@dataclass(frozen=True)
class Said:
    """An answer as it comes from a page: whose it is, the server knows."""

    question: int
    kind: Any
    path: tuple[int, ...] = ()
    stage_seconds: tuple[float, ...] | None = None
    wall_seconds: float | None = None
    note: str | None = None
    supersedes: int | None = None
    final: bool = False

    def by(self, person: str) -> Answer:
        active = None if self.stage_seconds is None else sum(self.stage_seconds)
        return Answer(person=person, active_seconds=active, **asdict(self))


@dataclass
class Doing:
    """What the worker is at, in its own words."""

    state: str = "starting"  # starting | working | waiting | over | failed | stopped
    words: str = ""
    error: str | None = None


@dataclass
class Totals:
    """What has been said so far, kept up with every answer."""

    answers: int = 0
    cost: float = 0.0
    conventional: float = 0.0


class Live:
    def __init__(self, campaign: Campaign, people: People, *, control: float = 0.0, lease: float | None = None) -> None:
        self.campaign, self.people = campaign, people
        self.controls = Controls(campaign, people, control)
        self.desk = Desk() if lease is None else Desk(lease)
        self.scribe = Scribe(campaign.record_each)
        self.doing = Doing()
        self.totals = Totals()
        self.times = Timed()
        self.minutes = Seconds()  # until enough answers are timed, the paper's user study
        self.poke = asyncio.Event()  # the worker has something to look at
        self._round = RoundRow(0, "", None, None, None, None)  # the last one
        self._unkept: dict[tuple[int, str], float] = {}  # leases that are not written down yet
        self._fitted_at = 0  # stages
        self._looked = 0.0
        self._seen: dict[str, float] = {}  # person -> last heard of
        self._last = 0  # the last answer that is known here
        self._look_lock = asyncio.Lock()

    async def start(self) -> None:
        """Read what is open and what has been said, and who had what before a restart."""
        self.totals, self.times = await self.scribe.do(lambda: (self._count(), timed(self.campaign.store)))
        self._last = await self.scribe.do(self.campaign.store.last_answer)
        kept = self.people.leases(time.time())
        await self.look([(lease.question, lease.person, lease.until) for lease in kept])

    def close(self) -> None:
        self.scribe.close()
        self._save_leases()

    async def recount(self) -> None:
        """Labels have come in another way: other questions may be open, and the round may be complete."""
        self.totals = await self.scribe.do(self._count)
        await self.look()
        self.poke.set()

    async def notice(self) -> None:
        """Whether another program has written answers, such as an import from the command line; until cancelled."""
        while True:
            await asyncio.sleep(NOTICED)
            with contextlib.suppress(ShortlistError):
                last = await self.scribe.do(self.campaign.store.last_answer)
                if last > self._last:  # on the scribe's thread: whatever was written here is counted by now
                    self._last = last
                    await self.recount()

    # --- what is open ------------------------------------------------------------------------------------------

    async def look(self, leases: Sequence[tuple[int, str, float]] = ()) -> None:
        """See which questions are open now."""
        async with self._look_lock:
            self._round, rows, answered = await self.scribe.do(self._read_open)
            self.desk.set_open(rows, answered, leases)
            self._looked = time.monotonic()

    def _read_open(self) -> tuple[RoundRow, list[QuestionRow], dict[int, set[str]]]:
        store = self.campaign.store
        last = max(store.rounds(), key=lambda row: row.number, default=self._round)
        rows = store.open_questions(since=last.number)
        answered: dict[int, set[str]] = {}
        for answer in store.answers_to(row.id for row in rows if row.wanted > 1):
            answered.setdefault(answer.question, set()).add(answer.person)
        return last, rows, answered

    def _count(self) -> Totals:
        """Totals from the database. A correction costs what it costs, and answers nothing more."""
        store = self.campaign.store
        answered, labels = store.tally()
        return Totals(answered, ledger.spent(ledger.lines(store)), labels * self.campaign.one)

    # --- questions ---------------------------------------------------------------------------------------------

    async def questions(self, person: str, n: int, holding: Collection[int] = ()) -> list[dict[str, Any]]:
        """Up to n questions to keep ready beside those the page holds; ahead ones rather than none."""
        self._seen[person] = time.monotonic()
        held = [id for id in holding if id > 0]
        self._keep_leases(person, self.desk.renew(person, held))
        wanted = min(n, AT_ONCE) - len(holding)
        if wanted <= 0:
            return []
        if time.monotonic() - self._looked > STALE and len(self.desk) < wanted:
            await self.look()
        rows = self.desk.take(person, wanted, held)
        if not rows and not holding:
            rows = await self._ahead(person, wanted)
        self._keep_leases(person, [row.id for row in rows])
        views: list[dict[str, Any]] = [self.view(row) for row in rows]
        if rows and self.controls.is_due():
            control = await asyncio.to_thread(self.controls.draw, person, holding)
            views[:0] = [] if control is None else [question_view(control)]
        return views

    async def _ahead(self, person: str, n: int) -> list[QuestionRow]:
        """Questions about the next-ranked items, for somebody who would wait."""
        async with self._look_lock:
            if not (rows := self.desk.take(person, n)):  # somebody else may just have fetched some
                self.desk.add(await self.scribe.do(self._hand_out))
                rows = self.desk.take(person, n)
        return rows

    def _hand_out(self) -> list[QuestionRow]:
        handed = self.campaign.ahead(AHEAD * max(1, self._at_work()))
        return list(self.campaign.store.questions_by_id([question.id for question in handed]).values())

    def _at_work(self) -> int:
        """How many people have been heard of lately."""
        now = time.monotonic()
        return sum(now - seen < PRESENT for seen in list(self._seen.values()))

    def _keep_leases(self, person: str, questions: Iterable[int]) -> None:
        """Written down a little later, many together: they are for a restart, and nobody waits for them."""
        until = time.time() + self.desk.lease_seconds
        self._unkept |= {(id, person): until for id in questions}

    async def keep_leases(self) -> None:
        """What is lent is written down twice a second, until cancelled."""
        while True:
            await asyncio.sleep(LEASES_KEPT)
            await asyncio.to_thread(self._save_leases)

    def _save_leases(self) -> None:
        kept, self._unkept = self._unkept, {}
        rows = [(question, person, until) for (question, person), until in kept.items()]
        try:
            self.people.save_leases(rows)
        except Unwritable:
            self._unkept = kept | self._unkept

    async def question(self, id: int, person: str) -> dict[str, Any]:
        """A question this person has answered or has in hand, with what they said."""
        if id < 0:
            return question_view(*await asyncio.to_thread(self.controls.again, -id, person))
        row, said = await self.scribe.do(lambda: self._read_question(id))
        mine = next((a for a in reversed(live(said)) if a.person == person), None)
        if row is None or (mine is None and not self.desk.is_with(id, person)):
            raise Closed(f"question {id} is not yours")
        return self.view(row, mine)

    def _read_question(self, id: int) -> tuple[QuestionRow | None, list[AnswerRow]]:
        store = self.campaign.store
        return store.questions_by_id([id]).get(id), store.answers_to([id])

    def view(self, row: QuestionRow, answer: AnswerRow | None = None) -> dict[str, Any]:
        """What a page needs to ask it."""
        return question_view(shown(row, self.campaign.known), None if answer is None else self.answer_view(answer))

    def answer_view(self, row: AnswerRow) -> dict[str, Any]:
        classes = self.campaign.known.dataset_class
        path = [p if p == NONE else int(classes[p]) for p in row.path]
        return {"id": row.id, "question": row.question, "kind": row.kind, "path": path, "note": row.note, "at": row.at}

    def release(self, person: str, questions: Sequence[int]) -> None:
        """Others may have them."""
        self.desk.release(person, questions)
        self._unkept |= {(id, person): 0.0 for id in questions}  # until 1970: kept no more

    # --- answers -----------------------------------------------------------------------------------------------

    async def answer(self, person: str, said: Said) -> int:
        """Write it down; when this returns its number it is safe."""
        self._seen[person] = time.monotonic()
        if said.question < 0:
            await asyncio.to_thread(self.controls.answer, person, said.by(person))
            return said.question
        row: QuestionRow | None
        try:
            if said.supersedes is None and not said.final:
                row = self.desk.claim(said.question, person)
            else:
                row, _ = await self.scribe.do(lambda: self._read_question(said.question))
            number = await self.scribe.write(said.by(person))
        except ShortlistError:
            if (before := await self._said_before(person, said)) is None:
                raise
            return before
        self._last = max(self._last, number)
        self.desk.answered(said.question, person, final=said.final)
        if row is not None:
            self._add(row, said)
        if not self.desk.left(self._round.number):
            self.poke.set()
        return number

    async def _said_before(self, person: str, said: Said) -> int | None:
        """The number of the same answer, where a page sends one again because it did not hear that it was kept."""
        _, given = await self.scribe.do(lambda: self._read_question(said.question))
        for kept in live(given):
            same = (kept.kind, self.answer_view(kept)["path"], kept.supersedes)
            if kept.person == person and same == (said.kind, list(said.path), said.supersedes):
                return kept.id
        return None

    def _add(self, row: QuestionRow, said: Said) -> None:
        is_paid, is_new, cost = row.purpose != "holdout", said.supersedes is None, self.campaign.query.cost
        self.totals.answers += is_new
        if said.kind in TIMED and said.stage_seconds is not None:
            self.times.add(row, said.stage_seconds)
        if is_paid:
            self.totals.cost += ledger.charge(row, said.by(""), cost)
        if is_paid and is_new and said.kind == "label":
            self.totals.conventional += self.campaign.one

    async def decide(self, person: str, question: int, kind: Any, label: int | None, note: str | None) -> int:
        """An owner's last word on an item, in place of what they said before."""

        def standing() -> tuple[tuple[int, ...], int | None]:
            said = live(self.campaign.store.answers_to([question]))
            own = next((a.id for a in reversed(said) if a.person == person), None)
            return decision_path(self.campaign, question, kind, label), own

        path, own = await self.scribe.do(standing)
        return await self.answer(person, Said(question, kind, path, note=note, supersedes=own, final=True))

    async def mine(self, person: str, limit: int) -> list[dict[str, Any]]:
        """This person's answers that still stand, newest first."""
        said = await asyncio.to_thread(self.campaign.store.answers_of, person, limit)
        return [self.answer_view(a) for a in said]

    # --- what there is to say ----------------------------------------------------------------------------------

    def progress(self) -> dict[str, Any]:
        self._fit()
        saved = self.totals.conventional - self.totals.cost
        unit = "seconds" if isinstance(self.campaign.query.cost, Seconds) else "bits"
        return {
            "round": self._round.number,
            "state": self._state(self._round.state),
            "doing": self.doing.words,
            "ending": self.doing.words if self.doing.state == "over" else None,
            "done": self.totals.answers,
            "left": len(self.desk),
            "cost": round(self.totals.cost, 1),
            "saved": round(saved, 1),
            "unit": unit,
            "saved_minutes": round(saved * (1 if unit == "seconds" else self.minutes.b) / 60, 1),
            "people": self._at_work(),
            "classes": len(self.campaign.known.classes),
            "error": self.doing.error,
        }

    def _state(self, round_state: str) -> str:
        if self.doing.state in ("over", "working", "starting"):
            return "working" if self.doing.state == "starting" else self.doing.state
        return round_state if round_state in ("calibrating", "asking") else "working"

    def _fit(self) -> None:
        """The seconds of a bit, from what was timed; as often as that may change them."""
        if len(self.times.seconds) > 1.05 * self._fitted_at:
            self._fitted_at = len(self.times.seconds)
            self.minutes = self.times.fitted() or self.minutes

    async def heard(self, message: dict[str, Any]) -> None:
        """The worker has said what it does: other questions may be open now."""
        self.doing = Doing(str(message["state"]), str(message.get("words", "")), message.get("error"))
        await self.look()
        if self.doing.state == "waiting":
            await asyncio.to_thread(self.controls.top_up, np.random.default_rng())


def question_view(question: Question, answer: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "id": question.id,
        "round": question.round,
        "purpose": question.purpose,
        "item": question.item,
        "key": question.key,
        "classes": list(question.classes),
        "cuts": list(question.cuts),
        "exhaustive": question.exhaustive,
        "rejected": list(question.rejected),
        "answer": answer,
    }
