"""A dataset's inputs as one feature matrix, made once per campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from shortlist.types import Dataset, ShortlistError

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
    rows = _pixels if dataset.kind == "images" else _numbers
    encoded = rows(train, f"{dataset.name}: training")
    if test is None:
        return encoded, None
    encoded_test = rows(test, f"{dataset.name}: test")
    if encoded_test.shape[1] != encoded.shape[1]:
        raise ShortlistError(
            f"{dataset.name}: a training row holds {encoded.shape[1]} numbers but a test row {encoded_test.shape[1]}; "
            "give both splits the same columns"
        )
    return encoded, encoded_test


def _tf_idf(train: Sequence[str], test: Sequence[str] | None, name: str) -> tuple[Matrix, Matrix | None]:
    vectoriser = TfidfVectorizer()
    try:
        encoded = vectoriser.fit_transform(train)
    except ValueError as error:  # every text is empty, or holds single letters only
        raise ShortlistError(f"{name}: cannot turn the training texts into TF-IDF features: {error}") from error
    return encoded, None if test is None else vectoriser.transform(test)


def _pixels(images: Any, where: str) -> Matrix:
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ShortlistError(
            f"{where} images must be uint8 of shape (N, H, W) or (N, H, W, 3), "
            f"not {images.dtype} of shape {images.shape}"
        )
    return np.divide(images.reshape(len(images), -1), 255, dtype=np.float32)


def _numbers(features: Any, where: str) -> Matrix:
    if sparse.issparse(features):
        rows = features.tocsr()
        bad = np.flatnonzero(~np.isfinite(rows.data))
        first_bad = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1 if bad.size else None
    else:
        rows = np.asarray(features)
        if rows.ndim != 2 or rows.dtype.kind not in "fiub":
            raise ShortlistError(
                f"{where} features must be a table of numbers, not {rows.dtype} of shape {rows.shape}; "
                "give one row per item"
            )
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        first_bad = int(bad[0]) if bad.size else None
    if first_bad is not None:
        raise ShortlistError(f"{where} row {first_bad} (counted from 0) holds NaN or infinity; fill it in or drop it")
    return rows
