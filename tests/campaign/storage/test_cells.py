"""Cells that a hand has changed: a sentence that says which, or no difference, and never a traceback."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shortlist import measures
from shortlist.campaign.formats.export import export
from shortlist.campaign.formats.format import FileLabel
from shortlist.campaign.formats.import_ import import_labels
from shortlist.campaign.storage.cells import cells_of, wrong_cell
from shortlist.campaign.storage.database import Unwritable
from shortlist.campaign.storage.store import Store
from shortlist.types import ShortlistError
from tests.campaign.toys import campaign, data, run
from tests.cases import in_turn

DATA = data()
CHANGES = [  # table, change, and what is said of it: "" where nothing that is read here needs the cell
    ("answers", "label = 999", "answers: label is 999"),
    ("answers", "label = 'cat'", "answers: label is 'cat'"),
    ("answers", "item = 999", "answers: item is 999"),
    ("answers", "kind = 'maybe'", ""),
    ("answers", "cost = 'dear'", "answers: cost is 'dear'"),
    ("answers", "stage_seconds = '[1,'", "answers: stage_seconds is '[1,'"),
    ("answers", "stage_seconds = '{}'", ""),
    ("answers", "person = x'ff'", ""),
    ("answers", "person = cast(x'ff' as text)", "Could not decode to UTF-8"),
    ("answers", "misses = 2147483648", "answers: misses is 2147483648"),
    ("questions", "n_classes = 2147483648", "questions: n_classes is 2147483648"),
    ("rounds", "number = 2147483648 where number = (select max(number) from rounds)", ""),
    ("questions", "classes = x'0102'", r"questions: classes is b'\x01\x02'"),
    ("questions", "cuts = 'many'", "questions: cuts is 'many'"),
    ("questions", "cuts = '[0.5]'", "questions: cuts is '[0.5]'"),
    ("questions", "rejected = '7'", "questions: rejected is 7"),
    ("questions", "n_classes = 'all'", "questions: n_classes is 'all'"),
    ("rounds", "result = '{\"cost\": 1}'", "rounds: result is '{\"cost\": 1}'"),
    ("rounds", "result = 'x'", "rounds: result is 'x'"),
    ("rounds", "result = json_remove(result, '$.coverage')", "rounds: result is '{"),
    ("rounds", "result = json_remove(result, '$.percent', '$.coverage')", "rounds: result is '{"),
    ("rounds", "result = json_set(json_remove(result, '$.percent'), '$.cost', 'x', '$.accuracy', 'x')", "result is '{"),
    ("rounds", "alpha = 'small'", ""),
    ("rounds", "state = 'odd'", ""),
    ("meta", "value = '{' where key = 'config'", "its configuration cannot be read"),
    ("meta", "value = 'many' where key = 'draws'", ""),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(tmp_path / "run", DATA)
    return tmp_path / "run"


def test_a_campaign_as_it_is_written_has_no_wrong_cell(folder: Path) -> None:
    with Store(folder / "campaign.db", read_only=True) as store:
        assert wrong_cell(store.engine) is None


def readers(folder: Path) -> list[Callable[[], object]]:
    label = FileLabel("row 2", DATA.keys[0], DATA.classes[0])

    def open_it() -> object:
        with campaign(folder, DATA) as going:
            return going.finished_rounds(), going.labels(), going.open_questions()

    return [
        lambda: export(folder, folder.parent / "x.csv", what="all"),
        lambda: export(folder, folder.parent / "x.jsonl", what="answers"),
        lambda: measures.read(folder),
        lambda: measures.labels(folder),
        lambda: import_labels(folder, [label]),
        open_it,
    ]


@in_turn(("table", "change", "told"), CHANGES)
def test_a_changed_cell_is_named(folder: Path, table: str, change: str, told: str) -> None:
    database = folder / "campaign.db"
    before, said = database.read_bytes(), []
    with closing(sqlite3.connect(database)) as c, c:
        c.execute(f"UPDATE {table} SET {change}")
    for reader in readers(folder):
        try:
            reader()
        except ShortlistError as error:
            said.append(str(error))
    with closing(sqlite3.connect(database)) as c:
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.write_bytes(before)
    assert all(str(database) in sentence or str(folder) in sentence for sentence in said)
    assert not told or any(told in sentence for sentence in said), said or "nobody noticed"
    assert not list(folder.parent.rglob("*.new"))


EDGES: list[
    tuple[str, str, list[object], list[object]]
] = [  # column, what may stand in it, what may not: 3 items, 2 classes
    ("items", "id", [0, 2], [-1, 3, None, "0"]),
    ("items", "unreadable", [None, "torn"], [7]),
    ("classes", "id", [0, 1], [-1, 2]),
    ("classes", "active_since", [0, 2**53], [-1, 2**53 + 1, None]),
    ("rounds", "state", ["calibrating", "asking", "done"], ["begun", None]),
    ("rounds", "alpha", [None, 0, 0.5], ["0.5", float("nan"), float("inf")]),
    ("rounds", "trained_through", [None, 0], [-1]),
    ("questions", "item", [0, 2], [-1, 3, None]),
    ("questions", "classes", [b"", b"1234"], [b"123", "1234"]),
    ("questions", "cuts", ["[]", "[1, 2]"], ["[0]", "[3]", "{}", "1"]),
    ("questions", "size", [1, 2], [0, 3]),
    ("questions", "n_classes", [1, 2], [0, 3]),
    ("questions", "exhaustive", [0, 1], [-1, 2]),
    ("questions", "rejected", ["[]", "[0, 1]"], ["[-1]", "[2]"]),
    ("questions", "wanted", [1, 2**31], [0, 2**31 + 1]),
    ("answers", "item", [0, 2], [-1, 3]),
    ("answers", "misses", [0, 2], [-1, 3]),
    ("answers", "label", [None, 0, 1], [-1, 2]),
    ("answers", "stage_seconds", [None, "[]", "[0.5, 1]"], ['["1"]', "0.5", 3]),
    ("answers", "final", [0, 1], [-1, 2]),
    ("events", "round", [-1, 0, 2**31], [-2, 2**31 + 1]),
]


@in_turn(("table", "column", "right", "wrong"), EDGES)
def test_numbers_are_of_what_there_is(table: str, column: str, right: list[object], wrong: list[object]) -> None:
    fits = cells_of(n_items=3, n_classes=2)[table][column]
    assert [cell for cell in right if not fits(cell)] == []
    assert [cell for cell in wrong if fits(cell)] == []


def test_a_wrong_cell_is_the_reason_for_what_nobody_has_put_in_a_sentence(folder: Path) -> None:
    """A sentence that says what is wrong stays; that something cannot be written may be because of the cell."""
    path = folder / "campaign.db"
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE answers SET label = 999")
    for error, told in (
        (ShortlistError("mine"), "^mine$"),
        (Unwritable(path, "constraint failed"), "answers: label is 999"),
        (IndexError("999"), "answers: label is 999"),
    ):
        with pytest.raises(ShortlistError, match=told), Store(path):
            raise error
    with pytest.raises(KeyboardInterrupt), Store(path):
        raise KeyboardInterrupt
