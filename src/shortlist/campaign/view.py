"""How everything outside a campaign reads it: what was asked, answered, paid and decided, at any moment."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shortlist.campaign.accounting import ledger
from shortlist.campaign.accounting.timing import TIMED, Timed
from shortlist.campaign.questions.resolution import Resolution, resolve, rule_of, standing
from shortlist.campaign.randomness import Draws
from shortlist.campaign.storage.folder import Asked, Folder, Identities
from shortlist.campaign.storage.store import AnswerRow, QuestionRow, Reader, RoundRow, Store
from shortlist.types import Question, Round


class View(Reader):
    """A campaign's database and what it means. Nothing is kept: every call reads what is true now.

    `ids` says which items and classes of the dataset the campaign's numbers stand for; one that was opened by its
    folder alone has none, and names them by `keys()` and `class_names()`.
    """

    def __init__(self, reader: Reader, ids: Identities | None = None) -> None:
        self.path, self.engine, self._ids = reader.path, reader.engine, ids

    @classmethod
    @contextmanager
    def of(cls, folder: str | Path) -> Iterator[View]:
        """A campaign in a folder, finished, running or killed; it is not written to."""
        with Store(Folder(Path(folder)).database, read_only=True) as store:
            yield cls(store)

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def ids(self) -> Identities:
        if self._ids is None:
            raise RuntimeError("a campaign read without its dataset has no positions in it")
        return self._ids

    @cached_property
    def draws(self) -> Draws:
        return Draws(int(self.config()["seed"]), self.draws_version())

    # --- rounds ------------------------------------------------------------------------------------------------

    def last_round(self) -> RoundRow | None:
        return next(reversed(self.rounds()), None)

    def finished(self) -> list[Round]:
        """Rounds that are done, in order. The lists of those that earlier versions finished are counted anew."""
        done = [row.result for row in self.rounds() if row.result is not None]
        return [round if round.lists is not None else replace(round, **self.lists(round.number)) for round in done]

    def asked(self, number: int) -> Asked:
        """What the model said about the items of a round."""
        return Asked.read(Folder(self.folder).asked(number))

    def notes(self) -> list[str]:
        return [detail for _, step, detail in self.events() if step == "note"]

    def ending(self) -> str | None:
        """Why the campaign was over after its last round; one that has gone on since is not."""
        last = self.last_round()
        reasons = [detail for round, step, detail in self.events() if last and (round, step) == (last.number, "ending")]
        return reasons[-1] if reasons else None

    # --- questions and answers ---------------------------------------------------------------------------------

    def question(self, id: int) -> QuestionRow | None:
        return self.questions_by_id([id]).get(id)

    def shown(self, row: QuestionRow) -> Question:
        """A question in the dataset's own numbers."""
        classes = self.ids.dataset_class
        return Question(
            id=row.id,
            round=row.round,
            item=int(self.ids.positions[row.item]),
            key=self.ids.keys[row.item],
            purpose=row.purpose,
            classes=tuple(classes[list(row.classes)].tolist()),
            cuts=row.cuts,
            n_classes=row.n_classes,
            exhaustive=row.exhaustive,
            rejected=tuple(classes[list(row.rejected)].tolist()),
            wanted=row.wanted,
        )

    def standing(self) -> list[AnswerRow]:
        """Every answer that no later one takes back."""
        return standing(self.answers())

    def votes(self) -> dict[int, dict[str, Any]]:
        """Item → person → class or kind, where several people were asked; skips are no votes."""
        shared = {id for id, question in self.resolved_together().items() if question.wanted > 1}
        votes: dict[int, dict[str, Any]] = defaultdict(dict)
        for answer in standing(self.answers_to(shared)):
            if answer.kind != "skip" and not answer.final:
                votes[answer.item][answer.person] = answer.kind if answer.label is None else answer.label
        return votes

    def resolution(self, first: int = 1, last: int | None = None, through: int | None = None) -> Resolution:
        """What the answers about rounds from first to last come to, up to the answer `through`; 0 is the holdout."""
        return resolve(self.heard(first, last, through), self.resolved_together(), rule_of(self.config()))

    def disputed_questions(self) -> list[QuestionRow]:
        """Those that people differ about, until the owner has decided."""
        disputed = self.resolution(first=0).disputed
        return [question for question in self.resolved_together().values() if question.item in disputed]

    def labels(self) -> dict[str, str]:
        """Item key → class name, of everything that has a label now."""
        keys, names = self.keys(), self.class_names()
        return {keys[item]: names[cls] for item, cls in sorted(self.resolution(first=0).labels.items())}

    # --- costs -------------------------------------------------------------------------------------------------

    def ledger(self) -> list[ledger.Line]:
        return ledger.lines(self.costs())

    def spent(self) -> float:
        return ledger.spent(self.ledger())

    def outcome(self, row: RoundRow, labels: Collection[int], item_cost: float, **measured: Any) -> Round:
        """A round in numbers: `labels` are the items that have one, `item_cost` is what one costs conventionally, and
        `measured` are its seconds, its floor and how good its model is."""
        paid = [line for line in self.ledger() if line.round <= row.number]
        cost = ledger.spent(paid)
        # as many conventional questions bring the same: one for every time that a person settled an item, also where
        # several did, and one for every item that others ruled out all classes of but one; imports cost nothing
        given, imported = self.settled(row.number), self.settled(row.number, by_import=True)
        n_conventional = len(given) + len(set(labels) - set(given) - set(imported))
        return Round(
            number=row.number,
            labelled=len(labels),
            asked=len(self.asked_items(row.number)),
            cost=cost,
            relative_cost=cost / (self.n_items() * item_cost),
            conventional_cost=n_conventional * item_cost,
            holdout_cost=math.fsum(line.cost for line in paid if line.purpose == "holdout"),
            alpha=row.alpha,
            threshold=row.threshold,
            **self.lists(row.number),
            **measured,
        )

    def times(self, through: int | None = None) -> Timed:
        """Every timed stage of an answer for which all options were read, up to the answer `through`."""
        times = Timed()
        for question, seconds in self.timed(TIMED, through):
            times.add(question, seconds)
        return times
