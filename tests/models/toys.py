"""Small datasets for the models' tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from shortlist.types import Array, Ints, Kind, Stream


@dataclass(frozen=True)
class Toy:
    """A dataset of whatever it is given."""

    kind: Kind
    inputs: Any
    labels: Ints
    test_inputs: Any | None = None
    test_labels: Ints | None = None
    name: str = "toy"
    keys: Sequence[str] = ()
    classes: Sequence[str] = ()
    features: Array | None = field(default=None)


def blobs(per_class: Sequence[int] = (40, 30, 20, 10), n_test: int = 200, seed: int = 0) -> Toy:
    """Overlapping clouds in the plane, of uneven sizes; the test items are drawn evenly."""
    rng = np.random.default_rng(seed)
    k = len(per_class)
    angle = 2 * np.pi * np.arange(k) / k
    centres = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    labels, test_labels = np.repeat(np.arange(k), per_class), rng.integers(k, size=n_test)
    noise, test_noise = rng.normal(0, 0.5, (len(labels), 2)), rng.normal(0, 0.5, (n_test, 2))
    return Toy("features", centres[labels] + noise, labels, centres[test_labels] + test_noise, test_labels)


def digits(n_train: int = 600) -> Toy:
    """Handwritten digits as uint8 images, shuffled."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images, labels = (data.images * 255 / 16).astype(np.uint8)[order], data.target[order].astype(np.int64)
    return Toy("images", images[:n_train], labels[:n_train], images[n_train:], labels[n_train:], name="digits")


def all_probs(stream: Stream) -> Array:
    return np.concatenate([batch.probs for batch in stream])


def log_loss(probs: Array, labels: Ints | None) -> float:
    assert labels is not None
    return float(-np.log(np.maximum(probs[np.arange(len(labels)), labels], 1e-6)).mean())


def accuracy(probs: Array, labels: Ints | None) -> float:
    assert labels is not None
    return float((probs.argmax(axis=1) == labels).mean())
