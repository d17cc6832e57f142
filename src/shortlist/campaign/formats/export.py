"""Labels to a file, with how each came about. Run twice, the file is the same.

`LABEL_COLUMNS` and `ANSWER_COLUMNS` say what the columns mean. What a file says was true at one moment, also while
people are labelling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias, cast

import sqlalchemy as sa

from shortlist.campaign.formats import FORMATS, format_of
from shortlist.campaign.formats.format import Column, Describe, Row, Sheet, by_key
from shortlist.campaign.questions.resolution import Resolution, resolve, rule_of, settled, standing
from shortlist.campaign.storage.folder import Folder
from shortlist.campaign.storage.schema import answers, meta
from shortlist.campaign.storage.store import AnswerRow, Heard, QuestionRow, Store
from shortlist.datasets.table import Given
from shortlist.system.files import replacing
from shortlist.types import NONE, ShortlistError

What: TypeAlias = Literal["labels", "all", "answers"]
CHUNK = 5000  # rows that are in memory together
OWN = ("campaign.", "people.", "server.")  # files of a campaign's folder


def export(
    folder: Path,
    target: Path,
    *,
    format: str | None = None,
    what: What = "labels",
    describe: Describe | None = None,
    given: Given | None = None,
) -> int:
    """Write a campaign's labels to `target`, or a row for every item, or every answer; how many rows.

    The ending says in which format, unless it is given. `describe` says what an item is, for formats that show items;
    without it they get its key, as a path where it looks like one of an image. The rows of a `given` table come back
    as they are, all of them, with what is known of their items behind.
    """
    target = Path(target)
    chosen = format_of(target, format)
    if (what == "answers" or given) and chosen.shows_items:
        others = ", ".join(other.name for other in FORMATS.values() if not other.shows_items)
        rows = "a given table" if given else "single answers"
        raise ShortlistError(f"{target}: {chosen.name} has a label an item; write {rows} as one of {others}")
    if target.exists() and not target.is_file():
        raise ShortlistError(f"{target}: is no ordinary file; choose another name")
    if target.resolve().parent == Path(folder).resolve() and target.name.startswith(OWN):
        raise ShortlistError(f"{target}: belongs to the campaign; choose another name")
    if not target.parent.is_dir():
        raise ShortlistError(f"{target}: there is no folder {target.parent}")
    n = 0

    def counted(rows: Iterable[Row]) -> Iterator[Row]:
        nonlocal n
        for row in rows:
            yield row
            n += 1

    try:
        with snapshot_of(Path(folder)) as store, replacing(target) as fresh:
            sheet = sheet_of(store, what, describe, given)
            chosen.write(replace(sheet, rows=counted(sheet.rows)), fresh)
    except OSError as error:
        raise ShortlistError(f"{target}: cannot be written: {error.strerror or error}") from None
    return n


# --- at one moment ---------------------------------------------------------------------------------------------


@contextmanager
def snapshot_of(folder: Path) -> Iterator[Store]:
    """The store of the campaign in a folder as it is now, however long the reading takes and whatever is written
    meanwhile: all that is read from it is one transaction."""
    with Store(Folder(folder).database, read_only=True) as store, store.engine.connect() as c:
        c.exec_driver_sql("BEGIN")
        c.execute(sa.select(meta.c.key)).all()  # the moment: SQLite's transaction begins with its first read
        # the same connection, in the same transaction, for every reader
        store.engine = cast(sa.Engine, SimpleNamespace(connect=partial(nullcontext, c)))
        yield store


# --- columns ---------------------------------------------------------------------------------------------------


_HOW = (
    Column("round", "int", "the round it was asked in; 0 is the holdout"),
    Column("purpose", "text", "holdout, initial, calibration, query, ahead or import"),
    Column("person", "text", "who answered"),
    Column("options", "texts", "the shortlist that was shown first, most probable first; null: all classes at once"),
    Column("set_size", "int", "how many classes were shown first; null: none, the label was imported"),
    Column("alpha", "float", "error rate the shortlist was made with; null: no shortlist"),
    Column("model", "int", "model version: the round whose model made the shortlist; null: no shortlist"),
    Column("path", "texts", "the answer stage by stage: null is None of the above, then the class chosen"),
    Column("cost", "float", "what the answer cost, in the campaign's unit"),
    Column("seconds", "float", "active seconds"),
    Column("wall_seconds", "float", "seconds by the clock"),
    Column("stage_seconds", "floats", "active seconds of each stage"),
    Column("note", "text", "what the person wrote beside it"),
    Column("at", "text", "when it was answered, UTC"),
    Column("decided", "bool", "a decision, which counts whatever others have said"),
)
LABEL_COLUMNS = (
    Column("key", "text", "the item"),
    Column("label", "text", "its class; null: it has none"),
    Column("status", "text", "labelled, no class, unreadable, disputed, skipped or open"),
    Column("answer", "int", "the answer that decided, and that the rest of the row is about"),
    *_HOW,
    Column("answers", "int", "how many answers the item has, those taken back not counted"),
    Column("agree", "bool", "whether they all say the same; null: fewer than two say something"),
)
ANSWER_COLUMNS = (
    Column("answer", "int", "its number, in the order answers were given"),
    Column("question", "int", "the question it answers"),
    Column("key", "text", "the item"),
    Column("kind", "text", "label, none (not any class), skip or unreadable"),
    Column("label", "text", "the class chosen; null: none"),
    *_HOW,
    Column("supersedes", "int", "the answer it takes back"),
    Column("superseded", "bool", "whether a later answer takes it back"),
)


# --- rows ------------------------------------------------------------------------------------------------------


def sheet_of(
    store: Store, what: What = "labels", describe: Describe | None = None, given: Given | None = None
) -> Sheet:
    """What an export of a campaign says, read from the store while it is written."""
    rows = _Rows(store)
    if given is not None:
        own = [_given_column(name, stored) for name, stored in given.types.items()]
        added = {free_name(column.name, given.types): column for column in LABEL_COLUMNS[1:]}  # the key is there
        names = {name: column.name for name, column in added.items()}
        columns = (*own, *(column._replace(name=name) for name, column in added.items()))
        return Sheet(columns, rows.of_given(given.rows, names), rows.names, by_key)
    listed = rows.of_answers() if what == "answers" else rows.of_labels(every=what == "all")
    columns = ANSWER_COLUMNS if what == "answers" else LABEL_COLUMNS
    return Sheet(columns, listed, rows.names, describe or by_key)


def _given_column(name: str, stored: Any) -> Column:
    """A column of the owner's: text where it is text, and otherwise as it came."""
    is_text = stored is None or str(stored) in ("string", "large_string", "string_view")
    return Column(name, "text" if is_text else "given", "as it was given", stored)


def free_name(name: str, taken: Container[str]) -> str:
    """
    >>> free_name("note", {"text", "label"}), free_name("label", {"text", "label"})
    ('note', 'shortlist_label')
    """
    return free_name(f"shortlist_{name}", taken) if name in taken else name


class _Rows:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.keys, self.names = store.keys(), store.class_names()
        self.alphas = {r.number: r.alpha for r in store.rounds()}

    def of_labels(self, *, every: bool) -> Iterator[Row]:
        """A row per labelled item, or per item at all, in item order, as the answer that decided it had it."""
        standing = standing_of(self.store)
        listed = range(len(self.keys)) if every else sorted(standing.labels)
        for start in range(0, len(listed), CHUNK):
            yield from self._labels(listed[start : start + CHUNK], standing)

    def of_given(self, given: Iterator[tuple[str, Row]], names: Mapping[str, str]) -> Iterator[Row]:
        """The rows of a table, each with the columns `names`, which stand for ours; those of no item are open."""
        standing, at = standing_of(self.store), {key: item for item, key in enumerate(self.keys)}
        while part := list(islice(given, CHUNK)):
            items = [at[key] for key, _ in part if key in at]
            told = {row["key"]: row for row in self._labels(items, standing)}
            for key, own in part:
                row = told.get(key, _NOT_ASKED)
                yield {**own, **{name: row[column] for name, column in names.items()}}

    def _labels(self, part: Sequence[int], standing: Standing) -> Iterator[Row]:
        """A few items at a time: SQLite takes only so many parameters."""
        ids = [standing.deciding[item] for item in part if item in standing.deciding]
        deciding = {a.item: a for a in self.store.answers(answers.c.id.in_(ids))}
        asked = self.store.questions_by_id({a.question for a in deciding.values()})
        for item in part:
            answer, cls = deciding.get(item), standing.labels.get(item)
            yield {
                "key": self.keys[item],
                "label": None if cls is None else self.names[cls],
                "status": "labelled" if cls is not None else standing.status.get(item, "open"),
                "answer": answer.id if answer else None,
                **(self._how(answer, asked[answer.question]) if answer else _NO_ANSWER),
                "answers": standing.counts[item],
                "agree": standing.agreed.get(item),
            }

    def of_answers(self) -> Iterator[Row]:
        """A row per answer, in the order they were given, those that were taken back too."""
        gone = {a.supersedes for a in self.store.heard(0)}
        for start in range(1, self.store.last_answer() + 1, CHUNK):
            part = self.store.answers(answers.c.id.between(start, start + CHUNK - 1))
            asked = self.store.questions_by_id({a.question for a in part})
            for answer in part:
                yield {
                    "answer": answer.id,
                    "question": answer.question,
                    "key": self.keys[answer.item],
                    "kind": answer.kind,
                    "label": None if answer.label is None else self.names[answer.label],
                    **self._how(answer, asked[answer.question]),
                    "supersedes": answer.supersedes,
                    "superseded": answer.id in gone,
                }

    def _how(self, answer: AnswerRow, question: QuestionRow) -> Row:
        shown = question.shortlist
        row: Row = {
            "round": question.round,
            "purpose": question.purpose,
            "person": answer.person,
            "options": None if shown is None else [self.names[c] for c in shown],
            "set_size": question.n_left if shown is None else len(shown),
            "alpha": None if shown is None else self.alphas.get(_calibrated_in(question)),
            "model": None if shown is None else _model_of(question),
            "path": [None if p == NONE else self.names[p] for p in answer.path],
            "cost": answer.cost,
            "seconds": answer.active_seconds,
            "wall_seconds": answer.wall_seconds,
            "stage_seconds": answer.stage_seconds,
            "note": answer.note,
            "at": answer.at,
            "decided": answer.final,
        }
        if answer.cost == 0:  # it was imported, also where there was a question: no list was shown
            row |= {"options": None, "set_size": None, "alpha": None, "model": None, "path": row["path"][-1:]}
        return row


_NO_ANSWER: Row = {column.name: None for column in _HOW}
_NOT_ASKED: Row = {**{column.name: None for column in LABEL_COLUMNS}, "status": "open", "answers": 0}


def _calibrated_in(question: QuestionRow) -> int:
    """The round whose alpha a list was made with: D_cal and what was asked ahead have the round before's."""
    return question.round if question.purpose == "query" else question.round - 1


def _model_of(question: QuestionRow) -> int:
    """The round whose model ordered a list: what is asked ahead was ranked together with the round before's items."""
    return question.round - (2 if question.purpose == "ahead" else 1)


# --- what the answers come to ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """Item by item, in numbers only: there may be a million."""

    labels: dict[int, int]
    deciding: dict[int, int]  # item -> the answer its label or its status is from
    status: dict[int, str]  # of items without a label
    counts: Counter[int]  # live answers
    agreed: dict[int, bool]  # items about which two or more say something


def standing_of(store: Store) -> Standing:
    heard, together, rule = store.heard(0), store.resolved_together(), rule_of(store.config())
    resolution, current = resolve(heard, together, rule), standing(heard)
    counting, _ = settled(current, together, rule)
    deciding = _deciding(counting, resolution)
    status = {item: _status(answer, resolution) for item, answer in deciding.items() if item not in resolution.labels}
    status |= dict.fromkeys(resolution.disputed, "disputed")
    status |= dict.fromkeys(store.unreadable().keys() - resolution.labels.keys() - status.keys(), "unreadable")
    return Standing(
        resolution.labels,
        {item: a.id for item, a in deciding.items() if status.get(item) not in ("disputed", "open")},
        status,
        Counter(a.item for a in current),
        _agreed(current),
    )


def _deciding(counting: Sequence[Heard], resolution: Resolution) -> dict[int, Heard]:
    """The last answer about each item; a skip only where nothing else was said, and for a label one that says it."""
    deciding = {a.item: a for a in counting if a.kind == "skip"}
    deciding |= {a.item: a for a in counting if a.kind != "skip"}
    deciding |= {a.item: a for a in counting if a.label is not None and resolution.labels.get(a.item) == a.label}
    return deciding


def _status(answer: Heard, resolution: Resolution) -> str:
    if answer.item in resolution.set_aside:
        return "no class" if answer.kind == "none" else "unreadable"
    return "skipped" if answer.kind == "skip" else "open"


def _agreed(current: Iterable[Heard]) -> dict[int, bool]:
    said = [(a.item, a.kind, a.label) for a in current if a.kind != "skip"]
    times, different = Counter(item for item, *_ in said), Counter(item for item, *_ in set(said))
    return {item: different[item] == 1 for item, n in times.items() if n > 1}
