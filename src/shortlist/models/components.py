"""Many numbers an item as a few: the directions in which all items, labelled or not, differ most."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD

from shortlist.models.cores import on_one_thread
from shortlist.models.encode import Matrix

FITTED_ON = 20_000  # items are enough to find directions, however many there are
BLOCK = 4096  # rows


def principal(train: Matrix, test: Matrix | None, k: int) -> tuple[Matrix, Matrix | None]:
    """(N, k) float32, and the same for the test rows: principal components, or for sparse rows singular ones.

    Fewer where there are not so many directions. The same in every process: a stream of its own, one thread.

    >>> line = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> abs(principal(line, None, 1)[0]).round(2).tolist()
    [[1.409999966621399], [0.0], [1.409999966621399]]
    """
    directions = on_one_thread(partial(_fitted, train, k))
    return _projected(directions, train), None if test is None else _projected(directions, test)


def _fitted(train: Matrix, k: int) -> Any:
    n, width = train.shape
    rows = np.sort(np.random.default_rng(0).permutation(n)[:FITTED_ON])
    k = min(k, len(rows), width)
    method = TruncatedSVD(k, random_state=0) if sparse.issparse(train) else _dense(k, min(len(rows), width))
    return method.fit(train[rows])


def _dense(k: int, most: int) -> PCA:
    """The random method looks for a few of many directions, and has no use for all of them."""
    return PCA(k, svd_solver="randomized" if k < 0.8 * most else "full", random_state=0)


def _projected(directions: Any, rows: Matrix) -> Matrix:
    blocks = (rows[start : start + BLOCK] for start in range(0, rows.shape[0], BLOCK))
    return np.concatenate([on_one_thread(partial(_transformed, directions, block)) for block in blocks])


def _transformed(directions: Any, block: Matrix) -> Any:
    return directions.transform(block).astype(np.float32)
