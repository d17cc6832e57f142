"""A campaign that people are answering: questions lent, answers taken and written down, progress reported.

It lives in the server's event loop; databases are written by the answer writer's thread, and models are trained by the
worker's process, whose messages come in through `heard`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shortlist.campaign.accounting.timing import TIMED, Timed
from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.orders import Orders
from shortlist.campaign.questions.resolution import standing
from shortlist.campaign.storage.database import Damaged, Unwritable
from shortlist.campaign.storage.store import AnswerRow, Entry, QuestionRow, RoundRow
from shortlist.costs import Seconds
from shortlist.types import NONE, Answer, Question, ShortlistError
from shortlist.web.people.people import People
from shortlist.web.service.answer_writer import AnswerWriter
from shortlist.web.service.controls import Controls
from shortlist.web.service.leases import Closed, Leases

AT_ONCE = 20  # questions a page may keep
AHEAD = 10  # ahead questions handed out together, for all who are labelling
LEASES_KEPT = 0.5  # seconds
NOTICED = 2.0  # seconds until what others have written is seen
PRESENT = 300.0  # seconds after being heard of for which a person counts as present
STALE = 2.0  # seconds after which it looks again what is open


log = logging.getLogger("uvicorn.error")


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
    items: npt.NDArray[np.bool_] = field(
        default_factory=lambda: np.zeros(0, np.bool_)
    )  # (n,) something is said about it


class LabellingService:
    def __init__(self, campaign: Campaign, people: People, control: float) -> None:
        self.campaign, self.view, self.people = campaign, campaign.view, people
        self.orders = Orders(campaign.view)
        self.controls = Controls(campaign, people, control)
        self.leases = Leases()
        self.writer = AnswerWriter(campaign.record_each)
        self.doing = Doing()
        self.totals = Totals()
        self.times = Timed()
        self.poke = asyncio.Event()  # the worker has something to look at
        self._round = RoundRow(0, "", None, None, None, None)  # the last one
        self._unkept: dict[tuple[int, str], float] = {}  # leases that are not written down yet
        self._accuracy: float | None = None  # of the last model that was measured
        self._looked = 0.0
        self._seen: dict[str, float] = {}  # person -> last heard of
        self._last = 0  # the last answer that is known here
        self._look_lock = asyncio.Lock()
        self._trouble: Unwritable | None = None  # what keeps answers from being written down

    async def start(self) -> None:
        """Read what is open and what has been said, and who had what before a restart."""
        self.totals, self.times, self._last = await self.writer.do(
            lambda: (self._count(), self.view.times(), self.view.last_answer())
        )
        await self.look(self.people.leases(time.time()))

    def close(self) -> None:
        self.writer.close()
        self._save_leases()

    async def recount(self) -> None:
        """Labels have come in another way: other questions may be open, and the round may be complete."""
        self.totals = await self.writer.do(self._count)
        await self.look()
        self.poke.set()

    async def notice(self) -> None:
        """Whether another program has written answers, such as an import from the command line; until cancelled."""
        while True:
            await asyncio.sleep(NOTICED)
            with contextlib.suppress(ShortlistError):
                last = await self.in_place()
                if last > self._last:  # on the writer's thread: what was written here is counted by now
                    self._last = last
                    await self.recount()

    async def in_place(self) -> int:
        """The last answer there is; refused, and said to everybody, where the database cannot be used."""
        try:
            last = await self.writer.do(self.view.last_answer)
        except Unwritable as error:
            self._in_trouble(error)
            raise
        if not isinstance(self._trouble, Damaged):  # that it can be read in one place mends no other
            self._trouble = None
        return last

    def _in_trouble(self, error: Unwritable) -> None:
        """Until it is over it stands on the pages; in the log, once."""
        if str(self._trouble) != str(error):
            log.error("%s", error)
        self._trouble = error

    # --- what is open ------------------------------------------------------------------------------------------

    async def look(self, leases: Sequence[tuple[int, str, float]] = ()) -> None:
        """See which questions are open now."""
        async with self._look_lock:
            self._round, self._accuracy, rows, answered = await self.writer.do(self._read_open)
            self.leases.set_open(rows, answered, leases)
            self._looked = time.monotonic()

    def _read_open(self) -> tuple[RoundRow, float | None, list[QuestionRow], dict[int, set[str]]]:
        rounds = self.view.rounds()
        last = rounds[-1] if rounds else self._round
        measured = [row.result.accuracy for row in rounds if row.result and row.result.accuracy is not None]
        rows = self.view.open_questions(since=last.number)
        answered: dict[int, set[str]] = {}
        for answer in self.view.answers_to(row.id for row in rows if row.wanted > 1):
            answered.setdefault(answer.question, set()).add(answer.person)
        return last, measured[-1] if measured else None, rows, answered

    def _count(self) -> Totals:
        """Totals from the database. A correction costs what it costs, and answers nothing more."""
        answered, settled = self.view.tally()
        items = np.zeros(self.view.n_items(), np.bool_)
        items[self.view.items_answered()] = True
        return Totals(answered, self.view.spent(), settled * self.campaign.item_cost, items)

    # --- questions ---------------------------------------------------------------------------------------------

    async def questions(self, person: str, n: int, holding: Collection[int] = ()) -> list[dict[str, Any]]:
        """Up to n questions to keep ready beside those the page holds; ahead ones rather than none."""
        self._seen[person] = time.monotonic()
        held = [id for id in holding if id > 0]
        self._keep_leases(person, self.leases.renew(person, held))
        wanted = min(n, AT_ONCE) - len(holding)
        if wanted <= 0:
            return []
        if time.monotonic() - self._looked > STALE and len(self.leases) < wanted:
            await self.look()
        rows = self.leases.take(person, wanted, held)
        if not rows and not holding:
            rows = await self._ahead(person, wanted)
        self._keep_leases(person, [row.id for row in rows])
        return [view for row in rows for view in (*await self._control(row, person, holding), self.shown(row))]

    async def _control(self, row: QuestionRow, person: str, holding: Collection[int]) -> list[dict[str, Any]]:
        """The control question that comes with one, if one does."""
        if not self.controls.due(row):
            return []
        control = await asyncio.to_thread(self.controls.beside, row, person, holding)
        return [] if control is None else [question_view(control, self.controls.order(control.id))]

    async def _ahead(self, person: str, n: int) -> list[QuestionRow]:
        """Questions about the next-ranked items, for a person who would wait."""
        async with self._look_lock:
            if not (rows := self.leases.take(person, n)):  # another request may just have fetched some
                self.leases.add(await self.writer.do(self._hand_out))
                rows = self.leases.take(person, n)
        return rows

    def _hand_out(self) -> list[QuestionRow]:
        handed = self.campaign.ahead(AHEAD * max(1, self._at_work()))
        return list(self.view.questions_by_id([question.id for question in handed]).values())

    def _at_work(self) -> int:
        """How many people have been heard of lately."""
        now = time.monotonic()
        return sum(now - seen < PRESENT for seen in list(self._seen.values()))

    def _keep_leases(self, person: str, questions: Iterable[int]) -> None:
        """Written down a little later, many together: they are for a restart, and no request waits for them."""
        until = time.time() + self.leases.lease_seconds
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
            control, said = await asyncio.to_thread(self.controls.again, -id, person)
            return question_view(control, self.controls.order(id), said)
        row, mine = await self.writer.do(lambda: self._read_question(id, person))
        if row is None or (mine is None and not self.leases.is_with(id, person)):
            raise Closed(f"question {id} is not yours")
        return self.shown(row, mine)

    def _read_question(self, id: int, person: str) -> tuple[QuestionRow | None, AnswerRow | None]:
        """It, and this person's answer to it that stands."""
        mine = [answer for answer in standing(self.view.answers_to([id])) if answer.person == person]
        return self.view.question(id), mine[-1] if mine else None

    def shown(self, row: QuestionRow, answer: AnswerRow | None = None) -> dict[str, Any]:
        order = self.orders.of(row)
        after = None if order is None else self.view.ids.dataset_class[order].tolist()
        return question_view(self.view.shown(row), after, None if answer is None else self.answer_view(answer))

    def answer_view(self, row: AnswerRow) -> dict[str, Any]:
        classes = self.view.ids.dataset_class
        path = [p if p == NONE else int(classes[p]) for p in row.path]
        return {"id": row.id, "question": row.question, "kind": row.kind, "path": path, "note": row.note, "at": row.at}

    def release(self, person: str, questions: Sequence[int]) -> None:
        """Others may have them."""
        self.leases.release(person, questions)
        self._unkept |= {(id, person): 0.0 for id in questions}  # until 1970: kept no more

    # --- answers -----------------------------------------------------------------------------------------------

    async def answer(self, answer: Answer) -> int:
        """Write it down; when this returns its number it is safe."""
        person, question = answer.person, answer.question
        self._seen[person] = time.monotonic()
        if question < 0:
            await asyncio.to_thread(self.controls.answer, answer)
            return question
        try:
            if answer.supersedes is None and not answer.final:
                self.leases.claim(question, person)
            recorded = await self.writer.write(answer)
        except Unwritable as error:
            self._in_trouble(error)
            raise
        except ShortlistError:
            if (before := await self._answered_before(answer)) is None:
                raise
            return before
        self._last = max(self._last, recorded.number)
        self.leases.answered(question, person, final=answer.final)
        self._add(recorded.entry)
        if answer.supersedes is not None:  # what it takes back may have settled something: the database knows
            self.totals = await self.writer.do(self._count)
        if not self.leases.left(self._round.number):
            self.poke.set()
        return recorded.number

    async def _answered_before(self, answer: Answer) -> int | None:
        """The number of the same answer, where a page sends one again because it did not hear that it was kept."""
        _, row = await self.writer.do(lambda: self._read_question(answer.question, answer.person))
        said = (answer.kind, answer.path, answer.supersedes)
        if row is None or said != (row.kind, tuple(self.answer_view(row)["path"]), row.supersedes):
            return None
        if (row.note, tuple(row.stage_seconds or ())) != (answer.note, answer.stage_seconds or ()):
            raise Closed(
                f"question {answer.question} has been answered, with another note or other seconds, which stay; "
                f"to change them, send it with supersedes {row.id}"
            )
        return row.id

    def _add(self, entry: Entry) -> None:
        answer, question = entry.answer, entry.question
        assert question is not None  # only an import's has none
        if answer.kind in TIMED and answer.stage_seconds is not None:
            self.times.add(question, answer.stage_seconds)
        self.totals.answers += 1
        self.totals.items[question.item] |= answer.kind != "skip"
        if question.purpose != "holdout":
            settles = answer.kind == "label" or (answer.kind == "none" and question.exhaustive)
            self.totals.cost += entry.cost
            self.totals.conventional += settles * self.campaign.item_cost

    async def decide(self, person: str, question: int, kind: Any, label: int | None, note: str | None) -> int:
        """An owner's last word on an item, in place of what they said before."""

        def decision() -> Answer:
            row, own = self._read_question(question, person)
            if row is None:
                raise ShortlistError(f"question {question}: there is none such")
            if kind == "label" and label is None:
                raise ShortlistError("decision: a label is missing")
            path = self.view.shown(row).decided_path(kind, label)
            before = None if own is None else own.id
            return Answer(question, kind, path, person, supersedes=before, note=note, final=True)

        return await self.answer(await self.writer.do(decision))

    async def mine(self, person: str, limit: int) -> list[dict[str, Any]]:
        """This person's answers that still stand, newest first."""
        rows = await asyncio.to_thread(self.view.answers_of, person, limit)
        return [self.answer_view(row) for row in rows]

    # --- what there is to say ----------------------------------------------------------------------------------

    def progress(self) -> dict[str, Any]:
        saved, seconds = self.totals.conventional - self.totals.cost, self.times.saved
        done = int(self.totals.items.sum())
        unit = "seconds" if isinstance(self.campaign.query.cost, Seconds) else "bits"
        return {
            "round": self._round.number,
            "state": self._state(self._round.state),
            "doing": self.doing.words,
            "ending": self.doing.words if self.doing.state == "over" else None,
            "done": self.totals.answers,
            "left": len(self.totals.items) - done,
            "open": len(self.leases),
            "items": len(self.totals.items),
            "items_done": done,
            "cost": round(self.totals.cost, 1),
            "saved": round(saved, 1),
            "unit": unit,
            "saved_minutes": None if seconds is None else round(seconds / 60, 1),
            "accuracy": self._accuracy,
            "people": self._at_work(),
            "classes": len(self.view.ids.classes),
            "error": str(self._trouble) if self._trouble else self.doing.error,
            "saves": self._trouble is None,
        }

    def _state(self, round_state: str) -> str:
        if self.doing.state == "over":
            return "over"
        is_asking = round_state in ("calibrating", "asking") and self.doing.state not in ("working", "starting")
        return round_state if is_asking else "working"

    async def heard(self, message: dict[str, Any]) -> None:
        """The worker has said what it does: other questions may be open now."""
        self.doing = Doing(str(message["state"]), str(message.get("words", "")), message.get("error"))
        await self.look()
        if self.doing.state == "waiting":
            await asyncio.to_thread(self.controls.look)


def question_view(question: Question, order: list[int] | None, answer: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a page needs to ask it. `order`: classes that it does not list, most probable first, if that is known."""
    shown = {name: value for name, value in vars(question).items() if name not in ("key", "n_classes", "wanted")}
    return {**shown, "order": order, "answer": answer}
