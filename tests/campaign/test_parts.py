"""Something that is not a part is refused by name before a file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shortlist import Arrays, Campaign, CandidateSet, Entropy, Random, Scikit, ShortlistError, Simulated, Stopping
from shortlist.campaign.engine import Step
from shortlist.measures import read


def settings(**changed: Any) -> dict[str, Any]:
    dataset = Arrays(np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3)
    plain = {"dataset": dataset, "model": Scikit(), "query": CandidateSet(n_cal=5), "acquisition": Random()}
    return {**plain, "initial": 10, "budget": 10, "rounds": 2, **changed}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": LogisticRegression()}, r"model: LogisticRegression\(\) has no 'prepare'; .* Scikit\(estimator\)"),
        ({"model": Scikit}, r"model: Scikit is a class; give an instance of it, Scikit\(…\)"),
        ({"query": "candidate_set"}, r"query: 'candidate_set' has no 'calibrate'; .* CandidateSet\(\)"),
        ({"query": CandidateSet}, "query: CandidateSet is a class"),
        ({"acquisition": Entropy}, "acquisition: Entropy is a class"),
        ({"acquisition": object()}, "acquisition: .* has no 'select'"),
        ({"dataset": [1, 2]}, r"dataset: \[1, 2\] has no 'keys'"),
        ({"stop": {"rounds": 1}, "rounds": None}, "stop: .* has no 'reason'"),
        ({"initial": 2.5}, "initial: must be a whole number, got 2.5"),
    ],
)
def test_what_is_not_a_part_is_refused_and_nothing_is_written(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShortlistError, match=message):
        Campaign(tmp_path / "here", **settings(**changed))
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(("accuracy", "cost"), [(0.4, None), (None, "10"), (None, -1), (True, None)])
def test_ends_that_make_no_sense(accuracy: Any, cost: Any) -> None:
    with pytest.raises(ShortlistError, match="stop: "):
        Stopping(accuracy=accuracy, cost=cost)


@pytest.mark.parametrize("picks", [[0, 0, 1], [0, 1, 999], [0, -1, 1], [0, 1], [0.0, 1.0, 2.0]])
def test_what_an_acquisition_chose_is_checked(tmp_path: Path, picks: list[int]) -> None:
    class Mine:
        needs: frozenset[str] = frozenset()

        def select(self, pool: Any, *, n: int, rng: Any, price: Any = None, **fields: Any) -> Any:
            return np.asarray(picks)

    made = settings(acquisition=Mine(), budget=3, query=CandidateSet(n_cal=2))
    with Campaign(tmp_path / "here", **made) as campaign, pytest.raises(ShortlistError, match="Mine: chose"):
        list(campaign.run(Simulated(made["dataset"].labels)))


def test_questions_works_until_answers_are_needed(tmp_path: Path) -> None:
    made = settings()
    asked = []
    with Campaign(tmp_path / "here", **made) as campaign:
        while questions := campaign.questions():
            asked.append(len(questions))
            campaign.record(Simulated(made["dataset"].labels).answer(questions))
        assert asked == [10, 5, 5]  # initial, D_cal, the rest
        assert campaign.ending == "2 rounds done"


@pytest.mark.parametrize("holdout", [0, 5])
def test_an_accuracy_that_nobody_measures_is_worth_a_word(tmp_path: Path, holdout: int) -> None:
    said: list[Step] = []
    made = settings(holdout=holdout, watch=said.append)
    with Campaign(tmp_path / "here", **made) as campaign:
        list(campaign.run(Simulated(made["dataset"].labels)))
    notes = [step.detail for step in said if step.name == "note"]
    assert notes == read(tmp_path / "here").notes
    assert [note.split(":")[0] for note in notes] == ([] if holdout else ["accuracy is not measured"])
