"""Something that is not a part is refused by name before a file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shortlist import (
    Arrays,
    Campaign,
    CandidateSet,
    Entropy,
    Predictions,
    Random,
    Scikit,
    ShortlistError,
    Simulated,
    Stopping,
    TopK,
)
from shortlist.campaign.engine import Step
from shortlist.campaign.storage.store import Store
from shortlist.experiments.method_names import explained, label
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


@pytest.mark.parametrize(("accuracy", "cost"), [(40, None), (None, "10"), (None, -1), (True, None)])
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


# --- parts of one's own ----------------------------------------------------------------------------------------


class Own:
    """An acquisition as one writes it who has read nothing."""

    needs = frozenset({"probs"})
    short = "Mine{k}"
    about = "Items are picked as I like."

    def __init__(self, k: Any = 3, pick: Any = None) -> None:
        self.k, self._pick, self.seen_ = k, pick, 0

    def select(self, pool: Any, *, n: int, rng: Any, price: Any = None, **fields: Any) -> Any:
        self.seen_ += 1
        return np.arange(n) if self._pick is None else self._pick(pool, n)


def finish(folder: Path, **changed: Any) -> list[Any]:
    made = settings(**changed)
    with Campaign(folder, **made) as campaign:
        return list(campaign.run(Simulated(made["dataset"].labels)))


def test_settings_that_nobody_recorded_are_recorded_and_a_change_is_refused(tmp_path: Path) -> None:
    """Other settings once went on after a restart, at 48% accuracy instead of 65%, without a word."""
    finish(tmp_path / "one", acquisition=Own(k=3))
    assert read(tmp_path / "one").config["acquisition"]["k"] == 3
    finish(tmp_path / "one", acquisition=Own(k=3))
    with pytest.raises(ShortlistError, match=r"made with acquisition\.k = 3, not 4; use the same settings"):
        finish(tmp_path / "one", acquisition=Own(k=4))
    finish(tmp_path / "two", acquisition=Own(k=np.arange(5.0)))
    with pytest.raises(ShortlistError, match=r"made with acquisition\.k\.digest = "):
        finish(tmp_path / "two", acquisition=Own(k=np.arange(5.0) + 1))
    finish(tmp_path / "three", acquisition=Own(k=LogisticRegression(C=3)))
    with pytest.raises(ShortlistError, match=r"made with acquisition\.k\.C = 3, not 4"):
        finish(tmp_path / "three", acquisition=Own(k=LogisticRegression(C=4)))
    finish(tmp_path / "four", acquisition=Own(k=object()))  # says nothing of itself
    finish(tmp_path / "four", acquisition=Own(k=object()))


def test_a_campaign_that_wrote_down_the_name_alone_goes_on(tmp_path: Path) -> None:
    finish(tmp_path / "here", acquisition=Own(k=3), rounds=1)
    name = read(tmp_path / "here").config["acquisition"]["name"]
    with Store(tmp_path / "here" / "campaign.db") as store, store.writing() as w:
        w.set_config({**store.config(), "acquisition": {"name": name}})
    assert len(finish(tmp_path / "here", acquisition=Own(k=3), rounds=2)) == 2
    assert read(tmp_path / "here").config["acquisition"]["k"] == 3


def test_what_an_author_calls_a_method_is_recorded_and_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(tmp_path / "here", acquisition=Own())
    record = read(tmp_path / "here")
    assert label(record.config) == "CSQ+Mine3"
    assert explained("acquisition", record.config["acquisition"]) == {"Mine3": "Items are picked as I like."}
    monkeypatch.setattr(Own, "about", "Items are picked as they come.")
    finish(tmp_path / "here", acquisition=Own())


STREAM = "in a campaign pool.probs is a stream: loop over it for batches"


@pytest.mark.parametrize(
    "pick",
    [
        lambda pool, n: pool.probs.max(axis=1).argsort()[:n],
        lambda pool, n: (1 - pool.probs).argsort()[:n],
        lambda pool, n: pool.probs[:, 0].argsort()[:n],
        lambda pool, n: np.linalg.norm(pool.embeddings, axis=1).argsort()[:n],  # which `needs` does not name
    ],
)
def test_a_stream_that_is_taken_for_a_matrix_is_told_in_a_sentence(tmp_path: Path, pick: Any) -> None:
    with pytest.raises(ShortlistError, match=rf"^Own: select fails \(.*\); {STREAM}"):
        finish(tmp_path / "here", acquisition=Own(pick=pick))


def test_predictions_plans_and_prices_of_ones_own_are_looked_at(tmp_path: Path) -> None:
    class Bare(Scikit):
        def predict(self, items: Any) -> Any:
            return np.concatenate([batch.probs for batch in super().predict(items)])

    class Short(TopK):
        def plan(self, probs: Any) -> Any:
            return super().plan(probs)[1:]

    class Unplanned(TopK):
        def plan(self, probs: Any) -> Any:
            return super().plan(probs).sets

    class Priced(TopK):
        def price(self, probs: Any) -> Any:
            return np.asarray(probs.probs if isinstance(probs, Predictions) else probs)

    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"model": Bare()},
            r"^model: predict has to give batches of Predictions\(probs\), got an array of shape \(3,\)",
        ),
        ({"query": Short(2)}, r"^Short: plan has to give a Plan of 10 items .*, got one of 9"),
        ({"query": Unplanned(2)}, r"^Unplanned: plan has to give a Plan of 10 items .*, got list"),
        ({"query": Priced(2)}, r"^Priced: price has to give one number an item, .* \(10,\), got shape \(10, 3\)"),
    ]
    for changed, message in cases:
        folder = tmp_path / message[1:5].strip()
        with pytest.raises(ShortlistError, match=message):
            finish(folder, acquisition=Entropy(), **changed)
