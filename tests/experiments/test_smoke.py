"""Every recipe with a `[smoke]` runs to its end from the command line, on made-up data."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist.experiments.recipes import jobs, read_recipe, smoke_recipe
from shortlist.experiments.results import read_results
from shortlist.measures import read
from tests.cli.command import Command

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
SMALL = {path.stem: path for path in RECIPES if read_recipe(path).smoke}


@pytest.fixture
def shortlist(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    return Command(monkeypatch, capsys)


def test_every_image_recipe_can_be_made_small() -> None:
    assert list(SMALL) == ["cifar10", "cifar100", "imagenet64", "imbalance", "noise", "products10k", "weak"]


@pytest.mark.parametrize("path", SMALL.values(), ids=lambda p: p.stem)
def test_a_recipe_made_small_runs_to_its_end(path: Path, shortlist: Command) -> None:
    got = shortlist("run", path, "--smoke", "--no-report")
    assert got.code == 0, got.err
    assert f"this run is on made-up records in runs/{path.stem}-smoke/data" in got.err
    for job in jobs(smoke_recipe(read_recipe(path), path.name), Path("runs") / f"{path.stem}-smoke"):
        record = read(job.folder)
        assert [r.number for r in record.rounds] == list(range(1, (job.recipe.rounds or 0) + 1)), job.label
        assert record.rounds[-1].accuracy is not None
    assert shortlist("results", "runs", "-o", "small.parquet").code == 0
    assert {row["recipe"] for row in read_results([Path("small.parquet")])} == {f"{path.stem}-smoke"}


def test_data_that_is_there_is_used(shortlist: Command, tmp_path: Path) -> None:
    from shortlist.datasets.examples import write_example

    write_example("cifar10", tmp_path / "data", items=600, test_items=120, seed=1)
    line = ("run", SMALL["cifar10"], "--smoke", "--no-report", "--only", "CSQ+Rand", "--data")
    got = shortlist(*line, "data")
    assert got.code == 0, got.err
    assert "made-up" not in got.err
    assert not Path("runs/cifar10-smoke/data").exists()
    wrong = shortlist(*line, "dada", "--out", "other")
    assert (wrong.code, wrong.err) == (1, "error: cifar10: dada (from --data) is not a folder\n")
