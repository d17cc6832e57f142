"""Digits: scaled, split the same way for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.datasets.builtin.digits import Digits
from shortlist.types import ShortlistError


def test_features_and_a_stratified_split() -> None:
    digits = Digits()
    assert digits.test_inputs is not None
    assert digits.test_labels is not None
    assert digits.inputs.dtype == np.float32
    assert (digits.inputs.min(), digits.inputs.max()) == (0, 1)
    assert len(digits) + len(digits.test_labels) == 1797
    shares = np.bincount(digits.test_labels) / (np.bincount(digits.test_labels) + np.bincount(digits.labels))
    assert np.abs(shares - 0.25).max() < 0.005
    assert digits.classes == tuple("0123456789")


def test_the_seed_alone_fixes_the_split() -> None:
    assert Digits(seed=3).keys == Digits(seed=3).keys
    assert Digits(seed=3).keys != Digits(seed=4).keys


def test_no_test_split() -> None:
    digits = Digits(test_share=0)
    assert (len(digits), digits.test_inputs, digits.test_labels) == (1797, None, None)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_refused_share(share: float) -> None:
    with pytest.raises(ShortlistError, match="digits: test_share is"):
        Digits(test_share=share)


def test_drawings_are_the_same_digits() -> None:
    features, drawings = Digits(), Digits(images=True)
    assert (drawings.kind, drawings.inputs.shape, drawings.inputs.dtype) == ("images", (1347, 8, 8), np.uint8)
    assert (np.abs(drawings.inputs.reshape(1347, 64) / 255 - features.inputs) < 0.002).all()
    assert drawings.keys == features.keys
    assert drawings.spec() == {**features.spec(), "images": True}
