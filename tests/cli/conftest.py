"""A small recipe, the command line, and what it has made of the recipe."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from rich.console import Console

from shortlist.experiments.sweep import sweep
from shortlist.recipes.recipe import jobs, read_recipe
from tests.cli.command import Command

Ran: TypeAlias = Callable[..., None]

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
    return written(tmp_path)


def written(folder: Path) -> Path:
    path = folder / "small.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `shortlist run` makes of the recipe."""
    folder = tmp_path_factory.mktemp("finished") / "runs" / "small"
    recipe = read_recipe(written(folder.parents[1]))
    sweep(jobs(recipe, folder), data=None, workers=1, console=Console(quiet=True))
    return folder


@pytest.fixture
def ran(finished: Path, shortlist: Command) -> Ran:
    """As if `shortlist run` had been run to its end already, with these seeds."""

    def to(folder: Path | str = "runs/small", *, seeds: tuple[int, ...] = (0,)) -> None:
        others = [f"seed-{seed}" for seed in {0, 1} - set(seeds)]
        shutil.copytree(finished, folder, ignore=shutil.ignore_patterns(*others))

    return to
