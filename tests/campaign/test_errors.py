"""What goes wrong is told in one sentence that names it, and every file stays as it was."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB

from shortlist import measures
from shortlist.acquisition.core_set import CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.margin import Margin
from shortlist.acquisition.prob_cover import ProbCover
from shortlist.acquisition.saal import Saal
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.accounting.stopping import Stopping
from shortlist.campaign.settings import PARTS
from shortlist.datasets.arrays import Arrays
from shortlist.models.kernel_svm import KernelSVM
from shortlist.models.scikit import Scikit
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.oracle import Oracle
from shortlist.types import Answer, Labelled, Question, ShortlistError
from tests.campaign.killing import ROOT
from tests.campaign.toys import Fixed, answers, campaign, data, hashes, learning, run, snapshot, work

DATA = data()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign in the middle of round 2."""
    folder = tmp_path / "run"
    with campaign(folder, DATA) as going:
        work(going)
        going.record(answers(going.open_questions(), DATA.labels))
        work(going)
    return folder


# --- settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"initial": 0}, "initial: must be at least 1, got 0"),
        ({"budget": 0}, "budget: must be at least 1, got 0"),
        ({"budget": 2.5}, "budget: must be a whole number, got 2.5"),
        ({"seed": -1}, "seed: must be at least 0, got -1"),
        ({"ahead": -1}, "ahead: must be at least 0, got -1"),
        ({"holdout": 40}, "holdout: 40 items leave nothing to label; the dataset has 40"),
        ({"query": CandidateSet(n_cal=9)}, "n_cal: 9 calibration items do not fit in a batch of 8"),
        ({"query": Oracle()}, "query: an oracle sees the truth"),
        ({"rounds": 0}, "stop: rounds must be above 0, got 0"),
    ],
)
def test_bad_settings_make_no_folder(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ShortlistError, match=message):
        campaign(tmp_path / "run", DATA, **settings)
    assert not (tmp_path / "run").exists()


def test_features_that_are_not_there(tmp_path: Path) -> None:
    class NeedsFeatures(Margin):
        needs = frozenset({"features"})

    texts = Arrays([f"word{i % 7} word{i}" for i in range(40)], np.arange(40) % 3)
    for acquisition, name in ((NeedsFeatures(), "NeedsFeatures"), (CostAware(ProbCover()), "ProbCover")):
        with pytest.raises(ShortlistError, match=f"acquisition: {name} needs features, and the dataset has none; give"):
            campaign(tmp_path / "run", texts, acquisition=acquisition)


def test_embeddings_that_the_model_gives_not(tmp_path: Path) -> None:
    texts = Arrays([f"word{i % 3} word{i}" for i in range(40)], np.arange(40) % 3)
    going = campaign(tmp_path / "run", texts, acquisition=CoreSet(), model=Scikit())
    with pytest.raises(
        ShortlistError, match=r"acquisition: it needs embeddings, and Scikit\(.*\) gives none for .*; use"
    ):
        list(going.run(Simulated(texts.labels)))


def test_losses_that_the_model_has_not(tmp_path: Path) -> None:
    for acquisition in (Saal(), CostAware(Saal(diversity=True))):
        for model in (KernelSVM(), Scikit(MultinomialNB())):
            with pytest.raises(ShortlistError, match=r"has no perturbed loss, which SAAL needs"):
                campaign(tmp_path / "run", DATA, acquisition=acquisition, model=model)
        without = SimpleNamespace(**dict.fromkeys(PARTS["model"][0]))
        with pytest.raises(ShortlistError, match=r"model: .* has no 'perturbed_loss'"):
            campaign(tmp_path / "run", DATA, acquisition=acquisition, model=without)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ({"seed": 1}, "seed = 0, not 1"),
        ({"budget": 9}, "budget = 8, not 9"),
        ({"query": CandidateSet(n_cal=4)}, "query.n_cal = 3, not 4"),
        ({"acquisition": Margin()}, 'acquisition.name = "entropy", not "margin"'),
        ({"seed": 1, "rounds": 9}, "seed = 0, not 1"),
    ],
)
def test_another_configuration_is_refused(folder: Path, settings: dict[str, Any], difference: str) -> None:
    before = hashes(folder)
    with pytest.raises(ShortlistError) as error:
        campaign(folder, DATA, **settings)
    assert str(error.value) == (
        f"{folder}: this campaign was made with {difference}; use the same settings or another folder"
    )
    assert hashes(folder) == before


# --- files -----------------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, " * 999)


def scratched(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[4096 : len(whole) - 4096] = bytes(len(whole) - 8192)
    path.write_bytes(whole)


def execute(statement: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with sqlite3.connect(path) as c:
            c.execute(statement)
        c.close()

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "damaged"),
        (garbage, r"damaged \(file is not a database\)"),
        (scratched, "damaged"),
        (lambda path: path.write_bytes(b""), r"damaged \(no table"),
        (execute("drop table answers"), r"damaged \(no table answers\)"),
        (execute("update meta set value = '99' where key = 'schema_version'"), "made with schema version 99"),
        (execute("delete from meta"), "made with schema version None"),
        (execute("update meta set value = '{' where key = 'config'"), "its configuration cannot be read"),
    ],
)
def test_a_damaged_database_is_named_and_left_alone(folder: Path, damage: Any, message: str) -> None:
    damage(folder / "campaign.db")
    before = hashes(folder)
    with pytest.raises(ShortlistError, match=rf"campaign\.db: .*{message}"):
        campaign(folder, DATA)
    with pytest.raises(ShortlistError, match=rf"campaign\.db: .*{message}"):
        measures.read(folder)
    assert hashes(folder) == before


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(ShortlistError, match="run: a campaign lives in a folder, and this is a file"):
        campaign(tmp_path / "run", DATA)
    with pytest.raises(ShortlistError, match=r"run/deeper: cannot be written \(Not a directory\)"):
        campaign(tmp_path / "run" / "deeper", DATA)
    assert (tmp_path / "run").read_text() == "mine"


def test_no_campaign_to_read(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"no campaign here \(there is no campaign.db\)"):
        measures.read(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("made", [False, True])
def test_no_permission_to_write(tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "closed" / "run"
    folder.parent.mkdir()
    if made:
        run(folder, DATA, rounds=1)
    for path in [*folder.rglob("*"), folder, folder.parent]:
        if path.exists():
            path.chmod(path.stat().st_mode & ~0o222)
    try:
        with pytest.raises(ShortlistError, match=r"cannot be (written|opened)"):
            run(folder, DATA, rounds=2)
        if made:
            assert len(measures.read(folder).rounds) == 1  # a report needs no permission
    finally:
        for path in [folder.parent, folder, *folder.parent.rglob("*")]:
            if path.exists():
                path.chmod(path.stat().st_mode | 0o700)


@pytest.mark.parametrize("damage", [cut, lambda path: path.unlink()])
def test_a_damaged_asked_file_stops_the_round_it_is_needed_in(folder: Path, damage: Any) -> None:
    with campaign(folder, DATA) as going:
        going.record(answers(going.open_questions(), DATA.labels))
    damage(folder / "rounds" / "002" / "asked.npz")
    before = hashes(folder)
    with (
        campaign(folder, DATA) as going,
        pytest.raises(ShortlistError, match=r"rounds/002/asked\.npz: cannot be read .*put back a copy"),
    ):
        going.advance()
    assert hashes(folder) == before


def test_names_that_mean_something_to_sqlite(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100% #1 & 'more' ü"
    assert len(run(folder, DATA, rounds=2)) == 2
    assert len(measures.read(folder).rounds) == 2


def test_another_process_is_running_it(folder: Path) -> None:
    holder = f"import fcntl, time; f = open({str(folder / 'campaign.lock')!r}, 'a'); fcntl.flock(f, fcntl.LOCK_EX);"
    command = [sys.executable, "-c", holder + "print('held', flush=True); time.sleep(60)"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        before = hashes(folder)
        with campaign(folder, DATA) as going, pytest.raises(ShortlistError, match="another process is running"):
            next(going.run(Simulated(DATA.labels)))
        with pytest.raises(ShortlistError, match="another process is running this campaign"):
            campaign(folder, DATA, rounds=9)  # would be written down
        assert hashes(folder) == before
        other.kill()
    assert len(run(folder, DATA, rounds=3)) == 3


# --- models ----------------------------------------------------------------------------------------------------


class Failing(Fixed):
    """Says nonsense about everything once it has learnt from `at` labels."""

    def __init__(self, at: int, nonsense: Any) -> None:
        super().__init__(learning(DATA.labels, 5), np.full((20, 5), 0.2))
        self.at, self.nonsense = at, nonsense

    def fit(self, labelled: Labelled, *, rng: np.random.Generator) -> None:
        super().fit(labelled, rng=rng)
        if len(labelled.items) == self.at:
            self.probs = self.nonsense(self.probs)


@pytest.mark.parametrize(
    ("nonsense", "message"),
    [
        (lambda p: np.where(np.arange(40)[:, None] == 17, np.nan, p), "holds NaN"),
        (lambda p: 2 * p, "sums to 2, not 1"),
        (lambda p: p - 0.5, "holds a negative number"),
        (lambda p: p[:, :4], "model: it predicts 4 classes, and the campaign has 5"),
    ],
)
def test_a_model_that_fails_midway_leaves_the_round_to_a_better_one(
    tmp_path: Path, nonsense: Any, message: str
) -> None:
    run(tmp_path / "whole", DATA)
    run(tmp_path / "run", DATA, rounds=2)
    before = hashes(tmp_path / "run" / "rounds")
    with pytest.raises(ShortlistError, match=message):
        run(tmp_path / "run", DATA, model=Failing(16, nonsense))
    assert hashes(tmp_path / "run" / "rounds") == before
    assert [r.state for r in snapshot(tmp_path / "run")["rounds"]] == ["done", "done"]
    run(tmp_path / "run", DATA)
    assert snapshot(tmp_path / "run") == snapshot(tmp_path / "whole")


def test_a_model_that_leaves_items_out(tmp_path: Path) -> None:
    class Short(Fixed):
        def predict(self, items: Any) -> Any:
            return list(super().predict(items))[:-1]

    with pytest.raises(ShortlistError, match="model: it was asked about 32 items and predicts 28"):
        run(tmp_path, DATA, model=Short(learning(DATA.labels, 5), np.full((20, 5), 0.2)))


def test_test_predictions_are_checked_before_the_round_is_done(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="holds NaN"):
        run(tmp_path, DATA, model=Fixed(learning(DATA.labels, 5), np.full((20, 5), np.nan)))
    assert [r.state for r in snapshot(tmp_path)["rounds"]] == ["asking"]


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA) as going:
        work(going)
        going.record([Answer(q.id, "skip") for q in going.open_questions()])
        with pytest.raises(ShortlistError, match="round 1: no item has a label yet"):
            going.advance()


def test_labels_that_a_simulation_does_not_have(tmp_path: Path) -> None:
    labels = np.where(np.arange(40) % 2, DATA.labels, -1)
    with campaign(tmp_path, DATA) as going:
        with pytest.raises(ShortlistError, match=r"simulated: item item\d+ has no label among 5 classes"):
            list(going.run(Simulated(labels)))
        heard = going.store.answers()  # what was said before the item without a label is kept
        assert all(labels[a.item] == a.label for a in heard)
        assert len(heard) < 8


def test_an_annotator_that_is_interrupted_loses_nothing_it_has_said(tmp_path: Path) -> None:
    class Tired(Simulated):
        def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
            yield from super().answer(questions[:5])
            raise KeyboardInterrupt

    with campaign(tmp_path, DATA) as going:
        with pytest.raises(KeyboardInterrupt):
            list(going.run(Tired(DATA.labels)))
        assert len(going.store.answers()) == 5


def test_an_annotator_that_says_nothing_ends_the_run_and_not_the_campaign(tmp_path: Path) -> None:
    class Silent(Simulated):
        def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
            return iter(())

    with campaign(tmp_path, DATA) as going:
        assert list(going.run(Silent(DATA.labels))) == []
        assert going.ending is None
        assert len(going.open_questions()) == 8


def test_two_in_one_process_do_not_work_on_one_folder_at_once(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA) as one, campaign(tmp_path, DATA) as other:
        with one.folder.alone(), pytest.raises(ShortlistError, match="another process is running this campaign"):
            other.advance()
        assert other.advance()
        assert not one.advance()  # sees the same round, waiting for answers


def test_a_calibrated_query_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="query: it is calibrated already"):
        campaign(tmp_path, DATA, query=CalibratedSet(CandidateSet(n_cal=3), 0.1, 0.5))


def test_another_source_of_answers_is_another_configuration(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA, annotator={"noise": 0.1}):
        pass
    with pytest.raises(ShortlistError, match=r"made with annotator = .*, not null"):
        campaign(tmp_path, DATA)


def test_a_killed_campaigns_log_is_not_folded_in_by_an_error(folder: Path, tmp_path: Path) -> None:
    """Half of what a killed process wrote may still be in the log beside the database."""
    with campaign(folder, DATA) as going:
        going.record(answers(going.open_questions(), DATA.labels))
        shutil.copytree(folder, tmp_path / "killed")
    before = hashes(tmp_path / "killed")
    assert "campaign.db-wal" in before
    with pytest.raises(ShortlistError, match="seed"):
        campaign(tmp_path / "killed", DATA, seed=7, stop=Stopping(cost=5))
    assert measures.read(tmp_path / "killed").ledger
    assert hashes(tmp_path / "killed") == before
