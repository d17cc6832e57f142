"""The campaign: work until answers are needed, say which questions are open, go on when they are answered.

    predict → price → select → ask calibration → calibrate → plan → ask the rest → charge → fit → evaluate

Each step ends in one transaction that names the next, so a killed process goes on where it stopped. Nothing
random depends on how often the process was started: every step has its own stream, keyed by seed, round and
name.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from shortlist.campaign import ledger
from shortlist.campaign.answers import checked, sifted
from shortlist.campaign.asked import Asked
from shortlist.campaign.evaluation import Score
from shortlist.campaign.folder import Folder
from shortlist.campaign.learner import Learner, checked_picks
from shortlist.campaign.overlap import Overlap, Rule
from shortlist.campaign.questions import Rows, ahead_rows, conventional_rows, planned_rows, shown
from shortlist.campaign.resolution import Resolution, resolve
from shortlist.campaign.results import summarise
from shortlist.campaign.settings import Settings
from shortlist.campaign.stopping import Stopping
from shortlist.campaign.store import RoundRow
from shortlist.campaign.streams import draw_calibration, stream
from shortlist.campaign.timing import Pricing, priced
from shortlist.campaign.writer import Writer
from shortlist.plans import QueryDesign
from shortlist.types import (
    Acquisition,
    Annotator,
    Answer,
    Dataset,
    Floats,
    Ints,
    Model,
    Question,
    Rng,
    Round,
    ShortlistError,
)

CHUNK = 1000  # questions put to an annotator, and answers written down, together


@dataclass(frozen=True)
class Step:
    """What a campaign is doing, for whoever watches."""

    round: int
    name: str  # a step of the round, or "note"
    detail: str = ""


class Campaign:
    """A labelling campaign in a folder. Start it again with the same settings and it goes on.

    `initial` random items come first, then `budget` items a round. `holdout` random items are asked before
    everything else and only measured with. `ahead` next-ranked items a round are kept ready for people who would
    otherwise wait while a model trains. `overlap` has some items answered by several people. `annotator` says, for the
    record, where answers will come from. With `price="measured"` lists are made and items selected by the seconds that
    people have taken so far; answers are charged by the query's cost as ever. `watch` is called with every `Step`.
    Not `growing`, items that the dataset has got since the last start are left for another.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        dataset: Dataset,
        model: Model,
        query: QueryDesign,
        acquisition: Acquisition,
        initial: int,
        budget: int,
        rounds: int | None = None,
        seed: int = 0,
        holdout: int = 0,
        ahead: int = 0,
        stop: Stopping | None = None,
        overlap: Overlap | None = None,
        annotator: Mapping[str, Any] | None = None,
        price: Pricing = "cost",
        watch: Callable[[Step], None] | None = None,
        growing: bool = True,
    ) -> None:
        self.query, self.acquisition, self.stop = query, acquisition, stop or Stopping()
        if rounds is not None:
            self.stop = replace(self.stop, rounds=rounds)
        numbers = (initial, budget, seed, holdout, ahead)
        self.settings = Settings(dataset, model, query, acquisition, *numbers, self.stop, overlap, annotator, price)
        self.folder = Folder(Path(folder).absolute())
        self.store, self.known = self.folder.open(self.config, dataset, growing=growing)
        self.learner = Learner(model, dataset, self.known)
        self.watch = watch or (lambda step: None)
        self.one = ledger.stage_charges(len(self.known.classes), (), True, query.cost)[0]
        self._began = time.monotonic()
        self._is_prepared = False

    @property
    def config(self) -> dict[str, Any]:
        """What was asked for, as plain values."""
        return self.settings.config

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- for whoever answers -----------------------------------------------------------------------------------

    def run(self, annotator: Annotator) -> Iterator[Round]:
        """Go on to the end, asking `annotator`; yields every finished round, those of earlier starts first."""
        with self.folder.alone():
            yielded = 0
            while True:
                finished = self.finished_rounds()
                yield from finished[yielded:]
                yielded = len(finished)
                if not self.advance() and not self._ask(annotator):
                    return

    def _ask(self, annotator: Annotator) -> bool:
        """Put every open question to an annotator, some at a time; False if no answer came."""
        since, after, heard = self._first_open_round(), 0, 0
        while waiting := self.store.open_questions(since=since, after=after, limit=CHUNK):
            self._say(waiting[0].round, "ask", f"{len(waiting)} questions")
            heard += self._record_all(annotator.answer([shown(row, self.known) for row in waiting]))
            after = waiting[-1].id
        return heard > 0

    def _record_all(self, answers: Iterable[Answer]) -> int:
        """Write down what an annotator says, also when it is interrupted in the middle; how many answers."""
        given: list[Answer] = []
        try:
            given.extend(answers)  # keeps what came before an exception
        finally:
            self.record(given)
        return len(given)

    def questions(self) -> list[Question]:
        """Work until answers are needed, and the questions that then are open; none when the campaign is over."""
        while self.advance():
            pass
        return self.open_questions()

    def advance(self) -> bool:
        """Do the next piece of work; False when answers are needed or the campaign is over."""
        with self.folder.alone():
            return self._advance()

    def _advance(self) -> bool:
        rows = self.store.rounds()
        if not rows:
            self._start()
            return True
        last = rows[-1]
        if last.state == "done":
            return self._next_round(last)
        if self.store.is_waiting(last.number, "calibration" if last.state == "calibrating" else None):
            return False
        if last.state == "calibrating":
            self._calibrate(last)
        else:
            self._learn(last)
        return True

    def prepare(self) -> None:
        """Read what the model will learn from, and note which items cannot be read; done once."""
        if self._is_prepared:
            return
        self.learner.prepare()
        reasons: Mapping[str, str] = getattr(self.learner.dataset, "unreadable", None) or {}
        found = {item: reasons[key] for item, key in enumerate(self.known.keys) if key in reasons} if reasons else {}
        if found != self.store.unreadable():
            with self.folder.alone(), self.store.writing() as w:
                w.set_unreadable(found)
        self._is_prepared = True

    @property
    def ending(self) -> str | None:
        """Why the campaign is over; None while it goes on."""
        rows = self.store.rounds()
        if not rows or rows[-1].state != "done" or rows[-1].number == 0:
            return None
        if reason := self._reason():
            return reason
        number = rows[-1].number + 1
        if not len(self._pool(self._resolution(), number)) and not self._handed_out(number):
            return "every item of the pool has been asked"
        return None

    def finished_rounds(self) -> list[Round]:
        return [r.result for r in self.store.rounds() if r.result is not None]

    def open_questions(self) -> list[Question]:
        """What people can be asked now; ahead questions only once they have been handed out."""
        return [shown(row, self.known) for row in self.store.open_questions(since=self._first_open_round())]

    def ahead(self, n: int) -> list[Question]:
        """Hand out up to n questions about the next-ranked items. They count in the next round's budget."""
        last = self._first_open_round()
        finished = self.finished_rounds()
        if finished and finished[-1].number == last and self._reason():
            return []
        with self.store.writing() as w:
            handed = w.hand_out(last + 1, n)
        return [shown(row, self.known) for row in self.store.questions_by_id(handed).values()]

    def record(self, answers: Iterable[Answer]) -> list[int]:
        """Check, charge and write down answers, all of them or none; when this returns their numbers they are safe."""
        given = checked(list(answers), self.store, self.known, self.query.cost)
        with self.store.writing() as w:
            return w.answer(given)

    def record_each(self, answers: Sequence[Answer]) -> list[int | ShortlistError]:
        """The same for answers of several people, in one transaction: the number of each, or why it was not taken."""
        sieved = list(sifted(answers, self.store, self.known, self.query.cost))
        with self.store.writing() as w:
            numbers = iter(w.answer([one for one in sieved if not isinstance(one, ShortlistError)]))
        return [one if isinstance(one, ShortlistError) else next(numbers) for one in sieved]

    # --- the steps of a round ----------------------------------------------------------------------------------

    def _start(self) -> None:
        """The holdout, if there is one; then the first random set, which depends on the seed alone."""
        n_classes = len(self.known.classes)
        if self.settings.holdout and not self.store.rounds():
            chosen = self._rng(0, "holdout").permutation(len(self.known.keys))[: self.settings.holdout]
            rows = self._made(conventional_rows(chosen, n_classes, 0, "holdout"))
            with self.store.writing() as w:
                w.start_round(0, "asking", None, None)
                w.ask(rows)
            return
        order = self._rng(1, "initial").permutation(len(self.known.keys))
        order = order[np.isin(order, self._pool(self._resolution(), 1))]
        wanted = min(self.settings.initial, len(order))
        n = self._affordable(np.full(wanted, self.one))
        notes = [*_too_few("initial", self.settings.initial, len(order)), *self.settings.remarks()]
        ahead = order[n : n + self._reserve(1, n < wanted)]
        rows = self._made(conventional_rows(order[:n], n_classes, 1, "initial"))
        rows += self._made(conventional_rows(ahead, n_classes, 2, "ahead", "reserved"))
        with self._starting(1, notes) as w:
            w.start_round(1, "asking", None, None)
            w.ask(rows)

    def _next_round(self, last: RoundRow) -> bool:
        if last.number == 0:
            self._start()
            return True
        if self._reason():
            return self._end(last)
        self.prepare()
        with self.store.writing() as w:  # from here on none is handed out, so nothing is asked twice
            w.drop_reserved(last.number + 1)
        found = self._resolution()
        pool, early = self._pool(found, last.number + 1), self._handed_out(last.number + 1)
        if not len(pool) and not early:
            return self._end(last)
        self._select(last, pool, len(early), found)
        return True

    def _end(self, last: RoundRow) -> bool:
        """Write down, once, why the campaign is over."""
        if not self.store.is_ended(last.number):
            with self.store.writing() as w:
                w.note(last.number, "ending", self.ending or "")
        return False

    def _reason(self) -> str | None:
        return self.stop.reason(self.finished_rounds(), self.settings.budget * self.one)

    def _select(self, last: RoundRow, pool: Ints, early: int, found: Resolution) -> None:
        """Choose the round's items, `early` of which have been handed out ahead; ask D_cal, or all if there is none."""
        number, query = last.number + 1, self._priced(last).at(last.alpha, last.threshold)
        budget = self.settings.budget - early
        wanted = min(budget, len(pool))
        chosen = self._best(last, pool, wanted, found)
        probs = self.learner.probs(chosen, found)
        prices = np.asarray(query.price(probs[:wanted]), np.float64)
        n = self._affordable(np.asarray(self.query.at(last.alpha, last.threshold).price(probs[:wanted]), np.float64))
        ahead = slice(wanted, wanted + self._reserve(number, n < wanted))
        asked = Asked(
            keys=np.asarray([self.known.keys[i] for i in chosen[:n]], dtype=np.str_),
            items=chosen[:n],
            probs=probs[:n],
            calibration=draw_calibration(self.settings.seed, number, n, self.query.n_cal, early, self.settings.budget),
            prices=prices[:n],
            alpha=_nan(last.alpha),
            threshold=_nan(last.threshold),
            alpha_before=_nan(last.alpha),
            threshold_before=_nan(last.threshold),
            ahead_items=chosen[ahead],
            ahead_probs=probs[ahead],
        )
        asked.write(self.folder.asked(number))
        if asked.calibration.any():
            state = "calibrating"
            rows = self._made(planned_rows(query, asked, asked.calibration, number, "calibration", found))
        else:
            state = "asking"
            rows = self._planned(query, asked, number, found)
        with self._starting(number, _too_few("budget", budget, len(pool))) as w:
            w.start_round(number, state, last.alpha, last.threshold)
            w.ask(rows)

    def _best(self, last: RoundRow, pool: Ints, n: int, found: Resolution) -> Ints:
        """The n items to ask about and the next-ranked ones, best first."""
        number = last.number + 1
        n = min(n + self._reserve(number), len(pool))
        if not n:
            return pool[:0]
        self._restore(last)
        self._say(number, "select", f"{n} of {len(pool)} items")
        candidates = self.learner.pool(pool, self.acquisition.needs, found)
        price = self._priced(last).at(last.alpha, last.threshold).price
        picked = self.acquisition.select(candidates, n=n, rng=self._rng(number, "select"), price=price)
        return pool[checked_picks(picked, n, len(pool), type(self.acquisition).__name__)]

    def _priced(self, done: RoundRow) -> QueryDesign:
        """The query as the round after `done` decides by it."""
        return self.query if self.settings.price == "cost" else priced(self.query, self.store, done.trained_through)

    def _calibrate(self, last: RoundRow) -> None:
        """Learn from D_cal how to ask the rest. Items of it that were skipped teach nothing."""
        self._say(last.number, "calibrate")
        found = self._resolution()
        asked = Asked.read(self.folder.asked(last.number)).widened(len(self.known.classes))
        labels = np.asarray([found.labels.get(i, -1) for i in asked.items.tolist()], np.int64)
        heard = asked.calibration & (labels >= 0)
        query = self.query.at(last.alpha, last.threshold)
        if heard.any():
            before = next(row for row in self.store.rounds() if row.number == last.number - 1)
            query = self._priced(before).calibrate(asked.probs[heard], labels[heard])
        asked = replace(asked, alpha=_nan(query.alpha), threshold=_nan(query.threshold))
        asked.write(self.folder.asked(last.number))
        rows = self._planned(query, asked, last.number, found)
        with self.store.writing() as w:
            w.set_round(last.number, state="asking", alpha=query.alpha, threshold=query.threshold)
            w.ask(rows)

    def _learn(self, last: RoundRow) -> None:
        if last.number == 0:
            with self.store.writing() as w:
                w.set_round(0, state="done")
            return
        through = self.store.last_answer()
        found = self._resolution(last.number, through)
        self._say(last.number, "fit", f"{len(found.labels)} labels")
        self.prepare()
        self.learner.fit(last.number, found, self._rng(last.number, "fit"))
        self._say(last.number, "evaluate")
        result = summarise(
            self.store,
            last,
            labels=found.labels,
            n_items=len(self.known.keys),
            one=self.one,
            score=self._score(),
            seconds=time.monotonic() - self._began,
        )
        self.learner.keep(self.folder.round(last.number))
        with self.store.writing() as w:
            w.set_round(last.number, state="done", trained_through=through, result=result)
        self._began = time.monotonic()

    # --- selecting and asking ----------------------------------------------------------------------------------

    def _pool(self, found: Resolution, number: int) -> Ints:
        """Items that can be selected for this round, lowest number first."""
        free = np.ones(len(self.known.keys), np.bool_)
        early = self._handed_out(number)
        unread = self.store.unreadable()
        for taken in (found.labels, found.set_aside, found.disputed, self.store.asked_items(0), early, unread):
            free[np.fromiter(taken, np.int64, len(taken))] = False
        return np.flatnonzero(free)

    def _handed_out(self, number: int) -> list[int]:
        """Items of this round that were asked ahead."""
        return self.store.asked_items(number, "ahead")

    def _affordable(self, prices: Floats) -> int:
        """How many of the best items are expected to fit what is left to spend, at least one."""
        if self.stop.cost is None or not len(prices):
            return len(prices)
        left = self.stop.cost - ledger.spent(ledger.lines(self.store))
        return max(1, int(np.searchsorted(np.cumsum(prices), left * (1 + 1e-9), side="right")))

    def _reserve(self, number: int, is_trimmed: bool = False) -> int:
        """How many ahead questions a round may prepare: none in the last one, or where the money ends."""
        is_last = self.stop.rounds is not None and number >= self.stop.rounds
        return 0 if is_last or is_trimmed else self.settings.ahead

    def _planned(self, query: QueryDesign, asked: Asked, number: int, found: Resolution) -> list[dict[str, Any]]:
        """The questions of a round outside D_cal, and those kept ready for the next."""
        rows = self._made(planned_rows(query, asked, ~asked.calibration, number, "query", found))
        return rows + self._made(ahead_rows(query, asked, number + 1, found))

    def _made(self, rows: Rows) -> list[dict[str, Any]]:
        """Questions for people, some of them for several; before a transaction, which others would wait for."""
        listed = list(rows)
        if listed and (overlap := self.settings.overlap):
            rng = self._rng(listed[0]["round"], f"overlap {listed[0]['purpose']}")
            for row, wanted in zip(listed, overlap.wanted(len(listed), rng).tolist(), strict=True):
                row["wanted"] = wanted
        return listed

    @contextmanager
    def _starting(self, number: int, notes: Sequence[str]) -> Iterator[Writer]:
        """The transaction that starts a round, and what there is to say about it."""
        with self.store.writing() as w:
            for note in notes:
                w.note(number, "note", note)
            yield w
        for note in notes:
            self._say(number, "note", note)

    # --- learning and measuring --------------------------------------------------------------------------------

    def _resolution(self, last: int | None = None, through: int | None = None) -> Resolution:
        """What all answers come to, or those up to `through` about rounds up to `last`; the holdout left out."""
        return resolve(self.store.heard(1, last, through), self.store.resolved_together(), self._rule)

    @property
    def _rule(self) -> Rule:
        return self.settings.overlap.rule if self.settings.overlap else "majority"

    def _restore(self, row: RoundRow) -> None:
        if self.learner.round != row.number:
            found = self._resolution(row.number, row.trained_through)
            self._say(row.number, "restore", f"{len(found.labels)} labels")
            self.prepare()
            self.learner.restore(row.number, self.folder.round(row.number), found, self._rng(row.number, "fit"))

    def _score(self) -> Score | None:
        holdout = resolve(self.store.heard(0, 0), self.store.resolved_together(), self._rule)
        return self.learner.test_score() or self.learner.score_on(holdout.labels)

    def _first_open_round(self) -> int:
        """Every question of the rounds before has been answered."""
        return max((row.number for row in self.store.rounds()), default=0)

    def _rng(self, number: int, step: str) -> Rng:
        return stream(self.settings.seed, number, step)

    def _say(self, number: int, step: str, detail: str = "") -> None:
        self.watch(Step(number, step, detail))


def _too_few(what: str, wanted: int, there: int) -> list[str]:
    return [f"{what} asks for {wanted} items; the pool has {there}, all are taken"] if wanted > there else []


def _nan(number: float | None) -> float:
    return math.nan if number is None else number
