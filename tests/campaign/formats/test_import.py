"""Imports give items a label at no cost, respect what people said, and never stand in the campaign's way."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist import measures
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.accounting.ledger import Line
from shortlist.campaign.engine import Campaign
from shortlist.campaign.formats import FORMATS
from shortlist.campaign.formats import import_ as import_module
from shortlist.campaign.formats.export import LABEL_COLUMNS, export
from shortlist.campaign.formats.format import FileLabel, Sheet, by_key
from shortlist.campaign.formats.import_ import Imported, import_labels, read_labels
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.storage.store import QuestionRow
from shortlist.queries.one_bit import OneBit
from shortlist.queries.top_k import TopK
from shortlist.types import NONE, Answer, Question, ShortlistError
from tests.campaign.toys import Fixed, answers, campaign, data, learning, run, work

DATA = data()


def truth(items: Sequence[int], person: str | None = None) -> list[FileLabel]:
    return [FileLabel(f"row {i}", DATA.keys[i], DATA.classes[DATA.labels[i]], person, None) for i in items]


def into(going: Campaign, rows: Sequence[FileLabel], **settings: Any) -> Imported:
    return import_labels(going.folder.path, rows, **settings)


def answer(going: Campaign, questions: Sequence[Question] | None = None) -> None:
    going.record(answers(going.open_questions() if questions is None else questions, DATA.labels))


def finish(going: Campaign) -> None:
    while questions := going.questions():
        answer(going, questions)


def question_about(going: Campaign, item: int) -> list[QuestionRow]:
    return [q for q in going.store.questions() if q.item == item]


@pytest.fixture
def first(tmp_path: Path) -> Any:
    """Where the first round's questions are open."""
    with campaign(tmp_path / "run", DATA) as going:
        work(going)
        yield going


def others(going: Campaign) -> list[int]:
    """Items that no question is about."""
    asked = {q.item for q in going.store.questions()}
    return [i for i in range(len(DATA.keys)) if i not in asked]


# --- files -----------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
ODD = st.sampled_from(
    ['"', "''", "=1+1", "a,b", "a\nb", "a\r\nb", " ", "\u2028", "é", "𝄞", "\0", "null", "1", "'=x", "[1]"]
)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60)
@given(
    labels=st.dictionaries(NAMES | ODD, NAMES | ODD, max_size=6),
    person=NAMES | ODD,
    seconds=st.none() | st.floats(0, 1e6),
)
def test_odd_names_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, format: str, labels: dict[str, str], person: str, seconds: float | None
) -> None:
    path = tmp_path_factory.getbasetemp() / f"odd.{format}"
    empty = {column.name: None for column in LABEL_COLUMNS}
    rows = [
        {**empty, "key": key, "label": label, "person": person, "seconds": seconds, "options": [label], "path": [label]}
        for key, label in labels.items()
    ]
    FORMATS[format].write(Sheet(LABEL_COLUMNS, rows, list(labels.values()), by_key), path)
    back = read_labels(path, format)
    assert {row.key: row.label for row in back} == labels
    assert all((row.person, row.seconds) == (person, seconds) for row in back)


@pytest.mark.parametrize("format", FORMATS)
def test_from_one_campaign_into_another(tmp_path: Path, format: str) -> None:
    run(tmp_path / "from", DATA)
    export(tmp_path / "from", tmp_path / "file", format=format)
    rows = read_labels(tmp_path / "file", format)
    with campaign(tmp_path / "to", DATA) as going:
        work(going)
        done = into(going, rows)
    assert done == Imported(len(rows), 0, 0, 0)
    assert measures.labels(tmp_path / "to") == measures.labels(tmp_path / "from")


@pytest.mark.parametrize("what", ["all", "answers"])
def test_rows_without_a_label_are_left_out(tmp_path: Path, what: Any) -> None:
    with campaign(tmp_path / "run", DATA) as going:
        work(going)
        one, two = going.open_questions()[:2]
        going.record([Answer(one.id, "label", (1,)), Answer(two.id, "skip")])
    export(tmp_path / "run", tmp_path / "x.csv", what=what)
    assert [row.key for row in read_labels(tmp_path / "x.csv")] == [one.key]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "id,label\na,c1\n", "x.csv: there is no column 'key'; the columns are 'id', 'label'"),
        ("x.csv", "", "x.csv: there is no column 'key'; the columns are none"),
        ("x.csv", "key,label\n,c1\n", "x.csv: row 2: there is a label ('c1') and no key that says of which item"),
        ("x.csv", "key,label\na,c1,c2\n", "x.csv: row 2: expected 2 columns, got 3"),
        (
            "x.csv",
            'key,label\na,"c1\n',
            "x.csv: row 2 is not CSV (unexpected end of data); is a quote in it left open?",
        ),
        ("x.csv", "key,label,seconds\na,c1,-1\n", "x.csv: row 2: seconds is '-1', which is no time"),
        ("x.csv", "key,label,seconds\na,c1,soon\n", "x.csv: row 2: seconds is 'soon', which is no time"),
        (
            "x.csv",
            "key,label\na,c1\nb,c1\na,c2\n",
            "x.csv: row 4 says that 'a' is 'c2', and x.csv: row 2 that it is 'c1'; keep one of them",
        ),
        ("x.jsonl", '{"key": "a", "label": "c1"}\n\n{"key"\n', "x.jsonl: line 3 is not JSON"),
        ("x.jsonl", '{"key": "a", "label": "c1"}\n[1]\n', "x.jsonl: line 2 is no JSON object: [1]"),
        ("x.jsonl", '{"key": "a", "label": 1.5}\n', "x.jsonl: line 1: label is 1.5, which is no text"),
        ("x.jsonl", '{"key": "a", "label": "c1", "person": true}', "x.jsonl: line 1: person is True, which is no text"),
        ("x.jsonl", '{"key": "a", "label": "c1", "seconds": 1' + "0" * 400 + "}", "which is no time"),
        ("x.jsonl", "[" * 100_000, "x.jsonl: line 1 is not JSON"),
        ("x.parquet", "no parquet", "x.parquet: cannot be read as Parquet"),
        ("x.json", '{"data": {}}', "x.json: is no JSON list of tasks"),
        ("x.json", "[" * 100_000, "x.json: task 1 is not JSON"),
        ("x.json", "[1]", "x.json: task 1 is no JSON object"),
        ("x.json", '[{"data": {}}, {]', "x.json: task 2 is not JSON"),
        ("x.json", '[{"data": {}}', "x.json: the list ends after task 1 without a ]; is the file complete?"),
        ("x.json", '[{"annotations": [{}]}]', "x.json: task 1: an annotation has no list of results"),
        ("x.doccano.jsonl", '{"text": "a", "label": ["c1", "c2"]}', "line 1: 2 labels (['c1', 'c2']); an item has one"),
        ("x.doccano.jsonl", '{"text": "a", "label": ["c1"]}', "line 1: there is a label ('c1') and no key"),
        ("x.txt", "", "the name must end in one of .csv (CSV), .jsonl (JSON Lines), .parquet (Parquet), .json (Label"),
    ],
)
def test_a_file_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    with pytest.raises(ShortlistError) as error:
        read_labels(Path(name))
    assert message in str(error.value)


def test_files_that_are_not_there_or_not_utf_8(tmp_path: Path) -> None:
    for ending in ("csv", "jsonl", "parquet", "json"):
        with pytest.raises(ShortlistError, match="cannot be read"):
            read_labels(tmp_path / f"x.{ending}")
    (tmp_path / "x.csv").write_bytes("key,label\na,é\n".encode("latin-1"))
    with pytest.raises(ShortlistError, match="is no UTF-8"):
        read_labels(tmp_path / "x.csv")


def task(*annotations: Any, **data: Any) -> dict[str, Any]:
    return {"data": data, "annotations": list(annotations)}


def chosen(label: str, **fields: Any) -> dict[str, Any]:
    return {"result": [{"type": "choices", "value": {"choices": [label]}}], **fields}


def test_tasks_that_label_studio_wrote(tmp_path: Path) -> None:
    """Skipped ones, several that agree, people by number or e-mail, other kinds of results."""
    tasks = [
        task(chosen("c1", completed_by=7, lead_time=1.5), chosen("c1"), key="a"),
        task(chosen("c2", completed_by={"id": 1, "email": "ana@example.org"}), image="b.png"),
        task(chosen("c3", was_cancelled=True), key="c"),
        task(key="d"),
        task({"result": [{"type": "textarea", "value": {"text": ["hm"]}}]}, key="e"),
    ]
    (tmp_path / "x.json").write_text(json.dumps(tasks, indent=2))
    got = [row[1:] for row in read_labels(tmp_path / "x.json")]
    assert got == [("a", "c1", "7", 1.5), ("b.png", "c2", "ana@example.org", None)]
    (tmp_path / "x.json").write_text(json.dumps([task(chosen("c1"), chosen("c2"), key="a")]))
    with pytest.raises(ShortlistError, match=r"task 1 has annotations that differ \('c1', 'c2'\)"):
        read_labels(tmp_path / "x.json")


def test_lines_that_doccano_wrote(tmp_path: Path) -> None:
    """It spreads what it was given beside text and label over the line, and names files."""
    lines = [
        '{"id": 1, "text": "hello", "label": ["c1"], "key": "a", "person": "ana"}',
        '{"filename": "b.png", "label": "c2"}',
    ]
    (tmp_path / "x.doccano.jsonl").write_text("\n".join(lines))
    assert [row[1:] for row in read_labels(tmp_path / "x.doccano.jsonl")] == [
        ("a", "c1", "ana", None),
        ("b.png", "c2", None, None),
    ]


def test_a_list_of_options_longer_than_pythons_longest_cell(tmp_path: Path) -> None:
    names = [f"class number {i}" for i in range(10_000)]
    row = {column.name: None for column in LABEL_COLUMNS} | {"key": "a", "label": names[0], "options": names}
    FORMATS["csv"].write(Sheet(LABEL_COLUMNS, [row], [], by_key), tmp_path / "x.csv")
    assert len(read_labels(tmp_path / "x.csv")) == 1


# --- into the campaign -----------------------------------------------------------------------------------------


def test_imports_cost_nothing_are_trained_on_and_not_selected(tmp_path: Path) -> None:
    model = Fixed(learning(DATA.labels, 5), [[0.2] * 5] * 20)
    with campaign(tmp_path / "run", DATA, model=model) as going:
        work(going)
        chosen = others(going)[:6]
        assert into(going, truth(chosen)) == Imported(6, 0, 0, 0)
        assert Line(1, "import", 6, 0.0) in going.view.ledger()
        finish(going)
        assert set(chosen) <= set(model.taught[0].items.tolist())
        assert [len(question_about(going, item)) for item in chosen] == [1] * 6
        assert {a.person for a in going.store.answers() if a.item in chosen} == {"import"}
        last = going.finished_rounds()[-1]
        assert last.labelled == 8 + 6 + 3 * 8
        assert last.conventional_cost == pytest.approx((8 + 3 * 8) * np.log2(5))  # imports save nothing
        assert ("import", "6 labels") in {(step, detail) for _, step, detail in going.store.events()}


def test_twice_changes_nothing(first: Campaign) -> None:
    rows = truth(range(20))
    into(first, rows)
    before = first.store.questions(), first.store.answers(), first.store.events()
    assert into(first, rows) == Imported(0, 20, 0, 0)
    assert (first.store.questions(), first.store.answers(), first.store.events()) == before


def test_an_open_question_is_answered_and_the_round_goes_on(first: Campaign) -> None:
    open_ = first.open_questions()
    into(first, truth([q.item for q in open_]))
    assert first.open_questions() == []
    assert {q.purpose for q in first.store.questions()} == {"import"}
    assert [q.id for q in first.store.questions()] == [q.id for q in open_]
    assert first.advance()  # trains
    finish(first)
    assert first.ending is not None


@pytest.mark.parametrize("stage", [0, 1])
def test_whoever_has_it_on_the_screen_may_still_answer(tmp_path: Path, stage: int) -> None:
    with campaign(tmp_path / "run", DATA, query=TopK(2)) as going:
        work(going)
        answer(going)
        work(going)
        question = going.open_questions()[0]
        into(going, truth([question.item]))
        other = next(c for c in question.stages[stage] if c != DATA.labels[question.item])
        going.record([Answer(question.id, "label", (NONE,) * stage + (other,), "ana")])
        assert measures.labels(tmp_path / "run")[question.key] == f"c{other}"
        finish(going)


def test_an_export_says_that_nobody_has_seen_a_list(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, query=TopK(2)) as going:
        work(going)
        answer(going)
        work(going)
        into(going, truth([going.open_questions()[0].item, others(going)[0]]))
    export(tmp_path / "run", tmp_path / "x.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    imported = [row for row in rows if row["purpose"] == "import"]
    assert len(imported) == 2
    for row in imported:
        assert [row[name] for name in ("options", "set_size", "alpha", "model", "cost")] == [None, None, None, None, 0]
        assert row["path"] == [row["label"]]


def test_in_the_middle_of_a_calibration(first: Campaign) -> None:
    """Items of D_cal are answered; those chosen for the rest of the round, which are not asked yet, do no harm."""
    answer(first)
    work(first)
    assert first.store.rounds()[-1].state == "calibrating"
    open_ = [q.item for q in first.open_questions()]
    into(first, truth([*open_, *others(first)]))
    assert not first.open_questions()
    finish(first)
    assert set(measures.labels(first.folder.path)) == set(DATA.keys)
    assert Line(1, "import", len(DATA.keys) - 8 - len(open_), 0.0) in first.view.ledger()


@pytest.mark.parametrize("handed_out", [0, 2, 4])
def test_questions_asked_ahead(tmp_path: Path, handed_out: int) -> None:
    with campaign(tmp_path / "run", DATA, ahead=4) as going:
        work(going)
        going.ahead(handed_out)
        ahead = [q.item for q in going.store.questions() if q.purpose == "ahead"]
        assert into(going, truth(ahead)).written == 4
        finish(going)
        assert [len(question_about(going, item)) for item in ahead] == [1] * 4
        assert going.finished_rounds()[1].asked == 8 + 4


def test_between_two_rounds(first: Campaign) -> None:
    answer(first)
    first.advance()
    assert first.store.rounds()[-1].state == "done"
    chosen = others(first)[:5]
    into(first, truth(chosen))
    finish(first)
    assert [len(question_about(first, item)) for item in chosen] == [1] * 5


def test_when_the_campaign_is_over(tmp_path: Path) -> None:
    run(tmp_path / "run", DATA)
    with campaign(tmp_path / "run", DATA) as going:
        assert into(going, truth(range(40))).written == 40 - 32
        assert set(measures.labels(tmp_path / "run")) == set(DATA.keys)
        assert going.questions() == []


def test_the_holdout_stays_the_holdout(tmp_path: Path) -> None:
    model = Fixed(learning(DATA.labels, 5), [[0.2] * 5] * 20)
    with campaign(tmp_path / "run", DATA, model=model, holdout=6) as going:
        work(going)
        held = [q.item for q in going.open_questions()]
        into(going, truth([*held, *others(going)[:3]]))
        work(going)
        assert going.store.rounds()[-1].number == 1
        assert {q.purpose for item in held for q in question_about(going, item)} == {"holdout"}
        finish(going)
    assert all(not set(held) & set(labelled.items.tolist()) for labelled in model.taught)
    assert measures.read(tmp_path / "run").rounds[-1].holdout_cost == 0


def test_before_the_first_round(tmp_path: Path) -> None:
    """What is known beforehand is never asked about."""
    with campaign(tmp_path / "run", DATA) as going:
        names, keys = going.known.classes, going.known.keys
        known = [FileLabel("a file", keys[i], names[DATA.labels[i]], "file") for i in range(0, 40, 2)]
        assert import_labels(going.folder.path, known).written == 20
        assert import_labels(going.folder.path, known).same == 20
        assert {question.item % 2 for question in going.questions()} == {1}
        list(going.run(Simulated(DATA.labels)))
        assert going.finished_rounds()[0].labelled == 28
        assert going.finished_rounds()[0].cost == going.finished_rounds()[0].conventional_cost


def test_what_people_said_stands(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, overlap=Overlap(2, 1.0)) as going:
        work(going)
        labelled, odd, apart = going.open_questions()[:3]
        wrong = {q.item: int(DATA.labels[q.item] + 1) % 5 for q in (labelled, apart)}
        going.record(
            [Answer(labelled.id, "label", (wrong[labelled.item],), p, final=p == "bob") for p in ("ana", "bob")]
        )
        going.record([Answer(odd.id, "none", (NONE,), person) for person in ("ana", "bob")])
        going.record(
            [Answer(apart.id, "label", (wrong[apart.item],), "ana"), Answer(apart.id, "unreadable", (), "bob")]
        )
        items = [labelled.item, odd.item, apart.item]
        assert into(going, truth(items)) == Imported(0, 0, 3, 0)
        assert into(going, truth(items), overwrite=True) == Imported(3, 0, 0, 0)
        assert into(going, truth(items), overwrite=True) == Imported(0, 3, 0, 0)
    found = measures.labels(tmp_path / "run")
    assert {key: found[key] for key in (q.key for q in (labelled, odd, apart))} == {
        DATA.keys[i]: DATA.classes[DATA.labels[i]] for i in items
    }


def test_one_that_was_skipped_gets_another_answer(first: Campaign) -> None:
    question = first.open_questions()[0]
    first.record([Answer(question.id, "skip", (), "ana")])
    assert into(first, truth([question.item], person="ana")).written == 1
    one, two = first.store.answers_to([question.id])
    assert (two.supersedes, two.cost, two.kind) == (one.id, 0.0, "label")
    assert first.store.questions(), "and no question more"
    assert question.key in measures.labels(first.folder.path)


def test_a_skipped_list_is_passed_stage_by_stage(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, query=TopK(2)) as going:
        work(going)
        answer(going)
        work(going)
        listed = {q.id: q for q in going.open_questions()}
        going.record([Answer(number, "skip", (), "ana") for number in listed])
        into(going, truth([q.item for q in listed.values()]), person="bob")
        said = [a for a in going.store.answers() if a.person == "bob"]
        assert [a.question for a in said] == list(listed)
        assert [a.path for a in said] == [listed[a.question].path_to(int(DATA.labels[a.item])) for a in said]
        assert {a.misses for a in said} == {0, 1}
        finish(going)


def test_a_class_that_was_ruled_out(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", DATA, query=OneBit(), rounds=6) as going:
        work(going)
        answer(going)
        work(going)
        question = going.open_questions()[0]
        going.record([Answer(question.id, "none", (NONE,), "ana")])
        (ruled_out,) = question.classes
        row = FileLabel("row 1", question.key, f"c{ruled_out}", None, None)
        assert into(going, [row]).kept == 1
        assert into(going, [row], overwrite=True).written == 1
        assert measures.labels(tmp_path / "run")[question.key] == f"c{ruled_out}"
        finish(going)


def test_in_whose_name_and_how_long(first: Campaign) -> None:
    one, two, three = (q.item for q in first.open_questions()[:3])
    into(first, [row._replace(seconds=2.5) for row in truth([one], person="bob")])
    into(first, truth([two], person="bob"), person="ana")
    into(first, truth([three]))
    assert [(a.item, a.person, a.active_seconds) for a in first.store.answers()] == [
        (one, "bob", 2.5),
        (two, "ana", None),
        (three, "import", None),
    ]


def test_unknown_rows_refuse_all_or_are_skipped(first: Campaign) -> None:
    rows = [
        *truth([0, 1]),
        FileLabel("x.csv: row 4", "nobody", "c1", None, None),
        FileLabel("row 5", "item2", "ape", None, None),
    ]
    with pytest.raises(ShortlistError, match=r"x.csv: row 4: the campaign has no item 'nobody';\nrow 5: the"):
        into(first, rows)
    with pytest.raises(ShortlistError, match="row 5: the campaign has no class 'ape'; nothing was imported"):
        into(first, [rows[0], rows[3]])
    assert first.store.answers() == []
    assert into(first, rows, skip_unknown=True) == Imported(2, 0, 0, 2)


def test_an_interrupted_import_is_finished_by_the_next(first: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module, "CHUNK", 7)
    write = import_module._Part.write

    def interrupted(part: Any, w: Any) -> Any:
        done = write(part, w)
        if any(e.item == 10 for e in part.entries):
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as m:
        m.setattr(import_module._Part, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            into(first, truth(range(30)))
    assert len(first.store.answers()) == 7
    assert into(first, truth(range(30))) == Imported(23, 7, 0, 0)
    assert len(first.store.answers()) == 30


def test_nobody_answers_between_what_an_import_reads_and_what_it_writes(
    first: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = first.open_questions()[0]
    item, other = question.item, (int(DATA.labels[question.item]) + 1) % 5
    waited: list[bool] = []
    answering = threading.Thread(target=lambda: first.record([Answer(question.id, "label", (other,), "ana")]))

    class Looking(import_module._Part):
        def write(self, w: Any) -> Any:
            answering.start()
            answering.join(0.3)
            waited.append(answering.is_alive())
            return super().write(w)

    monkeypatch.setattr(import_module, "_Part", Looking)
    assert into(first, truth([item])).written == 1
    answering.join(60)
    assert waited == [True]
    assert first.labels()[DATA.keys[item]] == f"c{other}"  # said after it


@pytest.mark.parametrize("half", [0xD800, 0xDBFF, 0xDFFF])
def test_half_a_character_is_no_text(tmp_path: Path, half: int) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"key": f"a{chr(half)}", "label": "c1"}) + "\n")
    with pytest.raises(ShortlistError, match=r"key is .*, which is no text"):
        read_labels(tmp_path / "x.jsonl")
    (tmp_path / "x.jsonl").write_text(json.dumps({"key": "\ud7ff\ue000", "label": "c1"}) + "\n")
    assert [row.key for row in read_labels(tmp_path / "x.jsonl")] == ["\ud7ff\ue000"]
