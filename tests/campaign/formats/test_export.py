"""Exports say how each label came about, are complete and true at one moment, and are the same if run twice."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from shortlist import measures
from shortlist.campaign.engine import Campaign
from shortlist.campaign.formats import FORMATS, format_of
from shortlist.campaign.formats import export as export_module
from shortlist.campaign.formats.export import ANSWER_COLUMNS, LABEL_COLUMNS, export, sheet_of, snapshot_of
from shortlist.campaign.formats.label_studio import labelling_interface
from shortlist.campaign.questions.resolution import Overlap
from shortlist.queries.one_bit import OneBit
from shortlist.queries.top_k import TopK
from shortlist.types import NONE, Answer, ShortlistError
from tests.campaign import killing
from tests.campaign.toys import answers, campaign, data, hashes, run, work

DATA = data()
ENDINGS = {name: format.ending.removeprefix(".") for name, format in FORMATS.items() if format.is_default}


def rows_of(folder: Path, **settings: Any) -> list[dict[str, Any]]:
    target = folder.parent / "rows.jsonl"
    n = export(folder, target, **settings)
    rows = [json.loads(line) for line in target.read_text().split("\n") if line]
    assert len(rows) == n
    return rows


def by_key(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in rows}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    run(tmp_path / "run", DATA)
    return tmp_path / "run"


@pytest.fixture
def first(tmp_path: Path) -> Any:
    """Where the first round's questions are open."""
    with campaign(tmp_path / "run", DATA) as going:
        work(going)
        yield going


# --- what a row says -------------------------------------------------------------------------------------------


def test_a_row_per_label_with_every_column(finished: Path) -> None:
    rows = rows_of(finished)
    assert {r["key"]: r["label"] for r in rows} == measures.labels(finished)
    assert all(list(row) == [c.name for c in LABEL_COLUMNS] for row in rows)
    assert [row["key"] for row in rows] == sorted((r["key"] for r in rows), key=lambda key: int(key[4:]))
    assert {row["status"] for row in rows} == {"labelled"}
    assert {row["answers"] for row in rows} == {1}
    assert {row["agree"] for row in rows} == {None}


def test_alpha_and_model_are_those_that_made_the_list(tmp_path: Path) -> None:
    """Query lists have their round's alpha, D_cal and ahead lists the one before's; the model is a round older."""
    with campaign(tmp_path / "run", DATA, ahead=3) as going:
        while questions := going.questions():
            state = going.store.rounds()[-1].state
            going.record(answers(questions, DATA.labels))
            if state == "asking":
                going.record(answers(going.ahead(2), DATA.labels))
        alphas = {r.number: r.alpha for r in going.store.rounds()}
    listed = [row for row in rows_of(tmp_path / "run") if row["options"] is not None]
    assert {row["purpose"] for row in listed} == {"calibration", "query", "ahead"}
    for row in listed:
        older = {"query": (0, 1), "calibration": (1, 1), "ahead": (1, 2)}[row["purpose"]]
        assert row["alpha"] == alphas[row["round"] - older[0]]
        assert row["model"] == row["round"] - older[1]
        assert row["set_size"] == len(row["options"])
    for row in rows_of(tmp_path / "run"):
        if row["options"] is None:
            assert (row["alpha"], row["model"], row["set_size"]) == (None, None, 5)


def test_path_times_and_note(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, query=TopK(2)) as going:
        work(going)
        going.record(answers(going.open_questions(), DATA.labels))
        work(going)
        question = going.open_questions()[0]
        far = next(c for c in range(5) if c not in question.classes)
        going.record(
            [Answer(question.id, "label", (NONE, far), "ana", 4.5, 6.0, stage_seconds=(1.5, 3.0), note="odd, «one»")]
        )
        row = by_key(rows_of(tmp_path / "run"))[question.key]
    assert row["options"] == [f"c{c}" for c in question.classes]
    assert (row["label"], row["path"]) == (f"c{far}", [None, f"c{far}"])
    assert (row["person"], row["seconds"], row["wall_seconds"]) == ("ana", 4.5, 6.0)
    assert (row["stage_seconds"], row["note"]) == ([1.5, 3.0], "odd, «one»")


def test_several_people_agree_differ_and_are_decided(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, overlap=Overlap(2, 1.0)) as going:
        work(going)
        same, apart, decided = going.open_questions()[:3]
        for person, classes in {"ana": (1, 1, 1), "bob": (1, 2, 2)}.items():
            given = zip((same, apart, decided), classes, strict=True)
            going.record([Answer(q.id, "label", (cls,), person) for q, cls in given])
        going.record([Answer(decided.id, "label", (4,), "owner", final=True)])
    rows = by_key(rows_of(tmp_path / "run", what="all"))
    told = {q.key: [rows[q.key][c] for c in ("status", "label", "answers", "agree", "decided", "person")]
            for q in (same, apart, decided)}  # fmt: skip
    assert told == {
        same.key: ["labelled", "c1", 2, True, False, "bob"],
        apart.key: ["disputed", None, 2, False, None, None],
        decided.key: ["labelled", "c4", 3, False, True, "owner"],
    }


def test_all_has_a_row_for_every_item_and_says_why_there_is_no_label(first: Campaign, tmp_path: Path) -> None:
    odd, blurred, skipped, labelled, after, waiting = first.open_questions()[:6]
    first.record([Answer(odd.id, "none", (NONE,), "ana"), Answer(blurred.id, "unreadable", (), "ana")])
    first.record([Answer(skipped.id, "skip", (), "ana"), Answer(labelled.id, "label", (2,), "ana")])
    first.record([Answer(after.id, "label", (3,), "ana"), Answer(after.id, "skip", (), "bob")])
    rows = by_key(rows_of(tmp_path / "run", what="all"))
    assert list(rows) == list(DATA.keys)
    status = {q.key: rows[q.key]["status"] for q in (odd, blurred, skipped, labelled, after, waiting)}
    assert list(status.values()) == ["no class", "unreadable", "skipped", "labelled", "labelled", "open"]
    assert rows[odd.key]["label"] is None
    assert rows[after.key]["person"] == "ana"
    assert rows[waiting.key]["answer"] is None
    assert set(by_key(rows_of(tmp_path / "run"))) == {labelled.key, after.key}


def test_a_label_without_a_question_about_it_is_the_last_nones(tmp_path: Path) -> None:
    """One-bit: when all classes but one are ruled out, the item is labelled by the last "none"."""
    few = data(12, 2)
    with campaign(tmp_path / "run", few, query=OneBit(), initial=4, budget=4) as going:
        work(going)
        going.record(answers(going.open_questions(), few.labels))
        work(going)
        question = going.open_questions()[0]
        going.record([Answer(question.id, "none", (NONE,), "ana")])
    row = by_key(rows_of(tmp_path / "run"))[question.key]
    assert (row["label"], row["path"], row["person"]) == (f"c{1 - question.classes[0]}", [None], "ana")


def test_every_answer_also_those_taken_back(first: Campaign, tmp_path: Path) -> None:
    question = first.open_questions()[0]
    (before,) = first.record([Answer(question.id, "label", (1,), "ana")])
    (last,) = first.record([Answer(question.id, "skip", (), "ana", supersedes=before)])
    rows = rows_of(tmp_path / "run", what="answers")
    assert all(list(row) == [c.name for c in ANSWER_COLUMNS] for row in rows)
    told = [[row[c] for c in ("answer", "kind", "label", "supersedes", "superseded")] for row in rows]
    assert told == [[before, "label", "c1", None, True], [last, "skip", None, before, False]]
    assert rows_of(tmp_path / "run") == []


def test_every_column_is_explained() -> None:
    assert all(column.says for column in (*LABEL_COLUMNS, *ANSWER_COLUMNS))


def test_a_campaign_nobody_has_answered_yet(first: Campaign, tmp_path: Path) -> None:
    for ending in ENDINGS.values():
        target = tmp_path / f"empty.{ending}"
        assert export(tmp_path / "run", target) == 0
        assert target.exists()
    assert json.loads((tmp_path / "empty.json").read_text()) == []


# --- formats ---------------------------------------------------------------------------------------------------


def test_csv_and_parquet_say_the_same_as_json_lines(finished: Path, tmp_path: Path) -> None:
    rows = rows_of(finished)
    export(finished, tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == rows
    export(finished, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        for cells, row in zip(csv.DictReader(file), rows, strict=True):
            for column in LABEL_COLUMNS:
                value = row[column.name]
                expected = "" if value is None else value if column.kind == "text" else json.dumps(value)
                assert cells[column.name] == expected


def test_label_studio_tasks(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, query=TopK(2)) as going:
        work(going)
        going.record([Answer(q.id, "label", (1,), "ana@example.org", 2.5) for q in going.open_questions()])
        work(going)
        question = going.open_questions()[0]
        far = question.stages[1][0]
        going.record([Answer(question.id, "label", (NONE, far), "bob")])
    export(tmp_path / "run", tmp_path / "x.json", what="all", describe=lambda key: {"text": f"text of {key}"})
    tasks = {task["data"]["key"]: task for task in json.loads((tmp_path / "x.json").read_text())}
    assert len(tasks) == len(DATA.keys)
    shown = [{"value": f"c{c}"} for c in question.stages[0]]
    mine = tasks[question.key]
    assert mine["data"]["text"] == f"text of {question.key}"
    assert mine["data"]["options"] == [*shown, {"value": f"c{far}", "hint": "found after None of the above"}]
    assert mine["meta"]["options"] == [f"c{c}" for c in question.stages[0]]
    (annotation,) = mine["annotations"]
    assert annotation["result"] == [
        {
            "id": f"answer-{annotation['id']}",
            "from_name": "label",
            "to_name": "item",
            "type": "choices",
            "value": {"choices": [f"c{far}"]},
        }
    ]
    assert annotation["completed_by"] is None
    conventional = next(t for t in tasks.values() if t["annotations"] and t is not mine)
    assert conventional["data"]["options"] == [{"value": f"c{i}"} for i in range(5)]
    assert conventional["annotations"][0]["completed_by"] == {"email": "ana@example.org"}
    assert conventional["annotations"][0]["lead_time"] == 2.5
    assert conventional["annotations"][0]["created_at"] == conventional["meta"]["at"]
    assert any(not task["annotations"] for task in tasks.values())


@pytest.mark.parametrize(
    ("content", "shown"),
    [({"text": "hello"}, {"text": "hello"}), ({"image": "a/1.png"}, {"filename": "a/1.png"}), ({}, {"text": "item0"})],
)
def test_doccano_examples(finished: Path, tmp_path: Path, content: Mapping[str, Any], shown: Any) -> None:
    export(finished, tmp_path / "x.doccano.jsonl", what="all", describe=lambda key: content)
    first = json.loads((tmp_path / "x.doccano.jsonl").read_text().split("\n")[0])
    assert {k: first[k] for k in shown} == shown
    assert first["label"] == ([] if first["meta"]["label"] is None else [first["meta"]["label"]])
    assert first["meta"]["key"] == "item0"


def test_images_are_known_by_their_keys(tmp_path: Path) -> None:
    pictures = data(keys=[f"a/{i}.PNG" for i in range(40)])
    run(tmp_path / "run", pictures, rounds=1)
    export(tmp_path / "run", tmp_path / "x.json")
    assert all(t["data"]["image"] == t["data"]["key"] for t in json.loads((tmp_path / "x.json").read_text()))


def test_a_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    names = ["=1+1", "+a", "-b", "@c", "'d", "＝1+1", "＋a", "－b", "＠c", "\n=1"]
    sheet = data(n_classes=len(names), classes=names)
    run(tmp_path / "run", sheet, rounds=1)
    export(tmp_path / "run", tmp_path / "exact.csv")
    export(tmp_path / "run", tmp_path / "safe.csv", format="spreadsheet")
    with (tmp_path / "exact.csv").open(newline="", encoding="utf-8") as file:
        assert {row["label"] for row in csv.DictReader(file)} <= set(names)
    with (tmp_path / "safe.csv").open(newline="", encoding="utf-8-sig") as file:
        assert {row["label"] for row in csv.DictReader(file)} <= {f"'{name}" for name in names}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("what", ["labels", "all", "answers"])
def test_twice_the_same_and_no_ending_needed(finished: Path, tmp_path: Path, format: str, what: Any) -> None:
    if what == "answers" and format in ("label-studio", "doccano"):
        with pytest.raises(ShortlistError, match="write single answers as one of csv, spreadsheet, jsonl, parquet"):
            export(finished, tmp_path / "x", format=format, what=what)
        return
    first, second = tmp_path / "first", tmp_path / "second"
    export(finished, first, format=format, what=what)
    export(finished, second, format=format, what=what)
    assert first.read_bytes() == second.read_bytes()


def test_every_format_is_found_by_its_name_and_one_of_each_ending_by_that() -> None:
    for name, format in FORMATS.items():
        assert format_of(Path("x"), name) is format
        by_ending = format_of(Path(f"x{format.ending}"))
        assert by_ending.ending == format.ending
        assert (by_ending is format) == format.is_default


def test_a_format_that_is_not_there(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="format: 'xml' is none of csv, spreadsheet, jsonl, parquet, label-studio"):
        export(finished, tmp_path / "x.xml", format="xml")


# --- one moment ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["labels", "all", "answers"])
def test_what_is_answered_meanwhile_comes_next_time(
    first: Campaign, tmp_path: Path, what: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "CHUNK", 2)
    questions = first.open_questions()
    first.record(answers(questions[:4], DATA.labels))
    before = rows_of(tmp_path / "run", what=what)
    with snapshot_of(tmp_path / "run") as store:
        reading = iter(sheet_of(store, what).rows)
        got = [next(reading)]
        first.record(answers(questions[4:], DATA.labels))
        first.record([Answer(questions[0].id, "unreadable", (), "simulated", supersedes=1)])
        got += reading
    assert json.loads(json.dumps(got)) == before
    assert rows_of(tmp_path / "run", what=what) != before


def test_the_moment_is_when_it_is_opened(first: Campaign, tmp_path: Path) -> None:
    questions = first.open_questions()
    first.record(answers(questions[:1], DATA.labels))
    with snapshot_of(tmp_path / "run") as store:
        first.record(answers(questions[1:], DATA.labels))
        assert len(store.answers()) == 1
        assert [q.id for q in store.open_questions()] == [q.id for q in questions[1:]]
    assert len(first.store.answers()) == len(questions)


def test_an_export_leaves_every_file_as_it_was(first: Campaign, tmp_path: Path) -> None:
    """Also the log of a killed campaign, in which the newest answers are."""
    first.record(answers(first.open_questions(), DATA.labels))
    shutil.copytree(tmp_path / "run", tmp_path / "killed")
    before = hashes(tmp_path / "killed")
    assert "campaign.db-wal" in before
    assert len(rows_of(tmp_path / "killed")) == 8
    assert hashes(tmp_path / "killed") == before


def test_while_a_campaign_runs_in_another_process(tmp_path: Path) -> None:
    """Every export is whole: answers 1, 2, 3, … with no gap, and labels of just those."""
    folder, seen = tmp_path / "run", set()
    process = killing.start(folder, 0)
    try:
        while process.poll() is None:
            if not (folder / "campaign.db").exists():
                continue
            rows = rows_of(folder, what="answers")
            assert [row["answer"] for row in rows] == list(range(1, len(rows) + 1))
            labelled = rows_of(folder)
            assert {row["key"] for row in rows} <= {row["key"] for row in labelled}
            seen.add(len(rows))
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    assert len(seen) > 1


KILLED = """
import os, signal, sys
from pathlib import Path
from shortlist.campaign.formats.export import export

def describe(key):
    if key == "item20":
        os.kill(os.getpid(), signal.SIGKILL)
    return {}

export(Path(sys.argv[1]), Path(sys.argv[2]), format="doccano", what="all", describe=describe)
"""


def test_killed_in_the_middle_leaves_the_file_that_was_there(finished: Path, tmp_path: Path) -> None:
    target = tmp_path / "labels.jsonl"
    target.write_text("as it was")
    done = subprocess.run([sys.executable, "-c", KILLED, str(finished), str(target)], check=False)
    assert done.returncode == -9
    assert target.read_text() == "as it was"


def test_an_error_in_the_middle_leaves_nothing_else(finished: Path, tmp_path: Path) -> None:
    target = tmp_path / "labels.json"
    target.write_text("as it was")
    there = set(tmp_path.iterdir())

    def describe(key: str) -> dict[str, str]:
        raise ShortlistError(f"{key}: gone")

    with pytest.raises(ShortlistError, match="item0: gone"):
        export(finished, target, what="all", describe=describe)
    assert target.read_text() == "as it was"
    assert set(tmp_path.iterdir()) == there


def test_many_rows_in_several_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "run", DATA)
    whole = rows_of(tmp_path / "run", what="all"), rows_of(tmp_path / "run", what="answers")
    monkeypatch.setattr(export_module, "CHUNK", 7)
    assert (rows_of(tmp_path / "run", what="all"), rows_of(tmp_path / "run", what="answers")) == whole
    assert np.isfinite([row["cost"] for row in whole[1]]).all()


def test_what_belongs_to_the_campaign_is_not_written_over(tmp_path: Path) -> None:
    run(tmp_path / "run")
    before = (tmp_path / "run" / "campaign.db").read_bytes()
    for name in ("campaign.db", "campaign.toml", "people.db", "server.lock"):
        with pytest.raises(ShortlistError, match=f"{name}: belongs to the campaign; choose another name"):
            export(tmp_path / "run", tmp_path / "run" / name, format="csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ShortlistError, match="is no ordinary file"):
        export(tmp_path / "run", tmp_path / "folder.csv")
    assert (tmp_path / "run" / "campaign.db").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "tag", "field"), [("image", "Image", "image"), ("text", "Text", "text"), ("", "Text", "key")]
)
def test_a_label_studio_project_shows_what_an_item_has(content: str, tag: str, field: str) -> None:
    shown = labelling_interface({content: "x"})
    assert f'<{tag} name="item" value="${field}"/>' in shown
    assert 'toName="item" value="$options" choice="single"' in shown


@pytest.mark.parametrize(
    ("said", "status", "agree"),
    [
        ([("ana", "skip", None)], "skipped", None),
        ([("ana", "none", None)], "no class", None),
        ([("ana", "unreadable", None)], "unreadable", None),
        ([("ana", "skip", None), ("bob", "none", None)], "no class", None),
        ([("ana", "none", None), ("bob", "skip", None)], "no class", None),
        ([("ana", "label", 1), ("bob", "label", 1)], "labelled", True),
        ([("ana", "label", 1), ("bob", "label", 2)], "disputed", False),
        ([("ana", "none", None), ("bob", "label", 2)], "disputed", False),
        ([("ana", "none", None), ("bob", "none", None)], "no class", True),
    ],
)
def test_what_an_items_answers_come_to(tmp_path: Path, said: list[Any], status: str, agree: bool | None) -> None:
    with campaign(tmp_path / "run", DATA, overlap=Overlap(2, 1.0)) as going:
        work(going)
        question = going.open_questions()[0]
        for person, kind, label in said:
            path = question.decided_path(kind, label)
            going.record([Answer(question.id, kind, path, person)])
    row = by_key(rows_of(tmp_path / "run", what="all"))[question.key]
    assert (row["status"], row["agree"], row["answers"]) == (status, agree, len(said))
    assert (row["answer"] is None) == (status == "disputed")
    assert (row["label"] is None) == (status != "labelled")


def test_a_doccano_line_may_hold_one_label(tmp_path: Path) -> None:
    for labels, found in (([], None), (["c1"], "c1"), ("c2", "c2")):
        (tmp_path / "x.jsonl").write_text(json.dumps({"key": "item0", "label": labels}) + "\n")
        (row,) = FORMATS["doccano"].read(tmp_path / "x.jsonl")
        assert (row.key, row.label) == ("item0", found)
    (tmp_path / "x.jsonl").write_text(json.dumps({"key": "item0", "label": ["c1", "c2"]}) + "\n")
    with pytest.raises(ShortlistError, match="2 labels"):
        list(FORMATS["doccano"].read(tmp_path / "x.jsonl"))


@pytest.mark.parametrize(("most", "shown"), [(5, True), (4, False)])
def test_label_studio_is_given_all_classes_where_they_are_not_too_many(
    first: Campaign, tmp_path: Path, most: int, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of more, the one that was chosen; and an annotation was neither cancelled nor is it the truth."""
    monkeypatch.setattr("shortlist.campaign.formats.label_studio.MOST", most)
    question = first.open_questions()[0]
    first.record([Answer(question.id, "label", (2,), "ana")])
    export(tmp_path / "run", tmp_path / "x.json", what="all")
    tasks = {task["data"]["key"]: task for task in json.loads((tmp_path / "x.json").read_text())}
    mine = tasks.pop(question.key)
    options = [{"value": f"c{i}"} for i in range(5)]
    assert mine["data"]["options"] == (options if shown else [{"value": "c2"}])
    assert all(task["data"]["options"] == (options if shown else []) for task in tasks.values())
    (annotation,) = mine["annotations"]
    assert (annotation["was_cancelled"], annotation["ground_truth"]) == (False, False)
