"""Every recipe with a `[smoke]` runs to its end from the command line, on made-up data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist.datasets.official.examples import write_example
from shortlist.experiments.result_files import read_results
from shortlist.measures import read
from shortlist.recipes.recipe import jobs, read_recipe, smoke_recipe
from tests.cases import torture
from tests.cli.command import Command

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
SMALL = {path.stem: path for path in RECIPES if read_recipe(path).smoke}

CIFAR10 = pytest.param(SMALL["cifar10"], id="cifar10", marks=torture)  # cifar100 has its pairs, and it is run below
SHORT = [CIFAR10 if name == "cifar10" else path for name, path in SMALL.items()]


@pytest.fixture
def shortlist(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    return Command(monkeypatch, capsys)


def test_every_image_recipe_can_be_made_small() -> None:
    assert list(SMALL) == ["cifar10", "cifar100", "imagenet64", "imbalance", "noise", "products10k", "weak"]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=torture)], ids=["some", "every"])
@pytest.mark.parametrize("path", SHORT, ids=lambda p: p.stem)
def test_a_recipe_made_small_runs_to_its_end(path: Path, every: bool, shortlist: Command) -> None:
    """Every pair of it, or those that are cost-aware where there are any: they go through the plain ones."""
    listed = jobs(smoke_recipe(read_recipe(path), path.name), Path("runs") / f"{path.stem}-smoke")
    if not every:
        listed = [job for job in listed if job.acquisition.startswith("Cost")] or listed
    only = {f"--only={job.query}+{job.acquisition}" for job in listed}
    got = shortlist("run", path, "--smoke", "--no-report", *sorted(only))
    assert got.code == 0, got.err
    assert f"this run is on made-up records in runs/{path.stem}-smoke/made-up" in got.err
    for job in listed:
        record = read(job.folder)
        assert [r.number for r in record.rounds] == list(range(1, (job.recipe.rounds or 0) + 1)), job.label
        assert record.rounds[-1].accuracy is not None
    assert shortlist("results", "runs", "-o", "small.parquet").code == 0
    assert {row["recipe"] for row in read_results([Path("small.parquet")])} == {f"{path.stem}-smoke"}


def test_data_that_is_there_is_used(shortlist: Command, tmp_path: Path) -> None:
    write_example("cifar10", tmp_path / "data", items=600, test_items=120, seed=1)
    line = ("run", SMALL["cifar10"], "--smoke", "--no-report", "--only", "CSQ+Rand", "--data")
    got = shortlist(*line, "data")
    assert got.code == 0, got.err
    assert "made-up" not in got.err
    assert not Path("runs/cifar10-smoke/made-up").exists()
    wrong = shortlist(*line, "dada", "--out", "other")
    assert (wrong.code, wrong.err) == (1, "error: cifar10: dada (from --data) is not a folder\n")


# --- nothing of anybody's is written over ----------------------------------------------------------------------


def noise_with(labels: str) -> Path:
    path = Path("noise.toml")
    path.write_text(SMALL["noise"].read_text().replace("cifar100n/human_labels.npz:noisy", labels))
    return path


@pytest.mark.parametrize("where", ["absolute", "above"])
def test_labels_of_somebodys_own_are_left_as_they_are(where: str, shortlist: Command, tmp_path: Path) -> None:
    mine = tmp_path / "runs/mine.npz"
    mine.parent.mkdir()
    np.savez(mine, noisy=np.arange(5))
    before = mine.read_bytes()
    recipe = noise_with(f"{mine}:noisy" if where == "absolute" else "../../mine.npz:noisy")
    line = ("run", recipe, "--smoke", "--no-report", "--only", "human")
    got = shortlist(*line)
    assert got.code == 0, got.err
    assert mine.read_bytes() == before
    assert not Path("runs/noise-smoke/mine.npz").exists()
    assert Path("runs/noise-smoke/made-up/crowd/human.npy").exists()
    assert shortlist(*line).code == 0  # and goes on


def test_real_data_in_the_folder_of_a_smoke_run_is_left_as_it_is(shortlist: Command) -> None:
    for folder in ("data", "made-up"):
        real = Path("X") / folder / "cifar-10-batches-py" / "data_batch_1"
        real.parent.mkdir(parents=True)
        real.write_bytes(b"real")
    got = shortlist("run", SMALL["cifar10"], "--smoke", "--no-report", "--only", "CSQ+Rand", "--out", "X")
    assert (got.code, got.err) == (
        1,
        "error: X/made-up/cifar-10-batches-py: holds files that were not made up, and nothing is written over them\n",
    )
    assert {path.read_bytes() for path in Path("X").rglob("*") if path.is_file()} == {b"real"}


def test_a_crowd_is_made_up_where_only_its_file_is_missing(shortlist: Command) -> None:
    home = write_example("cifar100", "data", items=600, test_items=120)
    line = ("run", SMALL["noise"], "--smoke", "--no-report", "--only", "human", "--data", "data")
    got = shortlist(*line)
    assert got.code == 0, got.err
    assert "no cifar100n/human_labels.npz: these answers are made up, in runs/noise-smoke/made-up" in got.err
    assert not Path("runs/noise-smoke/made-up/cifar-100-python").exists()
    made = read("runs/noise-smoke/human/CSQ+Cost-Ent/seed-0").config
    assert made["dataset"]["folder"] == str(home)
    (home.parent / "cifar100n").mkdir()
    np.savez("data/cifar100n/human_labels.npz", noisy=np.arange(600) % 100)
    got = shortlist(*line, "--out", "real")
    assert got.code == 0, got.err
    assert "made up" not in got.err
    assert not Path("real/made-up").exists()
