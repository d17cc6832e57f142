"""Who has which question: each open one is lent to one person and comes back when it is abandoned.

Everything here is in memory and belongs to one thread; leases that were kept are given to it again after a restart.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from shortlist.campaign.storage.store import QuestionRow
from shortlist.types import ShortlistError

LEASE_SECONDS = 300.0


class Closed(ShortlistError):
    """The question has been answered meanwhile, or is with another person now."""


@dataclass
class Ticket:
    """An open question, who has answered it, and who has it until when."""

    row: QuestionRow
    answered: set[str] = field(default_factory=set)
    lent: dict[str, float] = field(default_factory=dict)  # person -> until

    def is_free_for(self, person: str, now: float) -> bool:
        """Whether it may be lent to this person: not theirs already, and not with as many others as it wants."""
        if self.lent:
            self.lent = {p: until for p, until in self.lent.items() if until > now}
        if person in self.answered or person in self.lent:
            return False
        return len(self.answered) + len(self.lent) < self.row.wanted

    def is_with(self, person: str, now: float) -> bool:
        return self.lent.get(person, now) > now

    @property
    def is_done(self) -> bool:
        return len(self.answered) >= self.row.wanted


@dataclass
class Leases:
    lease_seconds: float = LEASE_SECONDS
    clock: Callable[[], float] = time.time
    _tickets: dict[int, Ticket] = field(default_factory=dict)  # open questions in the order they are asked
    _of: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # person -> questions lent
    _in: Counter[int] = field(default_factory=Counter)  # round -> open questions

    def __len__(self) -> int:
        """How many questions wait for an answer."""
        return len(self._tickets)

    def left(self, round: int) -> int:
        """How many questions of a round wait for an answer."""
        return self._in[round]

    def set_open(
        self,
        rows: Iterable[QuestionRow],
        answered: Mapping[int, Collection[str]],
        leases: Iterable[tuple[int, str, float]] = (),
    ) -> None:
        """What is open now, and who has answered what of it; leases go on."""
        lent = {id: ticket.lent for id, ticket in self._tickets.items()}
        for question, person, until in leases:
            lent.setdefault(question, {})[person] = until
        self._tickets, self._of, self._in = {}, defaultdict(set), Counter()
        self.add(rows, answered)
        for id, ticket in self._tickets.items():
            ticket.lent = {p: until for p, until in lent.get(id, {}).items() if p not in ticket.answered}
            for person in ticket.lent:
                self._of[person].add(id)

    def add(self, rows: Iterable[QuestionRow], answered: Mapping[int, Collection[str]] | None = None) -> None:
        """More questions; `answered` says by whom, where anybody has seen them."""
        for row in rows:
            ticket = Ticket(row, set((answered or {}).get(row.id, ())))
            if row.id not in self._tickets and not ticket.is_done:
                self._tickets[row.id] = ticket
                self._in[row.round] += 1

    def is_with(self, question: int, person: str) -> bool:
        """Whether it is lent to this person now."""
        ticket = self._tickets.get(question)
        return ticket is not None and ticket.is_with(person, self.clock())

    def take(self, person: str, n: int, holding: Collection[int] = ()) -> list[QuestionRow]:
        """Up to n questions for a person: those they have and do not hold on the page, then free ones in order."""
        now = self.clock()
        lent = (self._tickets[id] for id in sorted(self._of[person]) if id not in holding)
        taken = list(islice((ticket for ticket in lent if ticket.is_with(person, now)), n))
        free = (ticket for ticket in self._tickets.values() if ticket.is_free_for(person, now))
        taken += islice(free, n - len(taken))
        for ticket in taken:
            self._lend(ticket, person, now)
        return [ticket.row for ticket in taken]

    def renew(self, person: str, questions: Iterable[int]) -> list[int]:
        """The page shows or keeps these: they stay with the person, unless others have them. Returns which do."""
        now, renewed = self.clock(), []
        for id in questions:
            ticket = self._tickets.get(id)
            if ticket and (ticket.is_with(person, now) or ticket.is_free_for(person, now)):
                self._lend(ticket, person, now)
                renewed.append(id)
        return renewed

    def _lend(self, ticket: Ticket, person: str, now: float) -> None:
        ticket.lent[person] = now + self.lease_seconds
        self._of[person].add(ticket.row.id)

    def release(self, person: str, questions: Iterable[int]) -> None:
        for id in questions:
            if ticket := self._tickets.get(id):
                ticket.lent.pop(person, None)
            self._of[person].discard(id)

    def leave(self, person: str) -> None:
        """Nothing is lent to them any more."""
        self.release(person, list(self._of[person]))

    def claim(self, question: int, person: str) -> QuestionRow:
        """Lend a person the question they are about to answer; refused where it is not theirs to answer."""
        ticket = self._tickets.get(question)
        if ticket is None or person in ticket.answered:
            raise Closed(f"question {question} has been answered")
        if not self.renew(person, [question]):
            raise Closed(f"question {question} is with another person now")
        return ticket.row

    def answered(self, question: int, person: str, *, final: bool = False) -> None:
        """It has been written down."""
        self._of[person].discard(question)
        ticket = self._tickets.get(question)
        if ticket is None:
            return
        ticket.lent.pop(person, None)
        ticket.answered.add(person)
        if final or ticket.is_done:
            del self._tickets[question]
            self._in[ticket.row.round] -= 1
            for questions in self._of.values():  # also of those whose time had run out
                questions.discard(question)
