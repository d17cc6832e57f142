"""Probabilities as models and people produce them: with ties, twins, zeros and certain rows."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from shortlist.costs import Bits, Linear, Seconds
from shortlist.types import CostModel

Case: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.int64]]

COSTS: st.SearchStrategy[CostModel] = st.one_of(
    st.just(Bits()),
    st.builds(Linear, st.floats(0.125, 2), st.floats(0, 2)),
    st.builds(Seconds, st.floats(-1, 2), st.floats(0.125, 3)),
)


@st.composite
def rows(draw: st.DrawFn, *, n: int | None = None, max_n: int = 12, min_classes: int = 1, max_classes: int = 9) -> Any:
    """(n, L) probabilities: small whole numbers over their sum, so that ties and zeros are common."""
    n = n or draw(st.integers(1, max_n))
    n_classes = draw(st.integers(min_classes, max_classes))
    top = draw(st.sampled_from([1, 3, 1000]))  # 1 makes uniform and one-hot rows, 1000 hardly a tie
    weights = draw(
        st.lists(st.lists(st.integers(0, top), min_size=n_classes, max_size=n_classes), min_size=n, max_size=n)
    )
    counts = np.array(weights, dtype=np.float64)
    counts[counts.sum(axis=1) == 0, 0] = 1
    dtype = draw(st.sampled_from(["float32", "float64"]))
    return (counts / counts.sum(axis=1, keepdims=True)).astype(dtype)


@st.composite
def cases(draw: st.DrawFn, /, **sizes: int) -> Case:
    """Probabilities and a label for each row, likely or not."""
    probs = draw(rows(**sizes))
    n, n_classes = probs.shape
    labels = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    return probs, np.array(labels, dtype=np.int64)
