from __future__ import annotations

import numpy as np

from shortlist.types import Array, Dataset


def features_of(dataset: Dataset) -> Array | None:
    """(N, F) what distances between items are taken from: the dataset's features, or dense inputs that are such.

    >>> from types import SimpleNamespace
    >>> features_of(SimpleNamespace(features=None, kind="features", inputs=np.ones((2, 3), np.float32)))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    if dataset.features is not None or dataset.kind != "features" or not isinstance(dataset.inputs, np.ndarray):
        return dataset.features
    floating = np.issubdtype(dataset.inputs.dtype, np.floating)
    return dataset.inputs if floating else dataset.inputs.astype(np.float32)
