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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from shortlist.campaign.accounting import floor, ledger
from shortlist.campaign.accounting.evidence import Said, have_paid, newest
from shortlist.campaign.accounting.timing import priced
from shortlist.campaign.formats.export import What, export
from shortlist.campaign.formats.format import by_dataset
from shortlist.campaign.learning.learner import Learner, checked_picks
from shortlist.campaign.questions.questions import Rows, conventional_rows, question_rows, sifted
from shortlist.campaign.questions.resolution import Resolution
from shortlist.campaign.settings import Settings
from shortlist.campaign.storage.folder import Asked, Folder
from shortlist.campaign.storage.store import Entry, RoundRow
from shortlist.campaign.view import View
from shortlist.plans import Plan, QueryDesign
from shortlist.types import Annotator, Answer, Floats, Ints, Question, Rng, Round, ShortlistError

POOL = (  # for those who write an acquisition of their own
    "in a campaign pool.probs is a stream: loop over it for batches whose .probs are (m, L), or be a Scored or a "
    "Sequential, which is given arrays; fields that `needs` does not name are None"
)
CHUNK = 1000  # questions put to an annotator, and answers written down, together


@dataclass(frozen=True)
class Recorded:
    """An answer that is safe on the disk."""

    number: int
    entry: Entry


@dataclass(frozen=True)
class Step:
    """What a campaign is doing, for `watch`."""

    round: int
    name: str  # a step of the round, or "note"
    detail: str = ""


class Campaign:
    """A labelling campaign in a folder. Start it again with the same settings and it goes on.

    Parameters
    ----------
    folder : where it is kept; made if it is not there
    settings : what it is asked to do; or, by keyword, what `Settings` is made of
    watch : is called with every `Step`
    growing : whether items that the dataset has got since the last start are taken in
    settings_by_name : the same settings, by keyword

    >>> from tempfile import TemporaryDirectory
    >>> from shortlist import CandidateSet, Digits, Entropy, Scikit, Simulated
    >>> parts = {"dataset": Digits(), "model": Scikit(), "query": CandidateSet(n_cal=20), "acquisition": Entropy()}
    >>> with TemporaryDirectory() as folder, Campaign(folder, **parts, initial=50, budget=50, rounds=2) as campaign:
    ...     rounds = list(campaign.run(Simulated(Digits().labels)))
    ...     rounds[-1].labelled, len(campaign.labels()), len(campaign.predictions())
    (100, 100, 1347)
    """

    def __init__(
        self,
        folder: str | Path,
        settings: Settings | None = None,
        *,
        watch: Callable[[Step], None] | None = None,
        growing: bool = True,
        **settings_by_name: Any,
    ) -> None:
        named = {name: value for name, value in settings_by_name.items() if value is not None}
        self.settings = settings or Settings(**named)
        self.query, self.acquisition, self.stop = self.settings.query, self.settings.acquisition, self.settings.stop
        self.schedule = self.settings.schedule
        self.folder = Folder(Path(folder).absolute())
        if not self.folder.database.exists():
            self.settings.try_model()
        self.store, self.known = self.folder.open(self.config, self.settings.dataset, growing=growing)
        self.view = View(self.store, self.known)
        self.learner = Learner(self.settings.model, self.settings.dataset, self.known)
        self.watch = watch or (lambda step: None)
        self.item_cost = ledger.conventional_item_cost(len(self.known.classes), self.query.cost)
        self._began = time.monotonic()

    @property
    def config(self) -> dict[str, Any]:
        """What was asked for, as plain values."""
        return self.settings.config

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.store.__exit__(*error)

    # --- for those who answer -----------------------------------------------------------------------------------

    def run(self, annotator: Annotator) -> Iterator[Round]:
        """Go on to the end, asking `annotator`; yields every finished round, those of earlier starts first."""
        with self.folder.alone():
            yielded = 0
            while True:
                finished = self.finished_rounds()
                yield from finished[yielded:]
                yielded = len(finished)
                self._settle(annotator)
                if not self.advance() and not self._ask(annotator):
                    return

    def _ask(self, annotator: Annotator) -> bool:
        """Put every open question to an annotator, some at a time; False if no answer came."""
        since, after, heard = self._first_open_round(), 0, 0
        while waiting := self.view.open_questions(since=since, after=after, limit=CHUNK):
            self._say(waiting[0].round, "ask", f"{len(waiting)} questions")
            received: list[Answer] = []
            shared = [row.id for row in waiting if row.wanted > 1]  # which some people may have answered already
            said = {(answer.question, answer.person) for answer in self.view.answers_to(shared)}
            answers = annotator.answer([self.view.shown(row) for row in waiting])
            try:  # what was answered is written down, also when an annotator is interrupted in the middle
                received.extend(answer for answer in answers if (answer.question, answer.person) not in said)
            finally:
                self.record(received)
            heard += len(received)
            after = waiting[-1].id
        return heard > 0

    def _settle(self, annotator: Annotator) -> None:
        """Ask for the owner's word on what people differ about, once everybody has answered."""
        if not self.settings.overlap or not hasattr(annotator, "decide"):
            return
        if not self.view.open_questions(since=self._first_open_round(), limit=1):
            self.record(annotator.decide([self.view.shown(row) for row in self.view.disputed_questions()]))

    def questions(self) -> list[Question]:
        """Work until answers are needed, and the questions that then are open; none when the campaign is over."""
        while self.advance():
            pass
        return self.open_questions()

    def advance(self) -> bool:
        """Do the next piece of work; False when answers are needed or the campaign is over."""
        with self.folder.alone():
            last = self.view.last_round()
            if last is None or (last.number == 0 and last.state == "done"):
                self._start()
                return True
            if last.state == "done":
                return self._next_round(last)
            if self.view.is_waiting(last.number, "calibration" if last.state == "calibrating" else None):
                return False
            if last.state == "calibrating":
                self._calibrate(last)
            else:
                self._learn(last)
            return True

    def read_data(self) -> None:
        """Have the model read the dataset, which other threads may do beforehand."""
        self.learner.prepare()

    def prepare(self) -> None:
        """Read what the model will learn from, and note which items cannot be read."""
        self.read_data()
        reasons: Mapping[str, str] = getattr(self.settings.dataset, "unreadable", None) or {}
        unreadable = {item: reasons[key] for item, key in enumerate(self.known.keys) if key in reasons}
        if unreadable != self.view.unreadable():
            with self.folder.alone(), self.store.writing() as w:
                w.set_unreadable(unreadable)

    @property
    def ending(self) -> str | None:
        """Why the campaign is over; None while it goes on."""
        last = self.view.last_round()
        if last is None or last.state != "done" or last.number == 0:
            return None
        if reason := self._reason():
            return reason
        number = last.number + 1
        if not len(self._pool(self._resolution(), number)) and not self._handed_out(number):
            return "every item of the pool has been asked"
        return None

    def finished_rounds(self) -> list[Round]:
        return self.view.finished()

    def open_questions(self) -> list[Question]:
        """What people can be asked now; ahead questions only once they have been handed out."""
        return [self.view.shown(row) for row in self.view.open_questions(since=self._first_open_round())]

    def ahead(self, n: int) -> list[Question]:
        """Hand out up to n questions about the next-ranked items. They count in the next round's budget."""
        last = self._first_open_round()
        finished = self.finished_rounds()
        if finished and finished[-1].number == last and self._reason():
            return []
        with self.store.writing() as w:
            handed = w.hand_out(last + 1, n)
        return [self.view.shown(row) for row in self.view.questions_by_id(handed).values()]

    def record(self, answers: Iterable[Answer]) -> list[int]:
        """Check, charge and write down answers, all of them or none; when this returns their numbers they are safe."""
        entries = []
        for entry in sifted(list(answers), self.view, self.known, self.query.cost):
            if isinstance(entry, ShortlistError):
                raise entry
            entries.append(entry)
        with self.store.writing() as w:
            return w.answer(entries)

    def record_each(self, answers: Sequence[Answer]) -> list[Recorded | ShortlistError]:
        """The same for answers of several people, in one transaction: each as it was kept, or why it was not taken."""
        entries = list(sifted(answers, self.view, self.known, self.query.cost))
        with self.store.writing() as w:
            numbers = iter(w.answer([entry for entry in entries if isinstance(entry, Entry)]))
        return [Recorded(next(numbers), entry) if isinstance(entry, Entry) else entry for entry in entries]

    # --- what it has come to -----------------------------------------------------------------------------------

    def labels(self) -> dict[str, str]:
        """Item key → class name, of everything that has a label now."""
        return self.view.labels()

    def predictions(self) -> dict[str, tuple[str, float]]:
        """Item key → most probable class and its probability, of every item, by the model of the last finished round.

        None of them before a round is finished.
        """
        done = [row for row in self.view.rounds() if row.result is not None]
        if not done:
            return {}
        self._restore(done[-1])
        items = np.setdiff1d(np.arange(len(self.known.keys)), list(self.view.unreadable()))
        names, keys = self.known.classes, self.known.keys
        best, probs = self.learner.most_probable(items, self._resolution())
        rows = zip(items.tolist(), best.tolist(), probs.tolist(), strict=True)
        return {keys[item]: (names[cls], prob) for item, cls, prob in rows}

    def export(self, target: str | Path, *, format: str | None = None, what: What = "labels") -> int:
        """Write labels (or `all` items, or single `answers`) to a file, as `shortlist export` does; how many rows."""
        describe = by_dataset(self.settings.dataset)
        return export(self.folder.path, Path(target), format=format, what=what, describe=describe)

    # --- the steps of a round ----------------------------------------------------------------------------------

    def _start(self) -> None:
        """The holdout, if there is one; then the first random set, which depends on the seed alone."""
        n_classes = len(self.known.classes)
        if self.settings.holdout and not self.view.rounds():
            order = self._rng(0, "holdout").permutation(len(self.known.keys))
            chosen = order[np.isin(order, self._pool(self._resolution(), 0))][: self.settings.holdout]
            self._begin(0, "asking", self._made(conventional_rows(chosen, n_classes, 0, "holdout")))
            return
        order = self._rng(1, "initial").permutation(len(self.known.keys))
        order = order[np.isin(order, self._pool(self._resolution(), 1))]
        first = self.schedule.first_batch(known=len(self._resolution().labels))
        wanted = min(first, len(order))
        n = self._affordable(np.full(wanted, self.item_cost))
        notes = [*_too_few("initial", first, len(order)), *self.settings.remarks()]
        ahead = order[n : n + self._reserve(1, n, n < wanted)]
        rows = self._made(conventional_rows(order[:n], n_classes, 1, "initial"))
        rows += self._made(conventional_rows(ahead, n_classes, 2, "ahead", "reserved"))
        self._begin(1, "asking", rows, notes=notes)

    def _next_round(self, last: RoundRow) -> bool:
        if self._reason():
            return self._end(last)
        self.prepare()
        with self.store.writing() as w:  # from here on none is handed out, so nothing is asked twice
            w.drop_reserved(last.number + 1)
        resolution = self._resolution()
        pool, early = self._pool(resolution, last.number + 1), self._handed_out(last.number + 1)
        if not len(pool) and not early:
            return self._end(last)
        self._select(last, pool, len(early), resolution)
        return True

    def _end(self, last: RoundRow) -> bool:
        """Write down, once, why the campaign is over."""
        if self.view.ending() is None:
            with self.store.writing() as w:
                w.note(last.number, "ending", self.ending or "")
        return False

    def _reason(self) -> str | None:
        return self.stop.reason(self.finished_rounds(), self.schedule.most * self.item_cost)

    def _select(self, last: RoundRow, pool: Ints, early: int, resolution: Resolution) -> None:
        """Choose the round's items, `early` of which have been handed out ahead; ask D_cal, or all if there is none."""
        number, state = last.number + 1, last.query if self._lists_pay(last) else None
        query, batch = self._priced(last).restored(state), self.schedule.batch(len(resolution.labels))
        budget = max(batch - early, 0)
        wanted = min(budget, len(pool))
        chosen = self._best(last, query, pool, wanted, resolution)
        probs = self.learner.probs(chosen, resolution)
        prices = _prices(query, probs[:wanted])
        charges = prices
        if self.settings.price != "cost":  # items are charged by the query's cost, whatever they are selected by
            charges = _prices(self.query.restored(state), probs[:wanted])
        n = self._affordable(charges)
        ahead = slice(wanted, wanted + self._reserve(number, n, n < wanted))
        before = {name: _nan((state or {}).get(name)) for name in ("alpha", "threshold")}
        asked = Asked(
            keys=np.asarray([self.known.keys[i] for i in chosen[:n]], dtype=np.str_),
            items=chosen[:n],
            probs=probs[:n],
            calibration=self.view.draws.calibration(number, chosen[:n], self.query.n_cal, early, batch),
            prices=prices[:n],
            **before,
            **{f"{name}_before": value for name, value in before.items()},
            ahead_items=chosen[ahead],
            ahead_probs=probs[ahead],
        )
        asked.write(self.folder.asked(number))
        if asked.calibration.any():
            step = "calibrating"
            cal = asked.calibration
            plan = _plan(query, asked.probs[cal])
            rows = self._made(question_rows(plan, asked.items[cal], number, "calibration", resolution.rejected))
        else:
            step = "asking"
            rows = self._rest(query, asked, number, resolution)
        self._begin(number, step, rows, state, notes=_too_few("budget", budget, len(pool)))

    def _best(self, last: RoundRow, query: QueryDesign, pool: Ints, n: int, resolution: Resolution) -> Ints:
        """The n items to ask about and the next-ranked ones, best first."""
        number = last.number + 1
        n = min(n + self._reserve(number, n), len(pool))
        if not n:
            return pool[:0]
        self._restore(last)
        self._say(number, "select", f"{n} of {len(pool)} items")
        candidates = self.learner.pool(pool, self.acquisition.needs, resolution)
        rng, name = self._rng(number, "select"), type(self.acquisition).__name__
        try:
            picked = self.acquisition.select(candidates, n=n, rng=rng, price=query.price)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ShortlistError(f"{name}: select fails ({type(error).__name__}: {error}); {POOL}") from error
        return pool[checked_picks(picked, n, len(pool), name)]

    def _priced(self, done: RoundRow) -> QueryDesign:
        """The query as the round after `done` decides by it."""
        if self.settings.price == "cost":
            return self.query
        return priced(self.query, self.view.times(done.trained_through))

    def _calibrate(self, last: RoundRow) -> None:
        """Learn from D_cal how to ask the rest. Items of it that were skipped teach nothing."""
        self._say(last.number, "calibrate")
        resolution = self._resolution()
        asked = self.view.asked(last.number).widened(len(self.known.classes))
        labels = np.asarray([resolution.labels.get(i, -1) for i in asked.items.tolist()], np.int64)
        answered = asked.calibration & (labels >= 0)
        query = self.query.restored(last.query)
        before = next(row for row in self.view.rounds() if row.number == last.number - 1)
        if answered.any():
            query = self._priced(before).calibrate(asked.probs[answered], labels[answered])
        state = query.state or {}
        asked = replace(asked, alpha=_nan(state.get("alpha")), threshold=_nan(state.get("threshold")))
        asked.write(self.folder.asked(last.number))
        shown = query if self._lists_pay(before) else self.query.restored(None)
        rows = self._rest(shown, asked, last.number, resolution)
        with self.store.writing() as w:
            w.set_round(last.number, state="asking")
            w.set_query(last.number, query.state)
            w.ask(rows)

    def _learn(self, last: RoundRow) -> None:
        if last.number == 0:
            with self.store.writing() as w:
                w.set_round(0, state="done")
            return
        through = self.view.last_answer()
        resolution = self._resolution(last.number, through)
        if self.learner.listens:
            self._tell(last.number, resolution)
        self._say(last.number, "fit", f"{len(resolution.labels)} labels")
        self.prepare()
        self.learner.fit(last.number, resolution, self._rng(last.number, "fit"))
        self._say(last.number, "evaluate")
        score = self.learner.score(self.view.resolution(0, 0).labels)
        least = floor.kept(self.view, last.number, through)
        seconds = time.monotonic() - self._began
        result = self.view.outcome(last, resolution.labels, self.item_cost, seconds=seconds, floor=least, **score)
        self.learner.keep(self.folder.round(last.number))
        query = self._learnt_without_asking(last, through, resolution)
        with self.store.writing() as w:
            w.set_round(last.number, state="done", trained_through=through, result=result)
            if query is not None:
                w.set_query(last.number, query.state)
        self._began = time.monotonic()

    def _tell(self, number: int, resolution: Resolution) -> None:
        """Have the model of the round before say what it thinks of the new answers' items, before it is replaced."""
        before = [row for row in self.view.rounds() if row.number < number and row.result is not None]
        if before:
            self._restore(before[-1])
            self.learner.tell(resolution)

    # --- what queries learn without asking for it --------------------------------------------------------------

    def _learnt_without_asking(self, last: RoundRow, through: int, resolution: Resolution) -> QueryDesign | None:
        """The query as the next round asks with it, if it spends no question on calibration."""
        if self.query.n_cal:
            return None
        said = self.learner.held_out() or newest(self._said(number, resolution) for number in range(last.number, 1, -1))
        if not len(said):
            return None
        self._say(last.number, "calibrate", f"{len(said)} answers")
        return self._priced(replace(last, trained_through=through)).calibrate(said.probs, said.labels)

    def _said(self, number: int, resolution: Resolution) -> Said:
        """What the model said of a round's items before they were answered."""
        asked = self.view.asked(number).widened(len(self.known.classes))
        labels = np.asarray([resolution.labels.get(i, -1) for i in asked.items.tolist()], np.int64)
        return Said(asked.probs[labels >= 0], labels[labels >= 0])

    def _lists_pay(self, last: RoundRow) -> bool:
        """False once a guarded query's lists have cost more than asking conventionally would have."""
        if not getattr(self.query, "guard", False):
            return True
        states, resolution = {row.number: row.query for row in self.view.rounds()}, self._resolution()
        learnt = 0 if self.query.n_cal else 1  # how many rounds before a round what its lists were made with was learnt
        rounds = range(last.number, 1, -1)
        return have_paid((self.query.restored(states[n - learnt]), self._said(n, resolution)) for n in rounds)

    # --- selecting and asking ----------------------------------------------------------------------------------

    def _pool(self, resolution: Resolution, number: int) -> Ints:
        """Items that can be selected for this round, lowest number first."""
        free = np.ones(len(self.known.keys), np.bool_)
        settled = (resolution.labels, resolution.set_aside, resolution.disputed)
        for taken in (*settled, self.view.asked_items(0), self._handed_out(number), self.view.unreadable()):
            free[np.fromiter(taken, np.int64, len(taken))] = False
        return np.flatnonzero(free)

    def _handed_out(self, number: int) -> list[int]:
        """Items of this round that were asked ahead."""
        return self.view.asked_items(number, "ahead")

    def _affordable(self, prices: Floats) -> int:
        """How many of the best items are expected to fit what is left to spend, at least one."""
        if self.stop.cost is None or not len(prices):
            return len(prices)
        left = self.stop.cost - self.view.spent()
        return max(1, int(np.searchsorted(np.cumsum(prices), left * (1 + 1e-9), side="right")))

    def _reserve(self, number: int, asked: int, is_trimmed: bool = False) -> int:
        """How many ahead questions a round that asks so many may prepare for the next: none in the last one, or where
        the money ends."""
        is_last = self.stop.rounds is not None and number >= self.stop.rounds
        if is_last or is_trimmed or not self.settings.ahead:
            return 0
        following = self.schedule.batch(len(self._resolution().labels) + asked) - self.query.n_cal
        return max(0, min(self.settings.ahead, following))

    def _rest(self, query: QueryDesign, asked: Asked, number: int, resolution: Resolution) -> list[dict[str, Any]]:
        """The questions of a round outside D_cal, and those kept ready for the next."""
        rest, gone = ~asked.calibration, resolution.rejected
        rows = question_rows(_plan(query, asked.probs[rest]), asked.items[rest], number, "query", gone)
        ahead = question_rows(_plan(query, asked.ahead_probs), asked.ahead_items, number + 1, "ahead", gone, "reserved")
        return self._made(rows) + self._made(ahead)

    def _made(self, rows: Rows) -> list[dict[str, Any]]:
        """Questions for people, some of them for several; before a transaction, which others would wait for."""
        listed = list(rows)
        if listed and (overlap := self.settings.overlap):
            rng = self._rng(listed[0]["round"], f"overlap {listed[0]['purpose']}")
            for row, wanted in zip(listed, overlap.wanted(len(listed), rng).tolist(), strict=True):
                row["wanted"] = wanted
        return listed

    def _begin(
        self,
        number: int,
        state: str,
        rows: Sequence[dict[str, Any]],
        query: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """The transaction that starts a round, with its first questions and what there is to say about it."""
        with self.store.writing() as w:
            for note in notes:
                w.note(number, "note", note)
            w.start_round(number, state, query)
            w.ask(rows)
        for note in notes:
            self._say(number, "note", note)

    # --- learning and measuring --------------------------------------------------------------------------------

    def _resolution(self, last: int | None = None, through: int | None = None) -> Resolution:
        """What all answers come to, or those up to `through` about rounds up to `last`; the holdout left out."""
        return self.view.resolution(1, last, through)

    def _restore(self, row: RoundRow) -> None:
        if self.learner.round != row.number:
            resolution = self._resolution(row.number, row.trained_through)
            self._say(row.number, "restore", f"{len(resolution.labels)} labels")
            self.prepare()
            self.learner.restore(row.number, self.folder.round(row.number), resolution, self._rng(row.number, "fit"))

    def _first_open_round(self) -> int:
        """Every question of the rounds before has been answered."""
        last = self.view.last_round()
        return last.number if last else 0

    def _rng(self, number: int, step: str) -> Rng:
        return self.view.draws.rng(number, step)

    def _say(self, number: int, step: str, detail: str = "") -> None:
        self.watch(Step(number, step, detail))


def _prices(query: QueryDesign, probs: Any) -> Floats:
    """(n,) what the query expects each item to cost, if that is what it gives."""
    prices = np.asarray(query.price(probs), np.float64)
    if prices.shape != (len(probs),):
        wanted = f"one number an item, an array of shape ({len(probs)},)"
        raise ShortlistError(f"{type(query).__name__}: price has to give {wanted}, got shape {prices.shape}")
    return prices


def _plan(query: QueryDesign, probs: Any) -> Plan:
    """What the query makes of the items, if that is a plan for them."""
    plan = query.plan(probs)
    if not isinstance(plan, Plan) or len(plan) != len(probs):
        got = f"one of {len(plan)}" if isinstance(plan, Plan) else type(plan).__name__
        wanted = f"a Plan of {len(probs)} items (shortlist.plans has `shortlisted` and `nested`)"
        raise ShortlistError(f"{type(query).__name__}: plan has to give {wanted}, got {got}")
    return plan


def _too_few(what: str, wanted: int, there: int) -> list[str]:
    return [f"{what} asks for {wanted} items; the pool has {there}, all are taken"] if wanted > there else []


def _nan(number: float | None) -> float:
    return math.nan if number is None else number
