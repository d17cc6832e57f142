from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from shortlist.measures import labels, read
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


def test_texts_come_from_the_dataset(shortlist: Command, tmp_path: Path) -> None:
    Path("mail.csv").write_text("id,body,topic\n" + "".join(f"m{i},hello {i},{'ab'[i % 2]}\n" for i in range(20)))
    Path("mail.toml").write_text(
        'initial = 4\nbudget = 4\nrounds = 1\nmodel = "scikit"\nquery = "conventional"\nacquisition = "random"\n'
        'dataset = { name = "table", path = "mail.csv", text = "body", label = "topic", key = "id" }\n'
    )
    assert shortlist("run", "mail.toml", "--no-report").code == 0
    (folder,) = {path.parent for path in Path("runs").rglob("campaign.db")}
    assert shortlist("export", folder, "mail.doccano.jsonl").code == 0
    assert all(row["text"] == f"hello {row['meta']['key'][1:]}" for row in rows_of(Path("mail.doccano.jsonl")))
    Path("mail.csv").unlink()
    got = shortlist("export", folder, "mail.doccano.jsonl")
    assert got.code == 0
    assert "items are given by their keys only, as the dataset cannot be read: mail.csv" in got.err
    assert all(row["text"] == row["meta"]["key"] for row in rows_of(Path("mail.doccano.jsonl")))


def test_every_answer(shortlist: Command, campaign: Path) -> None:
    got = shortlist("export", campaign, "answers", "--answers", "--format", "jsonl")
    assert (got.code, got.out) == (0, "150 answers: answers\n")
    both = shortlist("export", campaign, "x.csv", "--answers", "--all")
    assert (both.code, both.err) == (1, "error: export: give --all or --answers, not both\n")
