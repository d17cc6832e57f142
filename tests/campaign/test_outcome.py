"""What a campaign has come to, while it goes on and when it is opened again."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.annotators.simulated import Simulated
from shortlist.costs import Bits
from shortlist.plans import Plan, nested
from shortlist.types import Array, CostModel
from tests.campaign.toys import campaign, data, run, snapshot, work

DATA = data(40, 5)


def test_labels_predictions_and_files_of_a_finished_campaign_opened_again(tmp_path: Path) -> None:
    run(tmp_path / "run", DATA)
    with campaign(tmp_path / "run", DATA) as done:
        labels, predictions = done.labels(), done.predictions()
        assert done.export(tmp_path / "labels.csv") == len(labels) == 32
        assert done.export(tmp_path / "all.jsonl", what="all") == 40
    names = [DATA.classes[label] for label in DATA.labels]
    assert labels == {key: name for key, name in zip(DATA.keys, names, strict=True) if key in labels}
    with (tmp_path / "labels.csv").open(newline="") as file:
        assert {row["key"]: row["label"] for row in csv.DictReader(file)} == labels
    assert list(predictions) == list(DATA.keys)
    assert all(0.2 <= probability <= 1 for _, probability in predictions.values())
    right = np.mean([predictions[key][0] == name for key, name in zip(DATA.keys, names, strict=True)])
    assert right > 0.8


def test_before_a_round_is_finished_there_is_nothing_to_predict_with(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA) as going:
        work(going)
        assert going.predictions() == {}
        assert going.labels() == {}


def test_predicting_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path / "one", DATA, rounds=2)
    with campaign(tmp_path / "one", DATA, rounds=2) as going:
        going.predictions()
    run(tmp_path / "one", DATA, rounds=4)
    run(tmp_path / "two", DATA, rounds=2)
    run(tmp_path / "two", DATA, rounds=4)
    assert snapshot(tmp_path / "one") == snapshot(tmp_path / "two")


@dataclass(frozen=True)
class Ladder:
    """A design that finds out more than two numbers: how many classes each of three stages shows."""

    n_cal: int = 3
    cost: CostModel = Bits()
    steps: tuple[int, ...] = ()

    @property
    def state(self) -> dict[str, Any] | None:
        return {"steps": list(self.steps)} if self.steps else None

    def restored(self, state: Any) -> Ladder:
        return replace(self, steps=tuple(state["steps"]) if state else ())

    def calibrate(self, probs: Array, labels: Array) -> Ladder:
        ranks = np.sort((probs > probs[np.arange(len(labels)), labels][:, None]).sum(axis=1))
        return replace(self, steps=(1 + int(ranks[0]), 2 + int(ranks[-1])))

    def price(self, probs: Array) -> Array:
        return self.plan(probs).expected(self.cost)

    def plan(self, probs: Array) -> Plan:
        return nested(probs, [[min(step, probs.shape[1]) for step in self.steps]], reach=0.1)


def test_what_a_query_knows_is_its_own_and_comes_back_after_every_restart(tmp_path: Path) -> None:
    run(tmp_path / "whole", DATA, query=Ladder())
    while True:  # a process for every round
        with campaign(tmp_path / "pieces", DATA, query=Ladder()) as going:
            before = len(going.finished_rounds())
            for _ in going.run(Simulated(DATA.labels)):
                if len(going.finished_rounds()) > before:
                    break
            if going.ending:
                states = [row.query for row in going.view.rounds()]
                break
    assert snapshot(tmp_path / "pieces") == snapshot(tmp_path / "whole")
    assert states[0] is None
    assert all(set(state) == {"steps"} and len(state["steps"]) == 2 for state in states[1:] if state)
    assert any(states[1:])
    cuts = {q.cuts for q in going.view.questions() if q.round == 4 and q.purpose == "query"}
    assert states[-1] is not None
    assert cuts == {tuple(states[-1]["steps"])}


def test_a_campaign_that_was_closed_is_one_database_without_a_log(tmp_path: Path) -> None:
    going = campaign(tmp_path / "run", data())
    going.questions()
    assert (tmp_path / "run" / "campaign.db-wal").exists()
    going.close()
    assert sorted(path.name for path in (tmp_path / "run").glob("campaign.db*")) == ["campaign.db"]
