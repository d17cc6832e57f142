from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from shortlist import measures
from shortlist.annotators.simulated import Simulated, noisy
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.types import NONE, Question, ShortlistError
from tests.campaign.toys import campaign, data

QUESTION = Question(7, 2, 0, "a", "query", classes=(3, 0), cuts=(2,), n_classes=5)


@pytest.mark.parametrize(("label", "path"), [(3, (3,)), (0, (0,)), (4, (NONE, 4)), (1, (NONE, 1))])
def test_it_walks_through_the_stages(label: int, path: tuple[int, ...]) -> None:
    (answer,) = Simulated([label]).answer([QUESTION])
    assert (answer.question, answer.kind, answer.path) == (7, "label", path)


def test_nested_lists_and_a_last_stage_of_one_class() -> None:
    nested = Question(1, 2, 0, "a", "query", classes=(2, 0, 1), cuts=(1, 3), n_classes=4)
    assert [next(Simulated([label]).answer([nested])).path for label in (2, 1, 3)] == [(2,), (NONE, 1), (NONE, NONE, 3)]


@pytest.mark.parametrize("labels", [[0.5], [[[1]]], 1, ["a"], [True]])
def test_labels_must_be_whole_numbers(labels: Any) -> None:
    with pytest.raises(ShortlistError, match="simulated: labels must be whole numbers"):
        Simulated(labels)


@pytest.mark.parametrize("label", [-1, 5])
def test_a_label_it_does_not_have(label: int) -> None:
    with pytest.raises(ShortlistError, match=r"item a has no label among 5 classes .*dataset.labelled"):
        list(Simulated([label]).answer([QUESTION]))


def test_an_item_beyond_its_labels() -> None:
    with pytest.raises(ShortlistError, match="simulated: 0 labels, but item a is number 0"):
        list(Simulated(np.empty(0, np.int64)).answer([QUESTION]))


# --- noise -----------------------------------------------------------------------------------------------------

N, L = 40_000, 10
TRUTH = np.arange(N) % L


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.5])
def test_the_share_of_wrong_labels_is_epsilon(epsilon: float) -> None:
    wrong = int((noisy(TRUTH, epsilon, L, seed=1) != TRUTH).sum())
    low, high = binom.interval(0.999, N, epsilon)
    assert low <= wrong <= high


def test_wrong_labels_are_uniform_over_the_other_classes() -> None:
    found = noisy(TRUTH, 0.5, L, seed=1)
    wrong = found != TRUTH
    shift = np.bincount((found - TRUTH)[wrong] % L, minlength=L)
    assert shift[0] == 0
    assert chisquare(shift[1:]).pvalue > 0.001


def test_noise_is_drawn_once_from_the_seed() -> None:
    assert np.array_equal(noisy(TRUTH, 0.1, L, seed=1), noisy(TRUTH, 0.1, L, seed=1))
    assert not np.array_equal(noisy(TRUTH, 0.1, L, seed=1), noisy(TRUTH, 0.1, L, seed=2))
    more, less = noisy(TRUTH, 0.1, L, seed=1) != TRUTH, noisy(TRUTH, 0.05, L, seed=1) != TRUTH
    assert (more | ~less).all()  # what is wrong at 5% is wrong at 10% too


def test_the_extremes() -> None:
    assert np.array_equal(noisy(TRUTH, 0, L, seed=1), TRUTH)
    assert (noisy(TRUTH, 1, L, seed=1) != TRUTH).all()


def test_unknown_labels_stay_unknown() -> None:
    truth = np.where(TRUTH == 3, -1, TRUTH)
    found = noisy(truth, 0.5, L, seed=1)
    assert np.array_equal(found < 0, truth < 0)
    assert found.max() == L - 1


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan")])
def test_a_senseless_share_is_refused(epsilon: float) -> None:
    with pytest.raises(ShortlistError, match="noise: epsilon must be from 0 to 1"):
        noisy(TRUTH, epsilon, L, seed=1)


def test_every_design_hears_the_same_answers_and_pays_for_them(tmp_path: Path) -> None:
    dataset = data(200, 5)
    said = noisy(dataset.labels, 0.3, 5, seed=0)
    for name, query in (("cq", Conventional()), ("csq", CandidateSet(n_cal=20))):
        with campaign(tmp_path / name, dataset, query=query, initial=40, budget=40, rounds=4) as going:
            rounds = list(going.run(Simulated(said)))
        heard = measures.labels(tmp_path / name)
        assert heard == {k: dataset.classes[said[int(k[4:])]] for k in heard}
    truth = {k: dataset.classes[c] for k, c in zip(dataset.keys, dataset.labels, strict=True)}
    # answers that are wrong are seldom in the list; the true class is, and is passed over
    against_truth = measures.coverages(tmp_path / "csq", truth)
    against_answers = measures.coverages(tmp_path / "csq", measures.labels(tmp_path / "csq"))
    assert against_answers == pytest.approx({r.number: r.coverage for r in rounds[1:]})
    assert np.mean([*against_truth.values()]) > np.mean([*against_answers.values()]) + 0.05


def test_a_crowds_labels_are_labels_like_any_other() -> None:
    crowd = np.array([2, 2, 1])
    asked = [Question(i, 1, i, str(i), "initial", (), (), 3) for i in range(3)]
    assert [a.label for a in Simulated(crowd).answer(asked)] == [2, 2, 1]
