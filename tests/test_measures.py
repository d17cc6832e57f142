from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shortlist import measures
from shortlist.campaign.storage.store import Store
from shortlist.costs import Seconds
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Round, ShortlistError
from tests.campaign.toys import answers, campaign, data, run, work

DATA = data()


def test_a_finished_campaign(tmp_path: Path) -> None:
    rounds = run(tmp_path, DATA, holdout=4, rounds=None)
    found = measures.read(tmp_path)
    assert found.rounds == rounds
    assert found.folder == tmp_path
    assert (found.n_items, found.classes) == (40, list(DATA.classes))
    assert found.open_questions == 0
    assert found.notes == ["budget asks for 8 items; the pool has 4, all are taken"]
    assert found.config["query"]["n_cal"] == 3
    assert found.unit == "bits"
    assert found.ledger[0].purpose == "holdout"
    assert sum(line.answers for line in found.ledger) == 40


def test_the_saving_is_against_asking_conventionally(tmp_path: Path) -> None:
    run(tmp_path, DATA)
    found = measures.read(tmp_path)
    last = found.rounds[-1]
    assert found.saving == pytest.approx(1 - last.cost / last.conventional_cost)


def test_the_unit_is_that_of_the_cost_model(tmp_path: Path) -> None:
    run(tmp_path, DATA, query=CandidateSet(n_cal=3, cost=Seconds()), rounds=1)
    assert measures.read(tmp_path).unit == "seconds"


def test_a_campaign_just_created(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA):
        found = measures.read(tmp_path)
    assert (found.rounds, found.ledger, found.open_questions, found.saving) == ([], [], 0, None)
    assert measures.labels(tmp_path) == {}
    assert measures.recharge(tmp_path, CandidateSet()) == []
    assert measures.coverages(tmp_path, {}) == {}


def test_a_campaign_being_labelled(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA) as going:
        work(going)
        going.record(answers(going.open_questions()[:5], DATA.labels))
        found = measures.read(tmp_path)
        assert found.open_questions == 3
        assert len(measures.labels(tmp_path)) == 5
        assert found.ledger[0].answers == 5
        assert found.rounds == []


def test_a_folder_that_was_only_begun(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text("seed = 0")
    (tmp_path / "campaign.db.new").write_bytes(b"half")
    with pytest.raises(ShortlistError, match="no campaign here"):
        measures.read(tmp_path)


def test_reading_does_not_change_a_campaign(tmp_path: Path) -> None:
    run(tmp_path, DATA)
    before = (tmp_path / "campaign.db").read_bytes()
    measures.read(tmp_path)
    measures.labels(tmp_path)
    measures.recharge(tmp_path, CandidateSet(n_cal=3))
    assert (tmp_path / "campaign.db").read_bytes() == before


def test_labels_are_by_key_and_name(tmp_path: Path) -> None:
    run(tmp_path, DATA, rounds=None)
    truth = {key: DATA.classes[c] for key, c in zip(DATA.keys, DATA.labels, strict=True)}
    assert measures.labels(tmp_path) == truth


def test_accuracy_per_cost() -> None:
    done = Round(1, 8, 8, 10.0, 0.2, 10.0, 0.0, 0.5, None, None, None, None, None, None, 0.0)
    assert measures.accuracy_per_cost(done) == 2.5
    assert measures.accuracy_per_cost(replace(done, accuracy=None)) is None
    assert measures.accuracy_per_cost(replace(done, relative_cost=0.0)) is None


def test_times_the_floor() -> None:
    done = Round(1, 8, 8, 42.0, 0.2, 50.0, 0.0, 0.5, None, None, None, None, None, None, 0.0, floor=30.0)
    assert measures.times_floor(done) == pytest.approx(1.4)
    assert measures.times_floor(replace(done, floor=0.0)) is None
    assert measures.times_floor(replace(done, floor=None)) is None


def test_coverage_counts_lists_that_were_answered(tmp_path: Path) -> None:
    truth = {key: DATA.classes[c] for key, c in zip(DATA.keys, DATA.labels, strict=True)}
    rounds = run(tmp_path, DATA, ahead=4)
    covered = {r.number: r.coverage for r in rounds if r.lists}
    assert len(covered) >= 2
    assert measures.coverages(tmp_path, truth) == pytest.approx(covered)
    with Store(tmp_path / "campaign.db", read_only=True) as store:
        assert all(q.state == "open" for q in store.questions())
    assert measures.coverages(tmp_path, dict.fromkeys(truth, "no such class")) == dict.fromkeys(covered, 0.0)


def test_lists_are_counted_in_one_way_everywhere(tmp_path: Path) -> None:
    """Short lists, how many of them held the answer, and items asked with all classes, beside the questions."""
    rounds = run(tmp_path, DATA, ahead=4)
    recharged = measures.recharge(tmp_path, CandidateSet(n_cal=3))
    with Store(tmp_path / "campaign.db", read_only=True) as store:
        asked = [(store.questions_by_id([a.question])[a.question], a) for a in store.answers()]
    for own, other in zip(rounds, recharged, strict=True):
        outside = [(q, a) for q, a in asked if q.round == own.number and q.purpose != "calibration"]
        held = [a.label in q.shortlist for q, a in outside if q.shortlist is not None]
        assert (own.lists, own.full) == (len(held), len(outside) - len(held)) == (other.lists, other.full)
        assert own.coverage == (pytest.approx(np.mean(held)) if held else None) == other.coverage
    assert any(own.lists and own.full for own in rounds)
