"""Theorem 1: where c(k+1)/c(L) < 1 − α, the candidate set query is strictly cheaper, for any cost that grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shortlist.conformal import price_table
from shortlist.costs import Bits, Linear, Seconds
from shortlist.types import CostModel
from tests.properties.strategies import COSTS


def expected(n_classes: int, k: int, alpha: float, cost: CostModel) -> tuple[float, float]:
    """What a list of k and the conventional query are expected to cost."""
    table = price_table(n_classes, alpha, cost, np.empty(0))
    return float(table[k]), float(table[n_classes])


@given(st.integers(2, 2000), st.data(), st.floats(0, 1), COSTS)
def test_below_the_bound_the_shortlist_is_cheaper(
    n_classes: int, data: st.DataObject, alpha: float, cost: CostModel
) -> None:
    k = data.draw(st.integers(1, n_classes - 1))
    top, first = (float(cost(np.asarray(float(options)))) for options in (n_classes, k + 1))
    assume(first < (1 - alpha) * top * (1 - 1e-12))
    shortlist, conventional = expected(n_classes, k, alpha, cost)
    assert shortlist < conventional


@pytest.mark.parametrize("cost", [Bits(), Linear(0.3, 2), Seconds()], ids=lambda c: type(c).__name__)
def test_over_random_cases(cost: CostModel) -> None:
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(3000):
        n_classes = int(rng.integers(2, 1500))
        k, alpha = int(rng.integers(1, n_classes)), float(rng.random() ** 2)
        shortlist, conventional = expected(n_classes, k, alpha, cost)
        if float(cost(np.asarray(k + 1.0))) < (1 - alpha) * conventional:
            met += 1
            assert shortlist < conventional
    assert met > 150
