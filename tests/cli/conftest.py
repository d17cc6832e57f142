from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command

RECIPE = """
initial = 30
budget = 60
rounds = 3
seeds = [0, 1]
dataset = "digits"
model = "scikit"

[queries]
CQ = "conventional"
CSQ = { name = "candidate_set", n_cal = 20 }

[acquisitions]
Rand = "random"
"Cost(Ent)" = { name = "cost_aware", inner = "entropy" }

[[runs]]
queries = ["CQ", "CSQ"]
acquisitions = ["Rand"]

[[runs]]
queries = ["CSQ"]
acquisitions = ["Cost(Ent)"]
"""


@pytest.fixture
def shortlist(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path
