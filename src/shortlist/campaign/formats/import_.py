"""Labels from a file into a campaign, at no cost.

What people have said stands: an item that has a label, was set aside, or is disputed keeps that, unless the import is
to overwrite it, which then counts as a decision. A question without an answer becomes an import and is
answered with it; an item that was asked before and skipped gets another answer to that question; the others get a
question of purpose "import". Items of the holdout stay in the holdout. The same import again changes nothing, so one
that was interrupted is finished by starting it again.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import sqlalchemy as sa

from shortlist.campaign.formats import format_of
from shortlist.campaign.formats.format import READ, FileLabel
from shortlist.campaign.questions.questions import conventional_rows
from shortlist.campaign.questions.resolution import resolve, rule_of, standing
from shortlist.campaign.storage.folder import Folder
from shortlist.campaign.storage.schema import answers, questions
from shortlist.campaign.storage.store import AnswerRow, Entry, QuestionRow, RoundRow, Store, Writer
from shortlist.types import Answer, ShortlistError

CHUNK = 500  # items a transaction: people who answer meanwhile wait for one, not for all


# --- what a file says ------------------------------------------------------------------------------------------


def read_labels(
    path: Path, format: str | None = None, *, key: str | None = None, label: str | None = None
) -> list[FileLabel]:
    """The labels in a file, in its order; rows without one are left out, and an item is there once.

    `key` and `label` are the columns of a table, where they have other names than that.
    """
    chosen, columns = format_of(path, format), {"key": key, "label": label}
    named = [name for name, column in columns.items() if column is not None]
    if named and chosen.shows_items:
        raise ShortlistError(f"{path}: {chosen.name} has its own place for the {named[0]}; --{named[0]} is for tables")
    there = (path, [columns.get(name) or name for name in READ]) if named else (path,)
    try:
        return _without_repeats(_checked(row) for row in chosen.read(*there) if not _is_empty(row.label))
    except OSError as error:
        raise ShortlistError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError as error:
        raise ShortlistError(f"{path}: is no UTF-8 (byte {error.start}); save it as UTF-8") from None


def _checked(row: FileLabel) -> FileLabel:
    at, key, label, person, seconds = row
    if _is_empty(key):
        raise ShortlistError(f"{at}: there is a label ({label!r}) and no key that says of which item")
    who = None if _is_empty(person) else _text(at, "person", person)
    return FileLabel(at, _text(at, "key", key), _text(at, "label", label), who, _seconds(at, seconds))


def _is_empty(value: Any) -> bool:
    return value is None or value == ""


def _text(at: str, what: str, value: Any) -> str:
    """A name; numbers are names too, as a column of them is read as numbers."""
    if isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ShortlistError(f"{at}: {what} is {value!r}, which is no text")


def _seconds(at: str, value: Any) -> float | None:
    if _is_empty(value):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, bool) or not math.isfinite(seconds) or seconds < 0:
        raise ShortlistError(f"{at}: seconds is {value!r}, which is no time")
    return seconds


def _without_repeats(rows: Iterable[FileLabel]) -> list[FileLabel]:
    """Each item once; a file that says two things about one is refused."""
    first: dict[str, FileLabel] = {}
    for row in rows:
        before = first.setdefault(row.key, row)
        if before.label != row.label:
            raise ShortlistError(
                f"{row.at} says that {row.key!r} is {row.label!r}, and {before.at} that it is {before.label!r}; "
                "keep one of them"
            )
    return list(first.values())


# --- into a campaign -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Imported:
    """What became of the rows."""

    written: int  # items that have their label from here
    same: int  # items that had it before
    kept: int  # items about which people have said something else
    unknown: int  # rows about no item or no class of the campaign
    refused: tuple[str, ...] = field(default=(), compare=False)  # which, and why


class _Known(NamedTuple):
    """A label in the campaign's own numbers."""

    item: int
    cls: int
    person: str
    seconds: float | None


_Fate: TypeAlias = Literal["written", "same", "kept"]


def import_labels(
    folder: Path,
    rows: Sequence[FileLabel],
    *,
    person: str | None = None,
    overwrite: bool = False,
    skip_unknown: bool = False,
    in_turn: Callable[[Callable[[], Any]], Any] = lambda work: work(),
) -> Imported:
    """Write labels into the campaign of a folder, in the name of `person` or of whom the file names.

    Nothing is written if a row is unknown. `in_turn` runs each transaction: a server has it done between people's
    answers.
    """
    with Store(Folder(folder).database) as store:
        entries, refused = _known(store, rows, person, skip_unknown)
        fates: Counter[_Fate] = Counter()
        for start in range(0, len(entries), CHUNK):
            fates.update(in_turn(partial(_write, store, entries[start : start + CHUNK], overwrite)))
        if fates["written"]:
            in_turn(partial(_note, store, fates["written"]))
    return Imported(fates["written"], fates["same"], fates["kept"], len(refused), tuple(refused))


def _write(store: Store, entries: Sequence[_Known], overwrite: bool) -> list[_Fate]:
    with store.writing() as w:
        w.c.exec_driver_sql("BEGIN IMMEDIATE")  # the only writer from here on, so what is read stays true
        return _Part(store, entries, overwrite).write(w)


def _note(store: Store, written: int) -> None:
    with store.writing() as w:
        w.note(_current_round(store.path, store.rounds()), "import", f"{written} labels")


def _known(
    store: Store, rows: Sequence[FileLabel], person: str | None, skip_unknown: bool
) -> tuple[list[_Known], list[str]]:
    """The rows about items and classes that are here, and what is wrong with the others."""
    items = {key: i for i, key in enumerate(store.keys())}
    classes = {name: i for i, name in enumerate(store.class_names())}
    known, refused = [], []
    for row in rows:
        if row.key in items and row.label in classes:
            known.append(_Known(items[row.key], classes[row.label], person or row.person or "import", row.seconds))
        else:
            what = f"class {row.label!r}" if row.key in items else f"item {row.key!r}"
            refused.append(f"{row.at}: the campaign has no {what}")
    if refused and not skip_unknown:
        raise ShortlistError(
            f"{some_of(refused)}; nothing was imported. Put it right, or skip what is unknown (--skip-unknown)"
        )
    return known, refused


def some_of(lines: Sequence[str], most: int = 10) -> str:
    """The first lines, and how many there are besides.

    >>> some_of(["row 2: no", "row 5: no", "row 9: no"], most=2)
    'row 2: no;\\nrow 5: no;\\nand 1 more rows like these'
    """
    more = [f"and {len(lines) - most:,} more rows like these"] if len(lines) > most else []
    return ";\n".join([*lines[:most], *more])


def _current_round(path: Path, rounds: Sequence[RoundRow]) -> int:
    """The round that imports count in: one that will ask no further question about these items itself."""
    last = rounds[-1] if rounds else None
    if last is None:  # known before the first question
        return 1
    if last.number == 0 and last.state == "done":
        raise ShortlistError(f"{path.parent}: its first round has not begun; start it, and import then")
    if last.state == "calibrating":  # the rest of the round is chosen and not yet asked
        return last.number - 1
    return max(last.number, 1)


class _Part:
    """Some items, with all that was asked and said about them."""

    def __init__(self, store: Store, entries: Sequence[_Known], overwrite: bool) -> None:
        rounds, self.entries, self.overwrite = store.rounds(), entries, overwrite
        self.round = _current_round(store.path, rounds)
        self.n_classes = len(store.class_names())
        mine = [entry.item for entry in entries]
        heard = store.answers(answers.c.item.in_(mine))
        numbers = sorted(
            {0, 1, *(r.number for r in rounds), *(r.number + 1 for r in rounds[-1:])}
        )  # the index begins with the round
        asked = store.questions(questions.c.round.in_(numbers), questions.c.item.in_(mine))
        self.resolution = resolve(heard, {q.id: q for q in asked}, rule_of(store.config()))
        self.asked: dict[int, list[QuestionRow]] = defaultdict(list)
        for question in asked:
            self.asked[question.item].append(question)
        self.answered = {a.question for a in heard}
        self.standing: dict[tuple[int, str], AnswerRow] = {(a.question, a.person): a for a in standing(heard)}

    def write(self, w: Writer) -> list[_Fate]:
        """Write down what is new; what became of each entry."""
        fates = [self._fate(entry) for entry in self.entries]
        new_ones = [entry for entry, fate in zip(self.entries, fates, strict=True) if fate == "written"]
        taken = [(entry, self._question_for(entry.item)) for entry in new_ones]
        # what need no longer be asked keeps its number and its list: a person who sees it may answer it
        unanswered = questions.c.id.in_([q.id for _, q in taken if q and q.round > 0 and q.id not in self.answered])
        w.c.execute(questions.update().where(unanswered).values(purpose="import", state="open", wanted=1))
        items = [entry.item for entry, q in taken if q is None]
        w.ask(conventional_rows(np.asarray(items, np.int64), self.n_classes, self.round, "import"))
        mine = (questions.c.round == self.round, questions.c.item.in_(items))
        new = {row.item: row.id for row in w.c.execute(sa.select(questions.c.item, questions.c.id).where(*mine))}
        answered = [self._answer(entry, q, q.id if q else new[entry.item]) for entry, q in taken]
        w.answer([Entry(answer, entry.item, 0.0) for answer, (entry, _) in zip(answered, taken, strict=True)])
        return fates

    def _fate(self, entry: _Known) -> _Fate:
        known, item = self.resolution, entry.item
        if known.labels.get(item) == entry.cls:
            return "same"
        is_said = item in known.labels or item in known.set_aside or item in known.disputed
        is_ruled_out = entry.cls in known.rejected.get(item, ())
        return "kept" if (is_said or is_ruled_out) and not self.overwrite else "written"

    def _question_for(self, item: int) -> QuestionRow | None:
        """The holdout's, one without an answer, or the current round's; None: there has to be a new one."""
        mine = sorted(self.asked[item], key=lambda q: q.round)
        fitting = [q for q in mine if q.round == 0]
        fitting += [q for q in mine if q.id not in self.answered]
        fitting += [q for q in mine if q.round == self.round]
        return fitting[0] if fitting else None

    def _answer(self, entry: _Known, question: QuestionRow | None, asked: int) -> Answer:
        before = self.standing.get((asked, entry.person))
        return Answer(
            asked,
            "label",
            question.path_to(entry.cls, decided=True) if question else (entry.cls,),
            person=entry.person,
            active_seconds=entry.seconds,
            supersedes=before.id if before else None,
            final=self.overwrite,
        )
