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

FOLDER = "runs/small/CSQ+Rand/seed-0"


@pytest.fixture
def campaign(shortlist: Command, recipe: Path) -> Path:
    assert shortlist("run", recipe, "--seeds", "0").code == 0
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
    [("labels.txt", "the name must end in .csv, .jsonl, .parquet"), ("no/labels.csv", "there is no folder no")],
)
def test_a_target_that_cannot_be(shortlist: Command, campaign: Path, target: str, message: str) -> None:
    got = shortlist("export", campaign, target)
    assert got.code == 1
    assert message in got.err


def test_a_folder_without_a_campaign(shortlist: Command) -> None:
    got = shortlist("export", "nowhere", "x.csv")
    assert (got.code, got.err) == (1, "error: nowhere: no campaign here (there is no campaign.db)\n")
