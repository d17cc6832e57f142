"""What a folder came to, as the command line tells it: the same words of the old code and the new."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from shortlist.cli import main

ROUND = [
    *("round", "labelled", "accuracy", "macro_f1", "cost", "relative_cost"),
    *("alpha", "threshold", "mean_set_size"),  # coverage and the conventional cost are counted in another way since
]
ANSWER = [
    *("answer", "question", "key", "round", "purpose", "person", "options", "alpha", "kind", "path", "cost"),
    *("supersedes", "superseded", "decided"),
]


def shortlist(*arguments: str | Path) -> str:
    """The command, from where we are; what it prints."""
    out, code = StringIO(), None
    named = patch.object(sys, "argv", ["shortlist", *map(str, arguments)])
    with named, patch.dict(os.environ, COLUMNS="100"), redirect_stdout(out):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert not code, out.getvalue()
    return out.getvalue()


def outcome(campaign: Path) -> dict[str, Any]:
    """Every round's numbers, every item's status and label, and every answer to what was asked, at which cost."""
    with tempfile.TemporaryDirectory() as scratch:
        items, answers, rounds = (Path(scratch) / name for name in ("all.jsonl", "answers.jsonl", "rounds.parquet"))
        shortlist("export", campaign, items, "--all")
        shortlist("export", campaign, answers, "--answers")
        shortlist("results", campaign, "-o", rounds)
        return {
            "rounds": [{name: row[name] for name in ROUND} for row in pq.read_table(rounds).to_pylist()],
            "labels": {row["key"]: [row["status"], row["label"]] for row in read_lines(items)},
            "answers": [[row[name] for name in ANSWER] for row in read_lines(answers)],
        }


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def study_table(folder: Path) -> dict[str, Any]:
    """The table on the terminal and the answers. When an answer was given is left out, and so is the cost model: people
    who guess enter no fit since, and these guess."""
    printed = shortlist("study", folder, "--table").splitlines()
    rows = list(csv.DictReader((folder / "study.csv").read_text("utf-8").splitlines()))
    return {
        "table": [line.split() for line in printed if re.match(r" +\d+ +\d+ ", line)],
        "answers": [[value for name, value in row.items() if name != "at"] for row in rows],
    }
