from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from shortlist.models.belief.combination import Combination, Problem, fitted
from shortlist.types import Rng


def made(rng: Rng, m: int = 60, n_classes: int = 7, experts: int = 2) -> Problem:
    """Experts of which the first knows something, and classes of which some are new to some items."""
    labels = rng.integers(n_classes, size=m)
    logs = rng.normal(size=(experts, m, n_classes))
    logs[0, np.arange(m), labels] += 2
    return Problem(logs.astype(np.float32), rng.random((m, n_classes)) < 0.7, labels, np.ones(experts))


def test_the_slope_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    problem = made(rng)
    for kept in ([0, 1], [1], list[int]()):
        theta = rng.normal(size=len(kept) + 3)
        steps = 1e-2 * np.eye(len(theta))  # wide, for logarithms have 32 bits
        numeric = [(problem.loss(theta + h, kept)[0] - problem.loss(theta - h, kept)[0]) / 2e-2 for h in steps]
        np.testing.assert_allclose(problem.loss(theta, kept)[1], numeric, atol=0.02)


def test_the_loss_is_that_of_the_probabilities() -> None:
    problem = made(np.random.default_rng(1))
    theta = np.array([0.3, -0.2, 0.5, -2.0, -1.0])
    shares = 1 / (1 + np.exp(-theta[3:]))
    probs = Combination(np.exp(theta[:2]), 0.5, (shares[0], shares[1]), problem.alike).probs(problem.logs, problem.seen)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)
    expected = -np.log(probs[np.arange(60), problem.labels].astype(np.float64)).sum()
    prior = problem._with_prior(theta, [0, 1], 0.0, np.zeros(5))[0]
    assert problem.loss(theta, [0, 1])[0] - prior == pytest.approx(expected, rel=1e-5)


def test_an_overconfident_expert_is_taken_back() -> None:
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(10, 0.3), 3000)
    labels = (true.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1).clip(max=9)
    logs = 4 * np.log(np.maximum(true, 1e-6))[np.newaxis].astype(np.float32)
    found = fitted(Problem(logs, np.ones((3000, 10), bool), labels, np.ones(1)))
    assert found.weights[0] == pytest.approx(0.25, abs=0.03)


def test_what_is_noise_weighs_nothing() -> None:
    kept = 0
    for seed in range(60):
        problem = made(np.random.default_rng(seed), m=150)
        weights = fitted(problem).weights
        assert weights[0] > 0
        kept += weights[1] > 0
    assert kept <= binom.ppf(0.999, 60, 0.05)  # 1 in 20 at most


def test_few_labels_make_nobody_sure() -> None:
    """Three right answers of an expert, and it is still not believed to the last digit."""
    logs = np.log(np.where(np.eye(3, 5) > 0, 0.96, 0.01))[np.newaxis].astype(np.float32)
    found = fitted(Problem(logs, np.ones((3, 5), bool), np.arange(3), np.ones(1)))
    assert 0.5 < found.weights[0] < 2
    assert found.probs(logs, np.ones(5, bool)).max() < 0.99


def test_without_answers_experts_have_their_usual_weights() -> None:
    nothing = Problem(
        np.zeros((2, 0, 4), np.float32), np.zeros((0, 4), bool), np.zeros(0, np.int64), np.array([1, 0.5])
    )
    np.testing.assert_allclose(fitted(nothing).weights, [1, 0.5], atol=1e-3)


def test_new_classes_are_as_probable_as_labels_alone_of_their_class() -> None:
    """Good and Turing: 20 of 100 labels are the only one of their class."""
    labels = np.array([*np.repeat(np.arange(8), 10), *range(8, 28)])
    seen = np.tile(np.isin(np.arange(40), labels), (100, 1))
    seen[np.arange(80, 100), labels[80:]] = False
    known = np.isin(np.arange(40), labels)
    found = fitted(Problem(np.zeros((1, 100, 40), np.float32), seen, labels, np.ones(1)))
    new = found.probs(np.zeros((1, 1, 40), np.float32), known)[0, ~known].sum()
    assert new == pytest.approx(0.2, abs=0.1)
