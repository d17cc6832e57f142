from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shortlist import LinearProbe, Network, Scikit, ShortlistError
from shortlist.campaign.storage.folder import Folder
from shortlist.experiments import provenance as machine
from shortlist.experiments.provenance import FILE, Origin, Start, note_start, read_origin
from shortlist.experiments.sweep import run_job
from shortlist.recipes.build import Builder
from shortlist.recipes.recipe import Job, parse_recipe

HERE = Start(1, "abc1234567", "some GPU", "3.12.1", "2.13.0", "2026-01-02T03:04:05+00:00")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    table = {"dataset": "digits", "model": "scikit", "query": "top_k", "acquisition": "random"}
    recipe = parse_recipe({"name": "small", **table, "initial": 5, "budget": 5}, "here")
    return Job(recipe, "CSQ", "Cost(Ent)", 0, tmp_path, "noise=0.1")


def start_at(monkeypatch: pytest.MonkeyPatch, here: Start) -> None:
    monkeypatch.setattr(machine, "this_start", lambda from_round, model: replace(here, from_round=from_round))


def test_a_round_belongs_to_the_start_that_finished_it(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    for finished, here in ((0, HERE), (2, replace(HERE, date="later")), (3, replace(HERE, hardware="another GPU"))):
        start_at(monkeypatch, here)
        note_start(job, finished, Scikit())
    origin = read_origin(job.folder)
    assert origin is not None
    assert (origin.recipe, origin.variant, origin.query, origin.acquisition) == (
        "small",
        "noise=0.1",
        "CSQ",
        "Cost(Ent)",
    )
    assert [start.from_round for start in origin.starts] == [1, 4]  # nothing but the date had changed after round 2
    told = [origin.of_round(number) for number in (1, 3, 4, 9)]
    assert [start.hardware for start in told if start] == ["some GPU", "some GPU", "another GPU", "another GPU"]


def test_of_starts_that_finished_nothing_the_last_counts() -> None:
    origin = Origin("r", "", "CSQ", "Ent", (HERE, replace(HERE, commit="def")))
    first = origin.of_round(1)
    assert first is not None
    assert first.commit == "def"
    assert Origin("r", "", "CSQ", "Ent").of_round(1) is None


def test_a_campaign_without_a_file_and_one_with_a_broken_one(tmp_path: Path) -> None:
    assert read_origin(tmp_path) is None
    for broken in ("{", "{}", json.dumps({"recipe": "r", "starts": [{"day": 1}]})):
        (tmp_path / FILE).write_text(broken)
        with pytest.raises(ShortlistError, match=r"machine\.json: cannot be read"):
            read_origin(tmp_path)


def git(folder: Path, *arguments: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    command = ["git", "-C", str(folder), *named, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_of_a_checkout_of_a_changed_one_and_of_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "PACKAGE", tmp_path)
    monkeypatch.setenv("COMMIT", "of something else")
    monkeypatch.setenv("SHORTLIST_COMMIT", "told")
    code = tmp_path / "__init__.py"
    code.write_text("a = 1\n")
    git(tmp_path, "init", "-q")
    assert machine.commit.__wrapped__() == "told"  # the checkout knows nothing of this code
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    assert machine.commit.__wrapped__() == git(tmp_path, "rev-parse", "--short=10", "HEAD")
    code.write_text("a = 2\n")
    assert " and changes " in str(machine.commit.__wrapped__())
    monkeypatch.setenv("PATH", "")  # no git at all
    assert machine.commit.__wrapped__() == "told"
    monkeypatch.delenv("SHORTLIST_COMMIT")
    assert machine.commit.__wrapped__() is None


def test_this_machine_has_a_name() -> None:
    here = machine.this_start(3, Scikit())
    assert here.from_round == 3
    assert here.hardware
    assert here.python.startswith("3.")
    assert here.date.endswith("+00:00")


# --- what is told follows the model ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [Network(device="cpu"), LinearProbe(device="cpu"), Scikit()], ids=lambda m: type(m).__name__
)
def test_a_gpu_has_done_only_what_models_on_it_have(model: object, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_is_there(monkeypatch)
    here = machine.this_start(1, model)
    assert "cores" in here.hardware
    assert (here.torch is None) == isinstance(model, Scikit)


@pytest.mark.parametrize("model", [Network(), LinearProbe(), Network(device="cuda")], ids=repr)
def test_a_gpu_is_named_where_one_is_used(model: object, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_is_there(monkeypatch)
    assert machine.this_start(1, model).hardware == "a GPU"


def test_who_finds_another_at_work_writes_nothing_down(job: Job) -> None:
    job, builder = replace(job, query="", acquisition=""), Builder()
    builder.campaign(job)[0].close()  # begun, and left
    with Folder(job.folder).alone(), pytest.raises(ShortlistError, match="another process is running this campaign"):
        run_job(job, builder, lambda news: None)
    assert not (job.folder / FILE).exists()


def gpu_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: "a GPU")
