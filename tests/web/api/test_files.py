"""Labels out and in over the API, as the page Files asks for it, while people label."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from shortlist import measures
from shortlist.campaign.formats import FORMATS
from shortlist.campaign.formats.export import export
from shortlist.campaign.formats.import_ import import_labels, read_labels
from shortlist.datasets.table import Table
from tests.web.serving import DATA, Person, Served, served, truth


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        yield made


@pytest.fixture
def owner(app: Served) -> Person:
    ana = app.sign_in("ana")
    for question in ana.questions(5):
        ana.answer(question, truth(question), note="=1+1")
    return app.sign_in("olga", "owner")


def send(owner: Person, text: str, format: str = "csv", **asked: bool) -> tuple[int, dict[str, object]]:
    more = "".join(f"&{name}=true" for name, is_so in asked.items() if is_so)
    got = owner.ask("POST", f"/api/import?format={format}{more}", content=text.encode())
    return got.status_code, got.json()


# --- out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_what_the_command_writes_and_the_same_twice(
    app: Served, owner: Person, tmp_path: Path, format: str
) -> None:
    got = owner.ask("GET", f"/api/export?format={format}")
    assert got.status_code == 200, got.text
    assert got.headers["content-disposition"].startswith('attachment; filename="labels-')
    export(app.campaign.folder.path, tmp_path / "there", format=format)
    if format not in ("label-studio", "doccano"):  # which say what an item is
        assert got.content == (tmp_path / "there").read_bytes()
    assert owner.ask("GET", f"/api/export?format={format}").content == got.content


def test_all_items_or_all_answers(owner: Person) -> None:
    labels = owner.ask("GET", "/api/export?format=jsonl").text.splitlines()
    every = owner.ask("GET", "/api/export?format=jsonl&all=true").text.splitlines()
    said = pq.read_table(io.BytesIO(owner.ask("GET", "/api/export?format=parquet&answers=true").content))
    assert (len(labels), len(every), said.num_rows) == (5, 60, 5)
    row = json.loads(labels[0])
    assert {"key", "label", "options", "set_size", "alpha", "path", "seconds", "person", "model"} <= row.keys()
    both = owner.ask("GET", "/api/export?all=true&answers=true")
    assert (both.status_code, both.json()["error"]) == (400, "export: all, answers or as_given, not two of them")
    wrong = owner.ask("GET", "/api/export?format=doccano&answers=true")
    assert (wrong.status_code, wrong.json()["error"].partition(":")[0]) == (400, "answers.doccano.jsonl")
    assert owner.ask("GET", "/api/export?format=xml").status_code == 422


def test_a_spreadsheet_runs_no_formula(owner: Person) -> None:
    assert ",=1+1," in owner.ask("GET", "/api/export?format=csv").text
    assert ",=1+1," not in owner.ask("GET", "/api/export?format=spreadsheet").text


# --- in --------------------------------------------------------------------------------------------------------


def open_items(app: Served, n: int) -> list[int]:
    """Items that nobody has answered."""
    asked = {q.item for q in app.campaign.store.questions()}
    return [i for i in range(60) if i not in asked][:n]


def test_labels_are_brought_in_at_no_cost_and_the_second_time_change_nothing(app: Served, owner: Person) -> None:
    chosen = open_items(app, 20)
    text = "key,label\n" + "".join(f"item{i},c{DATA.labels[i]}\n" for i in chosen)
    before = owner.get("/api/status")
    assert send(owner, text) == (200, {"written": 20, "same": 0, "kept": 0, "unknown": 0, "refused": []})
    assert send(owner, text) == (200, {"written": 0, "same": 20, "kept": 0, "unknown": 0, "refused": []})
    labels = measures.labels(app.campaign.folder.path)
    assert all(labels[f"item{i}"] == f"c{DATA.labels[i]}" for i in chosen)
    after = owner.get("/api/status")
    assert (after["cost"], after["saved"]) == (before["cost"], before["saved"])


def test_an_export_can_be_brought_in_again_in_every_format(app: Served, owner: Person) -> None:
    for format in FORMATS:
        out = owner.ask("GET", f"/api/export?format={format}").content
        got = owner.ask("POST", f"/api/import?format={format}", content=out)
        assert (got.status_code, got.json()) == (
            200,
            {"written": 0, "same": 5, "kept": 0, "unknown": 0, "refused": []},
        ), format


def test_a_round_whose_questions_are_all_imported_is_complete(app: Served, owner: Person) -> None:
    waiting = [q.item for q in app.campaign.store.open_questions()]
    text = "key,label\n" + "".join(f"item{i},c{DATA.labels[i]}\n" for i in waiting)
    assert send(owner, text)[1]["written"] == len(waiting) == 7
    assert owner.get("/api/status")["open"] == 0
    assert app.service.poke.is_set()
    app.work()
    assert owner.get("/api/status")["round"] == 2


def test_what_people_said_stands_unless_the_file_decides(app: Served, owner: Person) -> None:
    (key, label), *_ = measures.labels(app.campaign.folder.path).items()
    other = f"c{(int(label[1:]) + 1) % 5}"
    text = f"key,label\n{key},{other}\n"
    assert send(owner, text)[1]["kept"] == 1
    assert measures.labels(app.campaign.folder.path)[key] == label
    assert send(owner, text, overwrite=True)[1]["written"] == 1
    assert measures.labels(app.campaign.folder.path)[key] == other


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("key,label\nitem1,zebra\n", "labels.csv: row 2: the campaign has no class 'zebra'; nothing was imported"),
        ("key,label\nnobody,c1\n", "labels.csv: row 2: the campaign has no item 'nobody'; nothing was imported"),
        ("name,label\na,c1\n", "labels.csv: there is no column 'key'; the columns are 'name', 'label'"),
        ("key,label\nitem1,c1\nitem1,c2\n", "labels.csv: row 3 says that 'item1' is 'c2', and labels.csv: row 2"),
        ("", "labels.csv: there is no column 'key'"),
    ],
)
def test_a_wrong_file_gets_a_sentence_that_names_the_row_and_no_path(owner: Person, text: str, sentence: str) -> None:
    status, got = send(owner, text)
    assert status == 400
    assert str(got["error"]).startswith(sentence), got
    assert "/tmp" not in str(got["error"])


def test_unknown_rows_may_be_left_out(owner: Person) -> None:
    text = "key,label\nitem1,zebra\nnobody,c1\n"
    code, told = send(owner, text, skip_unknown=True)
    assert (code, told["written"], told["unknown"]) == (200, 0, 2)


def test_a_file_of_garbage_is_refused(owner: Person) -> None:
    for format in FORMATS:
        got = owner.ask("POST", f"/api/import?format={format}", content=b"\xff\xfe\x00garbage")
        assert got.status_code == 400, (format, got.text)


def test_files_are_for_owners(app: Served, owner: Person) -> None:
    ana = app.sign_in("ana")
    assert ana.ask("GET", "/api/export?format=csv").status_code == 403
    assert ana.ask("POST", "/api/import?format=csv", content=b"key,label\n").status_code == 403
    assert app.client.get("/api/export?format=csv").status_code == 401


def test_an_import_from_the_command_line_is_noticed(app: Served, owner: Person, tmp_path: Path) -> None:
    """Another process writes to the database: nobody is asked what it has brought, and the numbers follow."""
    waiting = [q.item for q in app.campaign.store.open_questions()]
    (tmp_path / "labels.csv").write_text("key,label\n" + "".join(f"item{i},c{DATA.labels[i]}\n" for i in waiting))
    import_labels(app.campaign.folder.path, read_labels(tmp_path / "labels.csv"))
    until = time.monotonic() + 20
    while owner.get("/api/status")["open"]:
        assert time.monotonic() < until, "it was not noticed"
        time.sleep(0.1)
    assert app.service.poke.is_set()


# --- the owner's own table -------------------------------------------------------------------------------------


def test_the_owners_table_comes_back_with_labels(tmp_path: Path) -> None:
    rows = "".join(f'm{i},"hello, {i}",{"ab"[i % 2]}\n' for i in range(60))
    (tmp_path / "mail.csv").write_text(f"id,body,topic\n{rows}")
    mail = Table(tmp_path / "mail.csv", text="body", key="id", label="topic")
    with served(tmp_path / "run", dataset=mail) as app:
        ana, olga = app.sign_in("ana"), app.sign_in("olga", "owner")
        (question,) = ana.questions(1)
        ana.answer(question, 1)
        got = olga.ask("GET", "/api/export?format=csv&as_given=true")
        assert got.status_code == 200, got.text
        back = list(csv.DictReader(io.StringIO(got.text)))
        assert len(back) == 60
        assert {row["id"]: row["label"] for row in back if row["label"]} == {question["item"]["key"]: "b"}
        assert back[7]["body"] == "hello, 7"
        both = olga.ask("GET", "/api/export?as_given=true&all=true")
        assert (both.status_code, both.json()["error"]) == (400, "export: all, answers or as_given, not two of them")


def test_what_is_no_table_has_none_to_give_back(owner: Person) -> None:
    got = owner.ask("GET", "/api/export?as_given=true")
    assert (got.status_code, got.json()["error"]) == (400, "export: the items of this campaign are no rows of a table")


def test_rows_that_are_left_out_are_named(owner: Person) -> None:
    rows = "".join(f"ghost{i},c1\n" for i in range(12))
    code, told = send(owner, f"key,label\n{rows}", skip_unknown=True)
    assert (code, told["unknown"]) == (200, 12)
    assert told["refused"] == [f"labels.csv: row {i + 2}: the campaign has no item 'ghost{i}'" for i in range(10)]
