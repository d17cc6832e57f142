from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from sklearn.svm import SVC

from shortlist.models.svm.pairwise import CERTAIN, couple, fit_sigmoids, pair_index, pair_probs
from shortlist.types import Floats
from tests.models.toys import blobs


@st.composite
def pair_tables(draw: st.DrawFn) -> Floats:
    """(pairs, n) of what pair_probs could give, certain pairs included."""
    k, n = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    return draw(hnp.arrays(np.float64, (k * (k - 1) // 2, n), elements=st.floats(CERTAIN, 1 - CERTAIN)))


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(1e-3, 1)))
def test_coupling_recovers_what_the_pairs_agree_on(weights: Floats) -> None:
    p = weights / weights.sum()
    first, second = np.triu_indices(len(p), 1)
    r = (p[first] / (p[first] + p[second]))[:, np.newaxis]
    np.testing.assert_allclose(couple(r), p[np.newaxis], atol=1e-9)


@given(pair_tables())
def test_coupling_gives_distributions(r: Floats) -> None:
    p = couple(r)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


@given(pair_tables())
@settings(max_examples=50)
def test_no_other_distribution_fits_the_pairs_better(r: Floats) -> None:
    k = couple(r).shape[1]
    first, second = np.triu_indices(k, 1)

    def misfit(p: Floats) -> Floats:
        gaps: Floats = (1 - r) * p[:, first].T - r * p[:, second].T
        total: Floats = np.square(gaps).sum(axis=0)
        return total

    best = misfit(couple(r))
    for other in np.random.default_rng(0).dirichlet(np.ones(k), size=(20, r.shape[1])):
        assert (best <= misfit(other) + 1e-9).all()
        assert (best <= misfit(0.99 * couple(r) + 0.01 * other) + 1e-9).all()


def test_two_classes_need_no_coupling() -> None:
    np.testing.assert_allclose(couple(np.array([[0.3, 0.9]])), [[0.3, 0.7], [0.9, 0.1]], rtol=1e-12)


def test_pairs_are_in_the_order_of_libsvm() -> None:
    index = pair_index(5)
    np.testing.assert_array_equal(index[np.triu_indices(5, 1)], np.arange(10))
    np.testing.assert_array_equal(index, index.T)


def test_coupling_agrees_with_libsvm_on_its_own_sigmoids() -> None:
    data = blobs()
    svc = SVC(kernel="sigmoid", gamma=0.5, C=10, probability=True, random_state=0, decision_function_shape="ovo")
    with warnings.catch_warnings():  # probability=True is deprecated: in tests, and only there, it is the reference
        warnings.simplefilter("ignore", FutureWarning)
        svc.fit(data.inputs, data.labels)
        sigmoids = np.stack([svc.probA_, svc.probB_])
    ours = couple(pair_probs(svc.decision_function(data.test_inputs).T, sigmoids))
    # libsvm stops when Qp is constant to within 0.005 / k
    np.testing.assert_allclose(ours, svc.predict_proba(data.test_inputs), atol=0.005)


def entries(seed: int, sizes: list[tuple[int, int]], gap: float) -> tuple[Floats, Any, Any]:
    rng = np.random.default_rng(seed)
    is_first = np.concatenate([np.repeat([True, False], size) for size in sizes])
    pair = np.repeat(np.arange(len(sizes)), [sum(size) for size in sizes])
    return rng.normal(np.where(is_first, gap, -gap)), is_first, pair


@pytest.mark.parametrize("gap", [-0.3, 0.0, 0.5, 5.0])
def test_sigmoids_have_the_largest_likelihood(gap: float) -> None:
    sizes = [(50, 30), (5, 100), (1, 1), (1, 40), (3, 2)]
    decision, is_first, pair = entries(1, sizes, gap)
    A, B = fit_sigmoids(decision, is_first, pair, len(sizes))
    for i, (n_first, n_second) in enumerate(sizes):
        d, target = (
            decision[pair == i],
            np.where(is_first[pair == i], (n_first + 1) / (n_first + 2), 1 / (n_second + 2)),
        )

        def loss(ab: Floats, d: Floats = d, target: Floats = target) -> float:
            z = ab[0] * d + ab[1]
            return float((target * z + np.logaddexp(0, -z)).sum())

        best = minimize(loss, [0.0, 0.0], method="BFGS").fun
        assert loss(np.array([A[i], B[i]])) == pytest.approx(best, abs=1e-5)


def test_the_shuffle_of_other_pairs_does_not_matter() -> None:
    decision, is_first, pair = entries(2, [(20, 10), (7, 9)], 1.0)
    together = fit_sigmoids(decision, is_first, pair, 2)
    for i in range(2):
        mine = pair == i
        alone = fit_sigmoids(decision[mine], is_first[mine], np.zeros(mine.sum(), int), 1)
        np.testing.assert_array_equal(together[:, [i]], alone)


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 1e6])
def test_values_that_tell_nothing_leave_the_class_shares(value: float) -> None:
    """All decision values alike: the sigmoid can only say how many items each class has, prior-corrected."""
    is_first = np.arange(40) < 10
    sigmoids = fit_sigmoids(np.full(40, value), is_first, np.zeros(40, int), 1)
    share = (10 * 11 / 12 + 30 * 1 / 32) / 40
    assert pair_probs(np.array([[value]]), sigmoids).item() == pytest.approx(share, abs=1e-4)


def test_no_pair_is_ever_certain() -> None:
    r = pair_probs(np.array([[-1e9, 1e9]]), np.array([[-1.0], [0.0]]))
    assert r.tolist() == [[CERTAIN, 1 - CERTAIN]]
