"""long_tail: the paper's sizes, and laws that hold for any labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.datasets.official.cifar import long_tail
from shortlist.types import ShortlistError

labellings = st.lists(st.integers(-1, 4), max_size=60).map(lambda labels: np.array(labels, np.int64))
ratios = st.floats(1, 1e6)


@pytest.mark.parametrize(("ratio", "total"), [(1, 50_000), (3, 30_324), (6, 23_266), (10, 19_573)])
def test_the_papers_sizes(ratio: float, total: int) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(100), 500))
    kept = long_tail(labels, ratio, 100)
    assert len(kept) == total
    assert np.bincount(labels[kept])[[0, 99]].tolist() == [500, int(500 / ratio)]


@given(labels=labellings, ratio=ratios)
def test_the_first_of_each_class_stay_in_order(
    labels: np.ndarray[tuple[int], np.dtype[np.int64]], ratio: float
) -> None:
    kept = long_tail(labels, ratio, 5)
    assert kept.dtype == np.int64
    assert (np.diff(kept) > 0).all()
    n_max = max((labels == c).sum() for c in range(5))
    for c in range(5):
        members = np.flatnonzero(labels == c)
        wanted = int(n_max * ratio ** (-c / 4))
        assert kept[labels[kept] == c].tolist() == members[:wanted].tolist()
    assert (labels[kept] >= 0).all()


@given(labels=labellings, ratio=ratios, more=ratios)
def test_a_larger_ratio_keeps_some_of_the_same_items(
    labels: np.ndarray[tuple[int], np.dtype[np.int64]], ratio: float, more: float
) -> None:
    assert set(long_tail(labels, ratio * more, 5)) <= set(long_tail(labels, ratio, 5))


@given(labels=labellings)
def test_ratio_1_keeps_everything_that_has_a_label(labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    assert long_tail(labels, 1, 5).tolist() == np.flatnonzero(labels >= 0).tolist()


@pytest.mark.parametrize("ratio", [0.99, 0, -3, float("nan"), float("inf")])
def test_refused_ratios(ratio: float) -> None:
    with pytest.raises(ShortlistError, match=rf"long_tail: ratio is {ratio}; it has to be at least 1"):
        long_tail([0, 1], ratio, 2)


def test_one_class_has_no_tail() -> None:
    with pytest.raises(ShortlistError, match="long_tail: n_classes is 1; it has to be at least 2"):
        long_tail([0, 0], 2, 1)
