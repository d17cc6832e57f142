"""A dataset's inputs as one feature matrix, made once per campaign."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from shortlist.datasets.arrays import as_array, described, kind_of, refuse_not_finite
from shortlist.system.arrays import blocks
from shortlist.system.threads import on_one_thread
from shortlist.types import Dataset, Kind, ShortlistError

Matrix: TypeAlias = Any  # (N, D): a dense float array, or a scipy CSR matrix


def encode(dataset: Dataset) -> tuple[Matrix, Matrix | None]:
    """The training rows and, where there is a test split, the test rows.

    Texts become TF-IDF, fitted on every training text, labelled or not; images become pixels in 0..1;
    features stay what they are.

    >>> from types import SimpleNamespace
    >>> news = SimpleNamespace(name="news", kind="texts", inputs=["oil prices", "wheat"], test_inputs=["wheat oil"])
    >>> train, test = encode(news)
    >>> train.shape, test.toarray().round(2).tolist()
    ((2, 3), [[0.71, 0.0, 0.71]])
    """
    train, test = dataset.inputs, dataset.test_inputs
    if dataset.kind == "texts":
        return _tf_idf(train, test, dataset.name)
    encoded = _rows(train, dataset.kind, f"{dataset.name}: training inputs")
    encoded_test = None if test is None else _rows(test, dataset.kind, f"{dataset.name}: test inputs")
    if encoded_test is not None and encoded_test.shape[1] != encoded.shape[1]:
        raise ShortlistError(
            f"{dataset.name}: a training row holds {encoded.shape[1]} numbers but a test row {encoded_test.shape[1]}; "
            "give both splits the same columns"
        )
    return encoded, encoded_test


def as_texts(texts: Sequence[str]) -> Any:
    """(N,) texts whose rows an array can pick."""
    rows = np.empty(len(texts), object)
    rows[:] = texts
    return rows


def _tf_idf(train: Sequence[str], test: Sequence[str] | None, name: str) -> tuple[Matrix, Matrix | None]:
    from sklearn.feature_extraction.text import TfidfVectorizer  # here: networks never load scikit-learn

    vectoriser = TfidfVectorizer()
    try:
        encoded = vectoriser.fit_transform(train)
    except ValueError as error:  # every text is empty, or holds single letters only
        raise ShortlistError(f"{name}: cannot turn the training texts into TF-IDF features: {error}") from error
    return encoded, None if test is None else vectoriser.transform(test)


def _rows(inputs: Any, kind: Kind, field: str) -> Matrix:
    rows = as_array(inputs, field=field)
    if kind_of(rows, field=field) != kind:
        raise ShortlistError(f"{field}: {described(rows)} is no array of {kind}, which the dataset says it is")
    if kind == "images":
        return np.divide(rows.reshape(len(rows), -1), 255, dtype=np.float32)
    refuse_not_finite(rows, field=field)
    return rows if sparse.issparse(rows) or rows.dtype.kind == "f" else rows.astype(np.float64)


# --- a few numbers an item ---------------------------------------------------------------------------------------


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
    from sklearn.decomposition import PCA, TruncatedSVD

    n, width = train.shape
    rows = np.sort(np.random.default_rng(0).permutation(n)[:FITTED_ON])
    most = min(len(rows), width)
    k = min(k, most)
    if sparse.issparse(train):
        return TruncatedSVD(k, random_state=0).fit(train[rows])
    # the random method looks for a few of many directions, and has no use for all of them
    solver = "randomized" if k < 0.8 * most else "full"
    return PCA(k, svd_solver=solver, random_state=0).fit(train[rows])


def _projected(directions: Any, rows: Matrix) -> Matrix:
    parts = (directions.transform(rows[block]).astype(np.float32) for block in blocks(rows.shape[0], BLOCK))
    return on_one_thread(lambda: np.concatenate(list(parts)))
