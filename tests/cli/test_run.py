from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from shortlist.measures import Record, labels, read
from shortlist.types import Round
from tests.cases import torture
from tests.cli.command import Command, snapshot
from tests.cli.conftest import Ran


def results(record: Record) -> list[Round]:
    """Everything but the clock."""
    return [replace(r, seconds=0) for r in record.rounds]


def test_a_grid_runs_reports_and_goes_on_by_itself(shortlist: Command, recipe: Path) -> None:
    first = shortlist("run", recipe)
    assert first.code == 0, first.err
    folders = sorted(p.parent for p in Path("runs/small").rglob("campaign.db"))
    assert [str(f) for f in folders] == [
        f"runs/small/{name}/seed-{seed}" for name in ("CQ+Rand", "CSQ+Cost-Ent", "CSQ+Rand") for seed in (0, 1)
    ]
    assert Path("runs/small/report.html").stat().st_size > 10_000
    assert "CSQ+Rand" in first.out
    assert "report.html" in first.out
    before = {f: results(read(f)) for f in folders}
    again = shortlist("run", recipe)
    assert again.code == 0
    assert {f: results(read(f)) for f in folders} == before


def test_twins_have_the_same_labels_and_the_candidate_sets_cost_less(ran: Ran) -> None:
    ran(seeds=(0, 1))
    for seed in (0, 1):
        cq, csq = (Path(f"runs/small/{q}+Rand/seed-{seed}") for q in ("CQ", "CSQ"))
        assert labels(cq) == labels(csq)
        assert read(csq).rounds[-1].cost < read(cq).rounds[-1].cost


@torture  # the interrupted run above is one of two at a time
def test_two_at_a_time_give_what_one_at_a_time_gives(shortlist: Command, ran: Ran, recipe: Path) -> None:
    ran("one", seeds=(0, 1))
    assert shortlist("run", recipe, "--out", "two", "--jobs", "2", "--no-report").code == 0
    for folder in sorted(p.parent for p in Path("one").rglob("campaign.db")):
        assert results(read(folder)) == results(read(Path("two") / folder.relative_to("one")))


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=torture), 2])
def test_interrupted_by_hand_the_same_command_goes_on(shortlist: Command, ran: Ran, recipe: Path, jobs: int) -> None:
    command = [sys.executable, "-c", "from shortlist.cli import main; main()", "run", str(recipe), f"--jobs={jobs}"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(Path("runs").rglob("asked.npz")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err.strip().splitlines()[-1] == "stopped; the same command goes on from here"
    assert shortlist("run", recipe, "--no-report").code == 0
    ran("whole", seeds=(0, 1))
    for folder in sorted(p.parent for p in Path("whole").rglob("campaign.db")):
        assert results(read(folder)) == results(read(Path("runs/small") / folder.relative_to("whole")))


def test_other_seeds(shortlist: Command, recipe: Path) -> None:
    assert shortlist("run", recipe, "--seeds", "7", "--no-report").code == 0
    assert {p.parent.name for p in Path("runs").rglob("campaign.db")} == {"seed-7"}


def test_a_campaigns_own_settings_are_a_recipe(shortlist: Command, ran: Ran) -> None:
    ran()
    made = Path("runs/small/CSQ+Cost-Ent/seed-0")
    assert shortlist("run", made / "campaign.toml", "--out", "again", "--no-report").code == 0
    assert results(read("again/seed-0")) == results(read(made))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("initial = 30", "initail = 30", "small.toml: initail: no such field; there are name, dataset"),
        ("initial = 30", "initial = 0", "small.toml: initial: Input should be greater than or equal to 1"),
        ("initial = 30", 'initial = "many"', "small.toml: initial: Input should be a valid integer"),
        ('dataset = "digits"', 'dataset = "digitz"', "dataset.name: 'digitz' is none of arrays, cifar10"),
        (
            'dataset = "digits"',
            'dataset = "r52"',
            "r52: its folder is not known; give --data FOLDER or set SHORTLIST_DATA",
        ),
        ('dataset = "digits"', 'dataset = { name = "table", path = "no.csv", text = "t", label = "l" }', "no.csv"),
        ("n_cal = 20", "n_call = 20", "queries.CSQ.n_call: no such setting; candidate_set has n_cal, alpha"),
        ("n_cal = 20", "n_cal = 61", "n_cal: 61 calibration items do not fit in a batch of 60"),
        ("n_cal = 20", 'n_cal = "x"', "queries.CSQ.n_cal: 'x' does not fit: input should be a valid integer"),
        ('inner = "entropy"', 'inner = "entropi"', "acquisitions.Cost(Ent).inner.name: 'entropi' is none of"),
        ('queries = ["CSQ"]', 'queries = ["CSX"]', "small.toml: runs.queries: 'CSX' is not among CQ, CSQ"),
        (
            'model = "scikit"',
            'model = { name = "scikit", estimator = "Nope()" }',
            "scikit-learn has no Nope",
        ),
        (
            "rounds = 3",
            "rounds = 3\nstop = { acuracy = 90 }",
            "stop.acuracy: no such setting; there are rounds, cost, accuracy",
        ),
        ("rounds = 3", "rounds = 3\nquery = 'top_k'", "give either query or queries"),
        ("initial = 30", "initial = ", "small.toml: cannot be read as TOML"),
    ],
)
def test_a_wrong_recipe_gets_one_sentence_and_leaves_no_file(
    shortlist: Command, recipe: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    recipe.write_text(recipe.read_text().replace(old, new))
    before = snapshot(Path())
    got = shortlist("run", recipe)
    assert got.code == 1
    assert got.err.startswith("error: ")
    assert message in got.err
    assert len(got.err.strip().splitlines()) == 1
    assert snapshot(Path()) == before


def test_a_label_of_no_class_is_named_by_file_column_and_row(shortlist: Command, recipe: Path) -> None:
    Path("mail.csv").write_text("text,label\nhello,a\nworld,b\nfoo,z\n")
    table = '{ name = "table", path = "mail.csv", text = "text", label = "label", classes = ["a", "b"] }'
    recipe.write_text(recipe.read_text().replace('dataset = "digits"', f"dataset = {table}"))
    got = shortlist("run", recipe)
    assert got.code == 1
    assert f"{Path('mail.csv').absolute()}, column 'label', row 2 (counting from 0): 'z' is not one of" in got.err
    assert not Path("runs").exists()


def test_a_recipe_that_is_not_there(shortlist: Command) -> None:
    got = shortlist("run", "none.toml")
    assert (got.code, got.err) == (1, "error: none.toml: there is no such recipe\n")


def test_a_folder_made_by_another_configuration_is_left_as_it_was(shortlist: Command, recipe: Path) -> None:
    assert shortlist("run", recipe, "--seeds", "0", "--only", "CQ+Rand", "--no-report").code == 0
    recipe.write_text(recipe.read_text().replace("budget = 60", "budget = 61"))
    before = snapshot(Path("runs"))
    got = shortlist("run", recipe, "--seeds", "0")
    assert got.code == 1
    assert "this campaign was made with budget = 60, not 61; use the same settings or another folder" in got.err
    assert snapshot(Path("runs")) == before


def test_a_damaged_database_is_named_and_left_as_it_was(shortlist: Command, ran: Ran, recipe: Path) -> None:
    ran()
    broken = Path("runs/small/CQ+Rand/seed-0/campaign.db")
    broken.write_bytes(b"not a database" * 500)
    before = snapshot(Path("runs"))
    for command in (("run", recipe, "--seeds", "0"), ("report", "runs"), ("export", broken.parent, "x.csv")):
        got = shortlist(*command)
        assert got.code == 1
        assert str(broken) in got.err
        assert "damaged" in got.err
    assert snapshot(Path("runs")) == before


def test_a_budget_larger_than_the_pool_takes_what_is_left_and_says_so(shortlist: Command, recipe: Path) -> None:
    text = recipe.read_text().replace("initial = 30", "initial = 1300").replace("budget = 60", "budget = 100")
    recipe.write_text(text)
    got = shortlist("run", recipe, "--seeds", "0", "--only", "CSQ+Rand", "--no-report")
    assert got.code == 0
    assert "round 2: budget asks for 100 items; the pool has 47, all are taken" in " ".join(got.err.split())
    assert read("runs/small/CSQ+Rand/seed-0").rounds[-1].labelled == 1347


def test_more_rounds_later(shortlist: Command, ran: Ran, recipe: Path) -> None:
    ran()
    recipe.write_text(recipe.read_text().replace("rounds = 3", "rounds = 4"))
    line = ("run", recipe, "--seeds", "0", "--only", "CSQ+Rand", "--no-report")
    assert shortlist(*line).code == 0
    assert shortlist(*line, "--out", "whole").code == 0
    folder = "CSQ+Rand/seed-0"
    assert results(read(Path("runs/small") / folder)) == results(read(Path("whole") / folder))


# --- a part of a recipe, a recipe made small, a machine that cannot draw ---------------------------------------


def folders() -> list[str]:
    return sorted(str(p.parent.relative_to("runs")) for p in Path("runs").rglob("campaign.db"))


def test_only_some_pairs_and_the_report_is_about_all_there_are(shortlist: Command, recipe: Path) -> None:
    assert shortlist("run", recipe, "--seeds", "0", "--only", "CSQ+Cost(Ent)", "--no-report").code == 0
    assert folders() == ["small/CSQ+Cost-Ent/seed-0"]
    got = shortlist("run", recipe, "--seeds", "0", "--only", "CQ+Rand")
    assert folders() == ["small/CQ+Rand/seed-0", "small/CSQ+Cost-Ent/seed-0"]
    assert "CSQ+Cost(Ent)" in got.out
    got = shortlist("run", recipe, "--only", "CSQ+Nobody")
    assert (got.code, got.err) == (
        1,
        "error: --only: 'CSQ+Nobody' is none of CQ+Rand, CSQ+Rand, CSQ+Cost(Ent)\n",
    )


def test_variants_run_in_folders_of_their_own(shortlist: Command, recipe: Path) -> None:
    recipe.write_text(recipe.read_text() + '\n[variants]\n"noise=0.2".annotator.noise = 0.2\nfew.rounds = 2\n')
    got = shortlist("run", recipe, "--seeds", "0", "--only", "CSQ+Rand", "--no-report")
    assert got.code == 0, got.err
    assert folders() == ["small/few/CSQ+Rand/seed-0", "small/noise=0.2/CSQ+Rand/seed-0"]
    assert "noise=0.2: CSQ+Rand, seed 0: 3 rounds done" in got.err
    assert [len(read(Path("runs") / f).rounds) for f in folders()] == [2, 3]


def test_another_setting_names_the_run(shortlist: Command, recipe: Path) -> None:
    line = ("run", recipe, "--seeds", "0", "--only", "CQ+Rand", "--no-report", "--set", "rounds=1")
    assert shortlist(*line).code == 0
    assert folders() == ["small-rounds=1/CQ+Rand/seed-0"]
    assert shortlist(*line, "--set", "model.batch=7", "--out", "here").code == 0  # over a word
    assert read("here/CQ+Rand/seed-0").config["model"]["batch"] == 7
    got = shortlist("run", recipe, "--set", "ruonds=1")
    assert "ruonds: no such field" in got.err


def test_a_campaign_says_where_it_runs(shortlist: Command, recipe: Path) -> None:
    assert shortlist("run", recipe, "--seeds", "0", "--only", "CSQ+Rand", "--no-report").code == 0
    path = Path("runs/small/CSQ+Rand/seed-0/machine.json")
    told = json.loads(path.read_text())
    assert (told["recipe"], told["variant"], told["query"], told["acquisition"]) == ("small", "", "CSQ", "Rand")
    (start,) = told["starts"]
    assert start["from_round"] == 1
    assert start["hardware"]
    before = path.read_bytes()
    path.write_text(before.decode().replace(start["hardware"], "another machine"))
    moved = path.read_bytes()
    assert shortlist("run", recipe, "--seeds", "0", "--only", "CSQ+Rand", "--no-report").code == 0
    assert path.read_bytes() == moved  # it was over: nothing ran here
    recipe.write_text(recipe.read_text().replace("rounds = 3", "rounds = 4"))
    assert shortlist("run", recipe, "--seeds", "0", "--only", "CSQ+Rand", "--no-report").code == 0
    assert [s["from_round"] for s in json.loads(path.read_text())["starts"]] == [1, 4]


def test_a_smoke_run_is_small_and_apart(shortlist: Command, recipe: Path) -> None:
    assert shortlist("run", recipe, "--smoke").err.startswith(f"error: {recipe}: smoke: there is no [smoke] table")
    recipe.write_text(recipe.read_text() + "\n[smoke]\nrounds = 2\nseeds = [5]\nqueries.CSQ.n_cal = 10\n")
    got = shortlist("run", recipe, "--smoke", "--only", "CSQ+Rand", "--no-report")
    assert got.code == 0, got.err
    assert folders() == ["small-smoke/CSQ+Rand/seed-5"]
    made = read("runs/small-smoke/CSQ+Rand/seed-5")
    assert (len(made.rounds), made.config["query"]["n_cal"]) == (2, 10)


def test_no_report_is_made_where_none_is_wanted(shortlist: Command, recipe: Path) -> None:
    got = shortlist("run", recipe, "--seeds", "0", "--only", "CQ+Rand", "--no-report")
    assert got.out.splitlines()[-1] == "the report can be made: shortlist report runs/small"
    assert not list(Path("runs").rglob("*.html"))
