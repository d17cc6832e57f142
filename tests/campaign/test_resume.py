"""A campaign is a state machine over a folder: whoever opens it goes on where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from shortlist.acquisition.badge import Badge
from shortlist.acquisition.core_set import CoreSet
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.prob_cover import ProbCover
from shortlist.acquisition.random import Random
from shortlist.acquisition.saal import Saal
from shortlist.acquisition.typi_clust import TypiClust
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.engine import Campaign, Step
from shortlist.datasets.builtin.digits import Digits
from shortlist.models.scikit import Scikit
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Acquisition, Answer, Labelled, Question
from tests.campaign.toys import Fixed, answers, campaign, data, learning, run, snapshot
from tests.cases import torture

DATA = data()


class Tired:
    """Answers so many questions, then has to go."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
        for answer in Simulated(DATA.labels).answer(questions):
            if self.patience == 0:
                raise KeyboardInterrupt
            self.patience -= 1
            yield answer


def test_a_new_process_for_every_step(tmp_path: Path) -> None:
    run(tmp_path / "whole", DATA, holdout=4)
    for _ in range(99):
        with campaign(tmp_path / "steps", DATA, holdout=4) as going:
            if not going.advance():
                waiting = going.open_questions()
                if not waiting:
                    break
                going.record(answers(waiting[:3], DATA.labels))
    assert snapshot(tmp_path / "steps") == snapshot(tmp_path / "whole")


@pytest.mark.parametrize("patience", [0, 1, 5, 13, 30])
def test_interrupted_while_answering(tmp_path: Path, patience: int) -> None:
    run(tmp_path / "whole", DATA)
    with campaign(tmp_path / "run", DATA) as going, pytest.raises(KeyboardInterrupt):
        list(going.run(Tired(patience)))
    run(tmp_path / "run", DATA)
    assert snapshot(tmp_path / "run") == snapshot(tmp_path / "whole")


def test_finished_rounds_come_first_and_a_finished_campaign_changes_nothing(tmp_path: Path) -> None:
    first = run(tmp_path, DATA)
    before = snapshot(tmp_path)
    with campaign(tmp_path, DATA) as going:
        assert list(going.run(Simulated(DATA.labels))) == first
        assert not going.advance()
        assert going.open_questions() == []
    assert snapshot(tmp_path) == before


def test_a_round_at_a_time(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA) as going:
        rounds = going.run(Simulated(DATA.labels))
        assert next(rounds).number == 1
        assert len(going.finished_rounds()) == 1
        assert next(rounds).number == 2
        rounds.close()  # type: ignore[attr-defined]
        assert [r.number for r in going.run(Simulated(DATA.labels))] == [1, 2, 3, 4]


def test_steps_are_told_in_order(tmp_path: Path) -> None:
    said: list[Step] = []
    run(tmp_path, DATA, watch=said.append, rounds=2)
    assert [(s.round, s.name) for s in said] == [
        (1, "ask"),
        (1, "fit"),
        (1, "evaluate"),
        (2, "select"),
        (2, "ask"),
        (2, "calibrate"),
        (2, "ask"),
        (2, "fit"),
        (2, "evaluate"),
    ]


class Keeping(Fixed):
    """A model that is too dear to be fitted twice."""

    def save(self, folder: Path) -> None:
        np.savez(folder / "model.npz", probs=self.probs)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        with np.load(folder / "model.npz") as kept:
            self.probs = kept["probs"]
        return True


def test_a_model_that_was_kept_is_not_fitted_again(tmp_path: Path) -> None:
    def keeping() -> Keeping:
        return Keeping(learning(DATA.labels, 5), np.full((20, 5), 0.2))

    run(tmp_path / "whole", DATA)
    run(tmp_path / "parts", DATA, model=keeping(), rounds=2)
    again = keeping()
    run(tmp_path / "parts", DATA, model=again)
    assert [len(t.items) for t in again.taught] == [24, 32]
    assert snapshot(tmp_path / "parts") == snapshot(tmp_path / "whole")


@pytest.mark.parametrize(
    "acquisition",
    [
        *(CostAware(Entropy()), CoreSet(), CostAware(Badge()), ProbCover()),
        *(pytest.param(CostAware(other), marks=torture) for other in (Random(), Saal(diversity=True), TypiClust())),
        *(pytest.param(other, marks=torture) for other in (Random(), Saal(), CostAware(Saal()), Saal(diversity=True))),
        *(pytest.param(other, marks=torture) for other in (Badge(), CostAware(ProbCover(0.5)), TypiClust())),
    ],
    ids=repr,
)
def test_a_real_model_resumed_in_every_round(tmp_path: Path, acquisition: Acquisition) -> None:
    dataset = Digits()

    def going(folder: Path, rounds: int) -> None:
        with Campaign(
            folder,
            dataset=dataset,
            model=Scikit(),
            query=CandidateSet(n_cal=20),
            acquisition=acquisition,
            initial=50,
            budget=50,
            rounds=rounds,
        ) as one:
            list(one.run(Simulated(dataset.labels)))

    going(tmp_path / "whole", 4)
    for rounds in (1, 2, 3, 4):
        going(tmp_path / "parts", rounds)
    assert snapshot(tmp_path / "parts") == snapshot(tmp_path / "whole")
