from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortlist.campaign.accounting.ledger import Line
from shortlist.campaign.storage.store import Store
from shortlist.measures import labels, read
from tests.cli.command import Command
from tests.cli.conftest import Ran

FOLDER = Path("runs/small/CSQ+Rand/seed-0")


@pytest.fixture
def campaign(ran: Ran) -> Path:
    ran()
    return FOLDER


def test_labels_from_a_table(shortlist: Command, campaign: Path) -> None:
    known = labels(campaign)
    taken = next(iter(known))
    with Store(campaign / "campaign.db", read_only=True) as store:
        keys = store.keys()
    free = [key for key in keys if key not in known][:3]
    wrong = "1" if known[taken] == "0" else "0"
    rows = [f"{key},3" for key in free] + [f"{taken},{wrong}"]
    Path("more.csv").write_text("\n".join(["key,label", *rows]) + "\n")
    got = shortlist("import", campaign, "more.csv", "--person", "ana")
    assert (got.code, got.out) == (0, f"3 labels imported: {campaign}\n1 keep what people said\n")
    assert Line(3, "import", 3, 0.0) in read(campaign).ledger
    again = shortlist("import", campaign, "more.csv")
    assert again.out == f"0 labels imported: {campaign}\n3 had that label\n1 keep what people said\n"
    assert shortlist("import", campaign, "more.csv", "--overwrite").code == 0
    assert labels(campaign)[taken] == wrong


def test_unknown_rows(shortlist: Command, campaign: Path) -> None:
    Path("more.csv").write_text("key,label\nnobody,3\n")
    got = shortlist("import", campaign, "more.csv")
    assert got.code == 1
    assert got.err.startswith("error: more.csv: row 2: the campaign has no item 'nobody'; nothing was imported")
    said = "more.csv: row 2: the campaign has no item 'nobody'"
    got = shortlist("import", campaign, "more.csv", "--skip-unknown")
    assert (got.code, got.out) == (0, f"0 labels imported: {campaign}\n1 are unknown\n{said}\n")


def test_every_refused_row_is_named(shortlist: Command, campaign: Path) -> None:
    Path("more.csv").write_text("key,label\n" + "".join(f"ghost{i},3\n" for i in range(12)) + "0,ape\n")
    got = shortlist("import", campaign, "more.csv")
    assert got.code == 1
    assert [f"more.csv: row {i + 2}: the campaign has no item 'ghost{i}'" in got.err for i in range(12)] == (
        [True] * 10 + [False] * 2
    )
    assert "and 3 more rows like these; nothing was imported" in got.err


def test_columns_of_other_names(shortlist: Command, campaign: Path) -> None:
    with Store(campaign / "campaign.db", read_only=True) as store:
        keys = store.keys()
    free = [key for key in keys if key not in labels(campaign)][:3]
    Path("more.csv").write_text("class,filename\n" + "".join(f"3,{key}\n" for key in free[:1]))
    Path("more.jsonl").write_text("".join(f'{{"class": "3", "filename": "{key}"}}\n' for key in free[1:]))
    named = ("--key", "filename", "--label", "class")
    for file, n in (("more.csv", 1), ("more.jsonl", 2)):
        got = shortlist("import", campaign, file, *named)
        assert (got.code, got.out) == (0, f"{n} labels imported: {campaign}\n"), got.err
    assert {labels(campaign)[key] for key in free} == {"3"}
    got = shortlist("import", campaign, "more.csv")
    assert got.err == (
        "error: more.csv: there is no column 'key'; the columns are 'class', 'filename' (another one: --key COLUMN)\n"
    )
    Path("x.json").write_text("[]")
    got = shortlist("import", campaign, "x.json", *named)
    assert got.err == "error: x.json: label-studio has its own place for the key; --key is for tables\n"


def test_nothing_imported_never_goes_without_a_reason(shortlist: Command, campaign: Path) -> None:
    Path("empty.csv").write_text("key,label\n1,\n2,\n")
    got = shortlist("import", campaign, "empty.csv")
    assert (got.code, got.err) == (1, "error: empty.csv: no row of it has a label, so nothing was imported\n")
    Path("other.jsonl").write_text('{"key": "1", "class": "3"}\n')
    got = shortlist("import", campaign, "other.jsonl")
    assert (got.code, got.err) == (
        1,
        "error: other.jsonl: no line has a 'label' (another name for the label: --label NAME)\n",
    )


def test_a_name_that_stands_twice_is_refused(shortlist: Command, campaign: Path) -> None:
    Path("twice.csv").write_text("key,label,label\n1,3,4\n")
    got = shortlist("import", campaign, "twice.csv")
    assert (got.code, got.err) == (1, "error: twice.csv: the column 'label' appears more than once\n")
    Path("twice.jsonl").write_text('{"key": "1", "label": "3", "label": "4"}\n')
    got = shortlist("import", campaign, "twice.jsonl")
    assert (got.code, got.err) == (
        1,
        "error: twice.jsonl: line 1 is not JSON ('label' appears more than once in it)\n",
    )
    Path("twice.json").write_text('[{"data": {"key": "1", "key": "2"}, "annotations": []}]')
    got = shortlist("import", campaign, "twice.json")
    assert (got.code, got.err) == (1, "error: twice.json: task 1 is not JSON ('key' appears more than once in it)\n")
    pq.write_table(pa.Table.from_arrays([["1"], ["3"], ["4"]], names=["key", "label", "label"]), "twice.parquet")
    got = shortlist("import", campaign, "twice.parquet")
    assert (got.code, got.err) == (1, "error: twice.parquet: the column 'label' appears more than once\n")
