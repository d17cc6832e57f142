from __future__ import annotations

import csv
import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortlist.campaign.storage.store import Store
from shortlist.measures import labels, read
from tests.campaign.toys import data, run
from tests.cli.command import Command
from tests.cli.conftest import Ran

FOLDER = "runs/small/CSQ+Rand/seed-0"


@pytest.fixture
def campaign(ran: Ran) -> Path:
    ran()
    return Path(FOLDER)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_label_with_how_it_came_about(shortlist: Command, campaign: Path, ending: str) -> None:
    target = Path(f"labels.{ending}")
    got = shortlist("export", campaign, target)
    assert (got.code, got.out) == (0, f"150 labels: labels.{ending}\n")
    rows = rows_of(target)
    assert {r["key"]: r["label"] for r in rows} == labels(campaign)
    assert math.fsum(float(r["cost"]) for r in rows) == pytest.approx(read(campaign).rounds[-1].cost)
    for row in rows:
        options, path = row["options"], row["path"]
        assert path[-1] == row["label"]
        if row["purpose"] == "initial":
            assert (options, int(row["set_size"])) == (None, 10)
        elif options is not None:
            assert len(options) == int(row["set_size"])
            assert (len(path) == 1) == (row["label"] in options)
    first = target.read_bytes()
    assert shortlist("export", campaign, target).code == 0
    assert target.read_bytes() == first


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        found = list(csv.DictReader(file))
    return [
        {**r, "options": json.loads(r["options"]) if r["options"] else None, "path": json.loads(r["path"])}
        for r in found
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [("labels.txt", "the name must end in one of .csv"), ("no/labels.csv", "there is no folder no")],
)
def test_a_target_that_cannot_be(shortlist: Command, campaign: Path, target: str, message: str) -> None:
    got = shortlist("export", campaign, target)
    assert got.code == 1
    assert message in got.err


def test_a_folder_without_a_campaign(shortlist: Command) -> None:
    got = shortlist("export", "nowhere", "x.csv")
    assert (got.code, got.err) == (1, "error: nowhere: no campaign here (there is no campaign.db)\n")


def test_label_studio_with_the_interface_that_fits(shortlist: Command, campaign: Path) -> None:
    got = shortlist("export", campaign, "labels.json", "--all")
    assert (got.code, got.err) == (0, "")
    assert got.out.startswith("1347 items: labels.json\n")
    assert '<Choices name="label" toName="item" value="$options"' in got.out
    (kind,) = {key for key in ("text", "image", "key") if f'value="${key}"' in got.out}
    assert all(kind in task["data"] for task in json.loads(Path("labels.json").read_text()))


@pytest.fixture
def mail(shortlist: Command) -> Path:
    """A campaign about rows of a table, as `shortlist run` has made it from a path that is from here."""
    rows = "".join(f'm{i},"hello, {i}",{"ab"[i % 2]},00{i}\n' for i in range(20))
    Path("mail.csv").write_text(f"id,body,topic,code\n{rows}")
    Path("mail.toml").write_text(MAIL)
    assert shortlist("run", "mail.toml", "--no-report").code == 0
    (folder,) = {path.parent for path in Path("runs").rglob("campaign.db")}
    return folder.absolute()


MAIL = """
initial = 4
budget = 4
rounds = 1
model = "scikit"
query = "conventional"
acquisition = "random"
dataset = { name = "table", path = "mail.csv", text = "body", label = "topic", key = "id" }
"""


def test_texts_come_from_the_dataset_wherever_the_command_is_started(
    shortlist: Command, mail: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert shortlist("export", mail, "mail.doccano.jsonl").code == 0
    assert all(row["text"] == f"hello, {row['meta']['key'][1:]}" for row in rows_of(Path("mail.doccano.jsonl")))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert shortlist("export", mail, "mail.doccano.jsonl").code == 0
    assert Path("mail.doccano.jsonl").read_bytes() == (tmp_path / "mail.doccano.jsonl").read_bytes()


def test_a_campaign_that_remembers_a_path_from_elsewhere_finds_it_above_its_folder(
    shortlist: Command, mail: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As campaigns of an earlier version do."""
    with Store(mail / "campaign.db") as store, store.writing() as w:
        config = store.config()
        config["dataset"]["path"] = "mail.csv"
        w.set_config(config)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert shortlist("export", mail, "mail.doccano.jsonl").code == 0
    assert rows_of(Path("mail.doccano.jsonl"))[0]["text"].startswith("hello, ")


def test_without_its_dataset_no_keys_are_given_for_texts(shortlist: Command, mail: Path) -> None:
    Path("mail.csv").rename("moved.csv")
    got = shortlist("export", mail, "mail.doccano.jsonl")
    assert got.code == 1
    assert "what its items are cannot be read: " in got.err
    assert "mail.csv: there is no such file. --data FOLDER says where to look; csv, jsonl and parquet" in got.err
    assert not Path("mail.doccano.jsonl").exists()
    assert shortlist("export", mail, "mail.csv").code == 0
    Path("mail.csv").write_text("id,body,topic\nn1,other,a\nn2,mail,b\n")
    got = shortlist("export", mail, "mail.doccano.jsonl")
    assert (got.code, "the dataset has lost 20 of its items, first 'm0'; put them back" in got.err) == (1, True)


def test_features_of_an_encoder_do_not_stand_in_the_way(shortlist: Command, mail: Path) -> None:
    with Store(mail / "campaign.db") as store, store.writing() as w:
        config = store.config()
        config["dataset"]["features"] = {"name": "simclr", "width": 8}
        w.set_config(config)
    assert shortlist("export", mail, "mail.doccano.jsonl").code == 0
    assert rows_of(Path("mail.doccano.jsonl"))[0]["text"].startswith("hello, ")


def test_the_table_comes_back_as_it_was_given(shortlist: Command, mail: Path) -> None:
    got = shortlist("export", mail, "labelled.csv", "--as-given")
    assert (got.code, got.out) == (0, "20 rows: labelled.csv\n"), got.err
    with Path("mail.csv").open(newline="") as given, Path("labelled.csv").open(newline="") as back:
        before, after = list(csv.DictReader(given)), list(csv.DictReader(back))
    assert [{name: row[name] for name in before[0]} for row in after] == before
    told = labels(mail)
    assert len(told) == 4
    assert {row["id"]: row["label"] for row in after if row["label"]} == told
    assert {row["status"] for row in after} == {"labelled", "open"}
    assert "key" not in after[0]
    got = shortlist("export", mail, "labelled.json", "--as-given")
    assert "label-studio has a label an item; write a given table as one of csv" in got.err


def test_ids_keep_their_type_and_columns_of_the_owner_their_names(shortlist: Command) -> None:
    n, day = 20, date(2024, 2, 29)
    columns = {"id": list(range(n)), "body": [f"hello {i}" for i in range(n)], "label": ["a", "b"] * (n // 2)}
    given = pa.table({**columns, "note": [["x"], []] * (n // 2), "day": [day] * n, "score": [0.5, None] * (n // 2)})
    pq.write_table(given, "mail.parquet")
    table = '{ name = "table", path = "mail.parquet", text = "body", label = "label", key = "id" }'
    Path("mail.toml").write_text(MAIL.partition("dataset")[0] + f"dataset = {table}\n")
    assert shortlist("run", "mail.toml", "--no-report").code == 0
    (folder,) = {path.parent for path in Path("runs").rglob("campaign.db")}
    got = shortlist("export", folder, "back.parquet", "--as-given")
    assert got.code == 0, got.err
    back = pq.read_table("back.parquet")
    assert back.select(given.column_names).equals(given)
    assert {str(r["id"]): r["shortlist_label"] for r in back.to_pylist() if r["shortlist_label"]} == labels(folder)
    assert shortlist("export", folder, "back.jsonl", "--as-given").code == 0
    row = rows_of(Path("back.jsonl"))[1]
    assert [row[name] for name in given.column_names] == [1, "hello 1", "b", [], "2024-02-29", None]
    assert shortlist("export", folder, "back.csv", "--as-given").code == 0
    assert Path("back.csv").read_text().splitlines()[1].startswith('0,hello 0,a,"[""x""]",2024-02-29,0.5,')


def test_items_that_were_in_memory_are_given_by_their_keys(shortlist: Command) -> None:
    run(Path("run"), data(), rounds=1)
    got = shortlist("export", "run", "x.json")
    assert (got.code, got.err) == (
        0,
        "the items were in memory and are given by their keys; Campaign.export knows what they are\n",
    )
    assert {task["data"]["key"] for task in json.loads(Path("x.json").read_text())} == set(labels("run"))


def test_what_is_no_table_cannot_come_back_as_given(shortlist: Command, campaign: Path) -> None:
    got = shortlist("export", campaign, "x.csv", "--as-given")
    assert (got.code, got.err) == (
        1,
        "error: --as-given: the items of this campaign are no rows of a table; leave it out\n",
    )


def test_every_answer(shortlist: Command, campaign: Path) -> None:
    got = shortlist("export", campaign, "answers", "--answers", "--format", "jsonl")
    assert (got.code, got.out) == (0, "150 answers: answers\n")
    both = shortlist("export", campaign, "x.csv", "--answers", "--all")
    assert (both.code, both.err) == (
        1,
        "error: export: give --all or --answers, not both; --as-given has a row for every item\n",
    )
