from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shortlist.probabilities import align, as_rng, check_labels, check_probs, count_true, ranking, without
from shortlist.types import ShortlistError
from tests import reference
from tests.backends import HAS_TORCH, Backend, awkward, each_backend, every_backend, host, softmax
from tests.cases import in_turn


@every_backend
def test_good_probabilities_come_back_as_they_are(backend: Backend) -> None:
    for n_classes in (1, 2, 7, 1000):
        probs = backend(softmax(5, n_classes))
        assert check_probs(probs) is probs
    none = backend(np.empty((0, 3)))
    assert check_probs(none) is none


@every_backend
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([np.nan, 0.5, 0.5], "p: row 7 holds NaN; every probability must be a number from 0 to 1"),
        ([-0.5, 1.0, 0.5], "p: row 7 holds a negative number; give probabilities, not logits"),
        ([0.5, 0.5, 0.5], "p: row 7 sums to 1.5, not 1; divide rounded numbers and counts by the row sums"),
        ([0.0, 0.0, 0.0], "p: row 7 sums to 0, not 1"),
        ([np.inf, 0.0, 0.0], "p: row 7 sums to inf, not 1"),
        ([np.inf, -np.inf, 0.0], "p: row 7 holds a negative number"),
        ([3e38, 3e38, 0.0], "p: row 7 sums to (inf|6e.38), not 1"),
    ],
)
def test_the_first_wrong_row_is_named(backend: Backend, row: list[float], message: str) -> None:
    probs = np.concatenate([softmax(2, 3), [row], softmax(1, 3), [row]])
    with pytest.raises(ShortlistError, match=f"^{message}"):
        check_probs(backend(probs), "p", first=5)


def test_rounding_is_forgiven() -> None:
    check_probs(np.round(softmax(100, 10), 4))
    check_probs(np.array([[1 + 1e-7, -1e-7]]))
    with pytest.raises(ShortlistError, match=r"sums to 1.01"):
        check_probs(np.array([[0.51, 0.5]]))


def test_half_precision_is_summed_in_single() -> None:
    check_probs(softmax(50, 1000).astype(np.float16))
    check_probs(np.full((2, 10_000), 1e-4, np.float16))


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
def test_bfloat16_is_given_its_own_rounding() -> None:
    import torch

    logits = torch.from_numpy(np.random.default_rng(0).standard_normal((500, 100)) * 4)
    check_probs(torch.softmax(logits.to(torch.bfloat16), dim=1))
    check_probs(torch.tensor([[1.0, 2**-7]], dtype=torch.bfloat16))  # off by one rounding of a 1
    with pytest.raises(ShortlistError, match=r"sums to 1\.01562, not 1"):
        check_probs(torch.tensor([[1.0, 2**-6]], dtype=torch.bfloat16))


@every_backend
def test_labels_are_whole_numbers_one_per_row_each_a_class(backend: Backend) -> None:
    good = backend(np.array([0, 2, 1]))
    assert check_labels(good, 3, 3) is good
    for labels, message in [
        (np.array([0, 3, 1]), "y: row 1 names class 3; there are 3 [(]0 to 2[)]"),
        (np.array([0, 1, -1]), "y: row 2 names class -1"),
        (np.array([0, 1]), "y: need 3 labels, one per row of the probabilities, got [(]2,[)]"),
        (np.array([[0], [1], [2]]), "y: need 3 labels"),
        (np.array([0.0, 1.0, 2.0]), "y: need whole numbers from 0 to 2, got"),
    ]:
        with pytest.raises(ShortlistError, match=f"^{message}"):
            check_labels(backend(labels), 3, 3, "y")
    with pytest.raises(ShortlistError, match=r"^y: need 3 labels, one per row of the probabilities, got str"):
        check_labels("012", 3, 3, "y")
    assert check_labels([0, 1, 2], 3, 3, "y").tolist() == [0, 1, 2]
    assert check_labels([], 0, 3, "y").tolist() == []


@every_backend
def test_ranking_is_most_probable_first_ties_by_index(backend: Backend) -> None:
    for n_classes in (1, 2, 5, 40):
        probs = awkward(n_classes, backend.dtype)
        order = ranking(backend(probs))
        assert backend.owns(order)
        assert host(order).tolist() == [reference.order(row) for row in probs.tolist()]


@every_backend
@pytest.mark.parametrize("n_classes", [1, 100, 300, 70_000])
def test_counting_along_rows(backend: Backend, n_classes: int) -> None:
    mask = np.random.default_rng(0).random((3, n_classes)) < 0.9
    mask[0] = True
    counts = count_true(backend(mask))
    assert backend.owns(counts)
    assert host(counts).dtype == np.int64
    assert host(counts).tolist() == [sum(row) for row in mask.tolist()]
    assert host(count_true(backend(mask.T.copy().T))).tolist() == host(counts).tolist()  # column after column


@every_backend
def test_rejected_classes_are_taken_out_and_the_rest_made_whole(backend: Backend) -> None:
    probs: Any = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    rejected = np.array([[True, False, False], [True, False, False], [False, False, False]])
    left = without(backend(probs), backend(rejected))
    assert backend.owns(left)
    np.testing.assert_allclose(host(left), [[0, 0.6, 0.4], [0, 0.5, 0.5], [0.2, 0.3, 0.5]], rtol=1e-6)
    check_probs(left)
    with pytest.raises(ShortlistError, match=r"^rejected: row 0 rules every class out"):
        without(backend(probs[:1]), backend(np.ones((1, 3), bool)))


# --- columns of an estimator beside the classes ----------------------------------------------------------------


def test_columns_go_to_the_classes_they_are_of() -> None:
    """A class that was missing in training shifts the columns after it."""
    x = np.arange(12.0)[:, None]
    estimator = LogisticRegression().fit(x[4:], np.array(["cow", "dog", "ant"])[np.arange(8) % 3])
    classes = ["dog", "bee", "cow", "ant"]
    whole, seen = align(estimator.predict_proba(x), estimator.classes_, classes), estimator.predict_proba(x)
    for name, column in zip(estimator.classes_, seen.T, strict=True):
        assert whole[:, classes.index(name)].tolist() == column.tolist()
    assert whole[:, 1].tolist() == [0.0] * 12
    assert whole.dtype == seen.dtype


@each_backend
def test_columns_stay_in_their_kind_of_array(backend: Backend) -> None:
    whole = align(backend(np.array([[0.25, 0.75]])), np.array([7, 3]), range(9))
    assert type(whole) is type(backend(np.zeros(1)))
    assert np.flatnonzero(host(whole)[0]).tolist() == [3, 7]
    assert host(whole)[0, 3] == 0.75


@pytest.mark.parametrize(
    ("present", "classes", "message"),
    [
        (["a"], ["a", "b"], "probs has 2 columns, and present names 1"),
        (["a", "c"], ["a", "b"], r"'c' is present and not among classes \('a', 'b'\)"),
        (["a", "a"], ["a", "b"], "present has 'a' twice"),
        (["a", "b"], ["a", "b", "b"], "classes has 'b' twice"),
    ],
)
def test_columns_that_are_of_no_class_are_refused(present: list[str], classes: list[str], message: str) -> None:
    with pytest.raises(ShortlistError, match=f"^align: {message}"):
        align([[0.5, 0.5]], present, classes)


# --- to the last digit -----------------------------------------------------------------------------------------


@in_turn(
    ("row", "words"),
    [
        ([0.5, 0.4991], None),
        ([0.5, 0.5009], None),
        ([0.5, 0.4989], "sums to 0.9989, not 1"),
        ([0.5, 0.5011], "sums to 1.0011, not 1"),
        ([1.0000009, -0.9e-6], None),
        ([1.0000011, -1.1e-6], "holds a negative number"),
        ([1.0, np.nan], "holds NaN"),
    ],
)
def test_how_far_a_row_may_be_off(row: list[float], words: str | None) -> None:
    probs = np.array([[0.5, 0.5], row])
    if words is None:
        assert check_probs(probs) is probs
    else:
        with pytest.raises(ShortlistError, match=f"^probs: row 8 {words}"):
            check_probs(probs, first=7)


def test_a_matrix_has_a_class_at_least_and_may_have_no_row() -> None:
    assert check_probs(np.empty((0, 3))).shape == (0, 3)
    assert check_probs(np.ones((2, 1))).shape == (2, 1)
    for wrong, got in ((np.empty((2, 0)), r"\(2, 0\)"), (np.ones(3), r"\(3,\)"), (np.ones((1, 1, 1)), r"\(1, 1, 1\)")):
        with pytest.raises(ShortlistError, match=f"need a matrix .items, classes., got {got}"):
            check_probs(wrong)


@in_turn("n_classes", [3, (1 << 16) - 1, 1 << 16])
def test_as_many_are_counted_as_there_are(n_classes: int) -> None:
    mask = np.ones((2, n_classes), np.bool_)
    mask[1, 1:] = False
    counts = count_true(mask)
    assert counts.tolist() == [n_classes, 1]
    assert counts.dtype == np.int64


def test_a_seed_is_a_whole_number_of_at_least_0() -> None:
    rng = np.random.default_rng(3)
    assert as_rng(rng) is rng
    for seed in (0, 3, np.int32(3)):
        assert as_rng(seed).integers(1000) == np.random.default_rng(int(seed)).integers(1000)
    for wrong in (True, -1, 0.5, None, "3"):
        with pytest.raises(ShortlistError, match=r"rng: need np\.random\.default_rng"):
            as_rng(wrong)
