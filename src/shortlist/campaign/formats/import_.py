"""Labels from a file into a campaign, at no cost.

What people have said stands: an item that has a label, was set aside, or is disputed keeps that, unless the import is
to overwrite it, which then counts as a decision. A question that nobody has answered yet becomes an import and is
answered with it; an item that was asked before and skipped gets another answer to that question; the others get a
question of purpose "import". Items of the holdout stay in the holdout. The same import again changes nothing, so one
that was interrupted is finished by starting it again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.formats import csv_file, doccano, jsonl_file, label_studio, parquet_file
from shortlist.campaign.formats.given import Given, without_repeats
from shortlist.campaign.formats.names import Format, format_of
from shortlist.campaign.overlap import Rule, rule_of
from shortlist.campaign.questions import conventional_rows
from shortlist.campaign.resolution import live, resolve
from shortlist.campaign.schema import answers, questions
from shortlist.campaign.store import AnswerRow, QuestionRow, RoundRow, Store
from shortlist.campaign.writer import Writer
from shortlist.types import NONE, Answer, ShortlistError

READERS: dict[Format, Callable[[Path], Iterator[Given]]] = {
    "csv": csv_file.read,
    "jsonl": jsonl_file.read,
    "parquet": parquet_file.read,
    "label-studio": label_studio.read,
    "doccano": doccano.read,
    "spreadsheet": csv_file.read_spreadsheet,
}
CHUNK = 500  # items a transaction: people who answer meanwhile wait for one, not for all


def read_labels(path: Path, format: str | None = None) -> list[Given]:
    """What a file says about each item, in its order; rows without a label are left out."""
    chosen = format_of(path, format)
    try:
        return without_repeats(READERS[chosen](path))
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError as error:
        raise ShortlistError(f"{path}: is no UTF-8 (byte {error.start}); save it as UTF-8") from None


@dataclass(frozen=True)
class Imported:
    """What became of the rows."""

    written: int  # items that have their label from here
    same: int  # items that had it before
    kept: int  # items about which people have said something else
    unknown: int  # rows about no item or no class of the campaign


class _Entry(NamedTuple):
    item: int
    cls: int
    person: str
    seconds: float | None


_Fate: TypeAlias = Literal["written", "same", "kept"]


def import_labels(
    store: Store,
    rows: Sequence[Given],
    *,
    person: str | None = None,
    overwrite: bool = False,
    skip_unknown: bool = False,
    in_turn: Callable[[Callable[[], Any]], Any] = lambda work: work(),
) -> Imported:
    """Write labels down, in the name of `person` or of whom the file says. Nothing is written if a row is unknown.

    `in_turn` runs each transaction: a server has it done between people's answers.
    """
    entries = _entries(store, rows, person, skip_unknown)
    fates: Counter[_Fate] = Counter()
    for start in range(0, len(entries), CHUNK):
        fates.update(in_turn(partial(_write, store, entries[start : start + CHUNK], overwrite)))
    if fates["written"]:
        in_turn(partial(_note, store, fates["written"]))
    return Imported(fates["written"], fates["same"], fates["kept"], len(rows) - len(entries))


def _write(store: Store, entries: Sequence[_Entry], overwrite: bool) -> list[_Fate]:
    with store.writing() as w:
        w.c.exec_driver_sql("BEGIN IMMEDIATE")  # from here on nobody else writes, so what is read stays true
        return _Part(store, entries, overwrite).write(w)


def _note(store: Store, written: int) -> None:
    with store.writing() as w:
        w.note(_current_round(store.path, store.rounds()), "import", f"{written} labels")


def _entries(store: Store, rows: Sequence[Given], person: str | None, skip_unknown: bool) -> list[_Entry]:
    items = {key: i for i, key in enumerate(store.keys())}
    classes = {name: i for i, name in enumerate(store.class_names())}
    wrong = [row for row in rows if row.key not in items or row.label not in classes]
    if wrong and not skip_unknown:
        first = wrong[0]
        what = f"class {first.label!r}" if first.key in items else f"item {first.key!r}"
        more = f" ({len(wrong)} rows like this)" if len(wrong) > 1 else ""
        raise ShortlistError(
            f"{first.at}: the campaign has no {what}{more}; nothing was imported. Put it right, or skip what is "
            "unknown (--skip-unknown)"
        )
    known = (row for row in rows if row.key in items and row.label in classes)
    return [_Entry(items[r.key], classes[r.label], person or r.person or "import", r.seconds) for r in known]


def _current_round(path: Path, rounds: Sequence[RoundRow]) -> int:
    """The round that imports count in: one that will ask no further question about these items itself."""
    last = rounds[-1] if rounds else None
    if last is None or (last.number == 0 and last.state == "done"):
        raise ShortlistError(f"{path.parent}: its first round has not begun; start it, and import then")
    if last.state == "calibrating":  # the rest of the round is chosen and not yet asked
        return last.number - 1
    return max(last.number, 1)


class _Part:
    """Some items, with all that was asked and said about them."""

    def __init__(self, store: Store, entries: Sequence[_Entry], overwrite: bool) -> None:
        rounds, self.entries, self.overwrite = store.rounds(), entries, overwrite
        self.round = _current_round(store.path, rounds)
        self.n_classes = len(store.class_names())
        mine = [entry.item for entry in entries]
        said = store.answers(answers.c.item.in_(mine))
        asked = store.questions(questions.c.round.in_(list(range(rounds[-1].number + 2))), questions.c.item.in_(mine))
        rule: Rule = rule_of(store.config())
        self.found = resolve(said, {q.id: q for q in asked}, rule)
        self.asked: dict[int, list[QuestionRow]] = defaultdict(list)
        for question in asked:
            self.asked[question.item].append(question)
        self.answered = {a.question for a in said}
        self.standing: dict[tuple[int, str], AnswerRow] = {(a.question, a.person): a for a in live(said)}

    def write(self, w: Writer) -> list[_Fate]:
        """Write down what is new; what became of each entry."""
        fates = [self._fate(entry) for entry in self.entries]
        new_ones = [entry for entry, fate in zip(self.entries, fates, strict=True) if fate == "written"]
        taken = [(entry, self._question_for(entry.item)) for entry in new_ones]
        _turn_into_imports(w, [q.id for _, q in taken if q and q.round > 0 and q.id not in self.answered])
        new = _ask(w, [entry.item for entry, q in taken if q is None], self.n_classes, self.round)
        given = [self._answer(entry, q, q.id if q else new[entry.item]) for entry, q in taken]
        w.answer([(answer, entry.item, 0.0) for answer, (entry, _) in zip(given, taken, strict=True)])
        return fates

    def _fate(self, entry: _Entry) -> _Fate:
        found, item = self.found, entry.item
        if found.labels.get(item) == entry.cls:
            return "same"
        is_said = item in found.labels or item in found.set_aside or item in found.disputed
        is_ruled_out = entry.cls in found.rejected.get(item, ())
        return "kept" if (is_said or is_ruled_out) and not self.overwrite else "written"

    def _question_for(self, item: int) -> QuestionRow | None:
        """The holdout's, one that nobody has answered, or the current round's; None: there has to be a new one."""
        mine = sorted(self.asked[item], key=lambda q: q.round)
        fitting = [q for q in mine if q.round == 0]
        fitting += [q for q in mine if q.id not in self.answered]
        fitting += [q for q in mine if q.round == self.round]
        return fitting[0] if fitting else None

    def _answer(self, entry: _Entry, question: QuestionRow | None, asked: int) -> Answer:
        before = self.standing.get((asked, entry.person))
        return Answer(
            asked,
            "label",
            _path(question, entry.cls) if question else (entry.cls,),
            person=entry.person,
            active_seconds=entry.seconds,
            supersedes=before.id if before else None,
            final=self.overwrite,
        )


def _path(question: QuestionRow, cls: int) -> tuple[int, ...]:
    """The stages to a class, also to one that the question would not have asked about."""
    rank = question.classes.index(cls) if cls in question.classes else question.n_classes
    return (NONE,) * sum(rank >= cut for cut in question.cuts) + (cls,)


def _turn_into_imports(w: Writer, ids: Sequence[int]) -> None:
    """Nobody need be asked these. They keep their number and their list: one who has them on the screen may answer."""
    if ids:
        w.c.execute(questions.update().where(questions.c.id.in_(ids)).values(purpose="import", state="open", wanted=1))


def _ask(w: Writer, items: Sequence[int], n_classes: int, round: int) -> dict[int, int]:
    """Questions about these items; item -> the number of its question."""
    w.ask(conventional_rows(np.asarray(items, np.int64), n_classes, round, "import"))
    mine = sa.select(questions.c.item, questions.c.id).where(questions.c.round == round, questions.c.item.in_(items))
    return {row.item: row.id for row in w.c.execute(mine)}
