from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from shortlist import Arrays, Belief, Campaign, Digits, Labelled, Margin, Means, Names, Neighbours, Scikit, Simulated
from shortlist.campaign.schedule import Doubling
from shortlist.models.belief.belief import FILE
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.nested import Nested
from shortlist.types import Answer, Question, Rng, ShortlistError
from tests.models.toys import all_probs

DIGITS = Digits().subset(np.arange(300))
LABELLED = Labelled(np.arange(0, 120, 2), DIGITS.labels[0:120:2], 10)
REST = np.setdiff1d(np.arange(300), LABELLED.items)


def belief() -> Belief:
    made = Belief(Scikit(LogisticRegression(C=1, max_iter=500)), Neighbours(k=8), Means())
    made.prepare(DIGITS)
    return made


def fitted(labelled: Labelled = LABELLED, seed: int = 0) -> Belief:
    made = belief()
    made.fit(labelled, rng=np.random.default_rng(seed))
    return made


def log_loss(probs: Any, labels: Any) -> float:
    return float(-np.log2(probs[np.arange(len(labels)), labels].astype(np.float64)).mean())


def test_it_is_worth_what_it_says() -> None:
    made = fitted()
    probs = all_probs(made.predict(REST))
    alone = all_probs(made.model.predict(REST))
    assert log_loss(probs, DIGITS.labels[REST]) < log_loss(np.maximum(alone, 1e-9), DIGITS.labels[REST])
    assert made.worth["bits"] == pytest.approx(log_loss(probs, DIGITS.labels[REST]), abs=0.35)
    assert made.worth["uniform"] == pytest.approx(np.log2(10))
    assert [*made.worth["weights"]] == ["scikit", "neighbours", "means"]
    assert (probs > 0).all()


def test_held_out_answers_are_those_of_all_labelled_items() -> None:
    items, probs, labels = fitted().held_out()
    np.testing.assert_array_equal(items, LABELLED.items)
    np.testing.assert_array_equal(labels, LABELLED.labels)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-5)


def test_a_label_says_nothing_of_its_own_item_out_of_fold() -> None:
    """With labels that are drawn by lot nobody does better than by lot."""
    drawn = np.random.default_rng(1).integers(10, size=len(LABELLED.items))
    made = fitted(Labelled(LABELLED.items, drawn, 10))
    assert made.worth["bits"] > np.log2(10) - 0.2
    assert all_probs(made.predict(REST)).max() < 0.6


def test_the_same_bits_on_any_number_of_threads_and_in_any_order() -> None:
    usual = all_probs(fitted().predict(REST))
    order = np.random.default_rng(0).permutation(len(LABELLED.items))
    shuffled = Labelled(LABELLED.items[order], LABELLED.labels[order], 10)
    with threadpool_limits(1):
        np.testing.assert_array_equal(all_probs(fitted(shuffled).predict(REST)), usual)


def test_a_stream_stays_with_the_fit_it_came_from() -> None:
    made = fitted()
    stream = made.predict(REST)
    before = all_probs(stream)
    made.fit(Labelled(np.arange(40), DIGITS.labels[:40], 10), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(all_probs(stream), before)


@pytest.mark.parametrize("n", [1, 2, 20])
def test_few_labels_are_enough_and_make_nobody_sure(n: int) -> None:
    made = fitted(Labelled(np.arange(n), DIGITS.labels[:n], 10))
    probs = all_probs(made.predict(REST))
    assert np.isfinite(probs).all()
    assert log_loss(probs, DIGITS.labels[REST]) < np.log2(10) + 0.3


def test_no_label_at_all_leaves_names() -> None:
    pytest.importorskip("wordllama")
    texts = ["my card was stolen", "will it rain", "a thief took my card", "is it sunny"]
    data = Arrays(texts, classes=["card_theft", "weather"])
    made = Belief(Scikit(encoder="package:wordllama"), Neighbours(k=2), Names())
    made.prepare(data)
    made.fit(Labelled(np.empty(0, np.int64), np.empty(0, np.int64), 2), rng=np.random.default_rng(0))
    probs = all_probs(made.predict(np.arange(4)))
    assert probs.argmax(axis=1).tolist() == [0, 1, 0, 1]
    assert probs.max() < 0.999
    assert made.held_out()[1].shape == (0, 2)


def test_what_is_saved_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    made, again = fitted(), belief()
    made.save(tmp_path)
    assert again.load(tmp_path, LABELLED)
    np.testing.assert_array_equal(all_probs(again.predict(REST)), all_probs(made.predict(REST)))
    np.testing.assert_array_equal(again.held_out()[1], made.held_out()[1])
    assert again.worth == made.worth
    assert not again.load(tmp_path, Labelled(LABELLED.items[1:], LABELLED.labels[1:], 10))
    (tmp_path / FILE).write_bytes(b"no")
    assert not again.load(tmp_path, LABELLED)


def test_files_of_rounds_long_past_are_removed(tmp_path: Path) -> None:
    made = fitted()
    for number in range(1, 5):
        made.save(tmp_path / f"{number:03d}")
    assert [path.parent.name for path in sorted(tmp_path.glob(f"*/{FILE}"))] == ["003", "004"]


# --- models that are not fitted several times over ---------------------------------------------------------------


class Dear(Scikit):
    """One that counts its fits."""

    refits = False
    fits = 0

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        self.fits += 1
        super().fit(labelled, rng=rng)


def test_a_dear_model_is_asked_before_it_learns_again(tmp_path: Path) -> None:
    model = Dear(LogisticRegression(C=1, max_iter=500))
    made = Belief(model, Neighbours(k=8))
    made.prepare(DIGITS)
    made.fit(LABELLED, rng=0)
    assert model.fits == 1
    assert made.held_out()[0].size == 0
    fresh = np.arange(1, 101, 2)
    made.told(np.concatenate([fresh, LABELLED.items[:3]]))
    before = all_probs(model.predict(fresh))
    items = np.concatenate([LABELLED.items, fresh])
    more = Labelled(items, DIGITS.labels[items], 10)
    made.fit(more, rng=1)
    assert model.fits == 2
    held, probs, labels = made.held_out()
    np.testing.assert_array_equal(held, fresh)
    np.testing.assert_array_equal(labels, DIGITS.labels[fresh])
    assert log_loss(probs, labels) < log_loss(np.maximum(before, 1e-9), labels)
    made.save(tmp_path)
    again = Belief(Dear(LogisticRegression(C=1, max_iter=500)), Neighbours(k=8))
    again.prepare(DIGITS)
    assert again.load(tmp_path, more)
    np.testing.assert_array_equal(again.held_out()[1], probs)
    for one in (made, again):
        one.told(np.arange(200, 220))
        last = np.concatenate([items, np.arange(200, 220)])
        one.fit(Labelled(last, DIGITS.labels[last], 10), rng=2)
    np.testing.assert_array_equal(all_probs(again.predict(REST)), all_probs(made.predict(REST)))
    assert len(made.held_out()[0]) == len(fresh) + 20


def test_what_it_is_made_of_is_checked() -> None:
    with pytest.raises(ShortlistError, match=r"belief: Neighbours is a class; give an instance of it, Neighbours"):
        Belief(Scikit(), Neighbours)  # type: ignore[arg-type]
    with pytest.raises(ShortlistError, match="is no model; give one first"):
        Belief(Neighbours())  # type: ignore[arg-type]
    with pytest.raises(ShortlistError, match="is no expert"):
        Belief(Scikit(), Scikit())  # type: ignore[arg-type]
    with pytest.raises(ShortlistError, match="its model is a belief already"):
        Belief(Belief(Scikit()))
    with pytest.raises(ShortlistError, match="has learnt nothing yet"):
        _ = belief().worth


# --- in a campaign -----------------------------------------------------------------------------------------------


class Tired:
    """Answers so many questions, then has to go."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]:
        for answer in Simulated(DIGITS.labels).answer(questions):
            if self.patience == 0:
                raise KeyboardInterrupt
            self.patience -= 1
            yield answer


def labelling(folder: Path) -> Campaign:
    parts: dict[str, Any] = {"dataset": DIGITS, "query": CandidateSet(n_cal=10), "acquisition": Margin()}
    model = Belief(Scikit(LogisticRegression(C=1, max_iter=500)), Neighbours(k=8))
    return Campaign(folder, **parts, model=model, initial=20, budget=20, rounds=4)


@pytest.mark.parametrize("patience", [5, 30, 55])
def test_an_interrupted_campaign_ends_as_one_that_was_not(tmp_path: Path, patience: int) -> None:
    with labelling(tmp_path / "whole") as campaign:
        whole = list(campaign.run(Simulated(DIGITS.labels)))
    with labelling(tmp_path / "run") as campaign, pytest.raises(KeyboardInterrupt):
        list(campaign.run(Tired(patience)))
    with labelling(tmp_path / "run") as campaign:
        rounds = list(campaign.run(Simulated(DIGITS.labels)))
    assert [(r.cost, r.accuracy, r.threshold) for r in rounds] == [(r.cost, r.accuracy, r.threshold) for r in whole]
    for name in ("asked.npz", FILE):
        for mine in sorted((tmp_path / "run").glob(f"rounds/*/{name}")):
            theirs = tmp_path / "whole" / mine.relative_to(tmp_path / "run")
            with np.load(mine) as a, np.load(theirs) as b:
                for key in a.files:
                    np.testing.assert_array_equal(a[key], b[key])  # which takes NaN for equal


@pytest.mark.parametrize("patience", [25, 45])
def test_a_campaign_tells_a_belief_in_a_model_that_is_not_fitted_again(tmp_path: Path, patience: int) -> None:
    """Of what it said of a round's items before they were answered; also after an interruption."""

    def going(folder: Path) -> Campaign:
        parts: dict[str, Any] = {"dataset": DIGITS, "query": Nested(), "acquisition": Margin()}
        model = Belief(Dear(LogisticRegression(C=1, max_iter=500)), Neighbours(k=8))
        return Campaign(folder, **parts, model=model, schedule=Doubling(first=20, most=80, rounds=5))

    with going(tmp_path / "whole") as campaign:
        whole = list(campaign.run(Simulated(DIGITS.labels)))
        items, _, _ = campaign.settings.model.held_out()  # type: ignore[attr-defined]
        assert (
            len(items) == whole[-1].labelled - 20
        )  # all but those of the first round, of which nobody had said a word
    with going(tmp_path / "run") as campaign, pytest.raises(KeyboardInterrupt):
        list(campaign.run(Tired(patience)))
    with going(tmp_path / "run") as campaign:
        rounds = list(campaign.run(Simulated(DIGITS.labels)))
    assert [(r.cost, r.accuracy) for r in rounds] == [(r.cost, r.accuracy) for r in whole]


def test_other_experts_are_another_campaign(tmp_path: Path) -> None:
    labelling(tmp_path).close()
    parts: dict[str, Any] = {"dataset": DIGITS, "query": CandidateSet(n_cal=10), "acquisition": Margin()}
    model = Belief(Scikit(LogisticRegression(C=1, max_iter=500)), Neighbours(k=9))
    with pytest.raises(ShortlistError, match="experts"):
        Campaign(tmp_path, **parts, model=model, initial=20, budget=20, rounds=4)
