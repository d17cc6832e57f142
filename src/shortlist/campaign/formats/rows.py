"""What a row of an export says: a label and how it came about, or a single answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from shortlist.campaign.formats.content import Describe, by_key
from shortlist.campaign.overlap import rule_of
from shortlist.campaign.resolution import Resolution, live, resolve, settled
from shortlist.campaign.schema import answers
from shortlist.campaign.store import AnswerRow, Heard, QuestionRow, Store
from shortlist.types import NONE

Row: TypeAlias = dict[str, Any]
What: TypeAlias = Literal["labels", "all", "answers"]
CHUNK = 5000  # rows that are in memory together


class Column(NamedTuple):
    name: str
    kind: Literal["text", "int", "float", "bool", "texts", "floats"]
    says: str


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


@dataclass(frozen=True)
class Sheet:
    """Rows to write, one after the other; `classes` and `describe` for formats that show items and options."""

    columns: Sequence[Column]
    rows: Iterable[Row]
    classes: Sequence[str] = ()
    describe: Describe = by_key


def sheet_of(store: Store, what: What = "labels", describe: Describe | None = None) -> Sheet:
    """What an export of a campaign says, read from the store while it is written."""
    told = _Told(store)
    rows = told.answer_rows() if what == "answers" else told.label_rows(every=what == "all")
    columns = ANSWER_COLUMNS if what == "answers" else LABEL_COLUMNS
    return Sheet(columns, rows, told.names, describe or by_key)


class _Told:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.keys, self.names = store.keys(), store.class_names()
        self.alphas = {r.number: r.alpha for r in store.rounds()}

    def label_rows(self, *, every: bool) -> Iterator[Row]:
        """A row per labelled item, or per item at all, in item order, as the answer that decided it had it."""
        standing = standing_of(self.store)
        listed = range(len(self.keys)) if every else sorted(standing.labels)
        for start in range(0, len(listed), CHUNK):
            part = listed[start : start + CHUNK]
            ids = [standing.deciding[item] for item in part if item in standing.deciding]
            deciding = {a.item: a for a in self.store.answers(answers.c.id.in_(ids))}
            asked = self.store.questions_by_id({a.question for a in deciding.values()})
            for item in part:
                yield self._label_row(item, standing, deciding.get(item), asked)

    def _label_row(self, item: int, standing: Standing, answer: AnswerRow | None, asked: dict[int, QuestionRow]) -> Row:
        cls = standing.labels.get(item)
        return {
            "key": self.keys[item],
            "label": None if cls is None else self.names[cls],
            "status": "labelled" if cls is not None else standing.status.get(item, "open"),
            "answer": answer.id if answer else None,
            **(self._how(answer, asked[answer.question]) if answer else _NO_ANSWER),
            "answers": standing.counts[item],
            "agree": standing.agreed.get(item),
        }

    def answer_rows(self) -> Iterator[Row]:
        """A row per answer, in the order they were given, those that were taken back too."""
        gone = {a.supersedes for a in self.store.heard(0) if a.supersedes is not None}
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
        shown = question.classes[: question.cuts[0]] if question.cuts else None
        row = {
            "round": question.round,
            "purpose": question.purpose,
            "person": answer.person,
            "options": None if shown is None else [self.names[c] for c in shown],
            "set_size": question.n_classes - len(question.rejected) if shown is None else len(shown),
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
        return row | _nothing_shown(row) if answer.cost == 0 else row


def _nothing_shown(row: Row) -> Row:
    """What costs nothing was imported, also where there was a question: nobody has seen a list."""
    return {"options": None, "set_size": None, "alpha": None, "model": None, "path": row["path"][-1:]}


_NO_ANSWER: Row = {column.name: None for column in _HOW}


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
    found, current = resolve(heard, together, rule), live(heard)
    counting, _ = settled(current, together, rule)
    deciding = _deciding(counting, found)
    status = {item: _status(answer, found) for item, answer in deciding.items() if item not in found.labels}
    status |= dict.fromkeys(found.disputed, "disputed")
    status |= dict.fromkeys(store.unreadable().keys() - found.labels.keys() - status.keys(), "unreadable")
    return Standing(
        found.labels,
        {item: a.id for item, a in deciding.items() if status.get(item) not in ("disputed", "open")},
        status,
        Counter(a.item for a in current),
        _agreed(current),
    )


def _deciding(counting: Sequence[Heard], found: Resolution) -> dict[int, Heard]:
    """The last answer about each item; a skip only where nothing else was said, and for a label one that says it."""
    said = {a.item: a for a in counting if a.kind == "skip"}
    said |= {a.item: a for a in counting if a.kind != "skip"}
    said |= {a.item: a for a in counting if a.label is not None and found.labels.get(a.item) == a.label}
    return said


def _status(answer: Heard, found: Resolution) -> str:
    if answer.item in found.set_aside:
        return "no class" if answer.kind == "none" else "unreadable"
    return "skipped" if answer.kind == "skip" else "open"


def _agreed(current: Iterable[Heard]) -> dict[int, bool]:
    first: dict[int, tuple[str, int | None]] = {}
    agreed: dict[int, bool] = {}
    for answer in current:
        if answer.kind == "skip":
            continue
        said = (answer.kind, answer.label)
        if answer.item in first:
            agreed[answer.item] = agreed.get(answer.item, True) and first[answer.item] == said
        first.setdefault(answer.item, said)
    return agreed
