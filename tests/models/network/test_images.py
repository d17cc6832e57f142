"""Images are moved as a person would move them by hand, pixel by pixel."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from shortlist.models.network.images import mixed, moved
from shortlist.models.network.training import Training


def by_hand(image: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Every pixel by itself: turn about the middle, mirror, shift; black outside."""
    height, width = image.shape[:2]
    out = np.zeros_like(image)
    dx, dy, mirror, angle = (float(m) for m in move)
    for y in range(height):
        for x in range(width):
            v, u = y - (height - 1) / 2, x - (width - 1) / 2
            row = round(v * cos(angle) - u * sin(angle) + (height - 1) / 2)
            column = round(v * sin(angle) + u * cos(angle) + (width - 1) / 2)
            if not (0 <= row < height and 0 <= column < width):
                continue
            column = column if mirror > 0 else width - 1 - column
            row, column = row + int(dy), column + int(dx)
            if 0 <= row < height and 0 <= column < width:
                out[y, x] = image[row, column]
    return out


@given(st.integers(0, 2**32 - 1))
def test_as_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (4, 9, 7, 3), np.uint8)
    moves = Training(shift=3, rotation=40).moves(rng, (6,))
    items = rng.integers(0, 4, 6)
    got = moved(torch.from_numpy(images), torch.from_numpy(items), torch.from_numpy(moves)).numpy()
    for image, item, move in zip(got, items, moves, strict=True):
        # half-way between two pixels the last bit of a sine decides
        assert (image != by_hand(images[item], move)).any(axis=-1).mean() < 0.04


def test_without_augmentation_images_stay() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), np.uint8)
    moves = Training(shift=0, flip=False, rotation=0).moves(np.random.default_rng(0), (5,))
    assert (moved(*map(torch.from_numpy, (images, np.arange(5), moves))).numpy() == images).all()


def test_draws_cover_what_they_may_and_no_more() -> None:
    moves = Training(shift=4, flip=True, rotation=15).moves(np.random.default_rng(0), (4000,))
    assert set(np.unique(moves[:, :2])) == set(range(-4, 5))
    assert set(np.unique(moves[:, 2])) == {-1, 1}
    assert 0.45 < (moves[:, 2] > 0).mean() < 0.55
    assert np.abs(moves[:, 3]).max() == pytest.approx(np.radians(15), rel=0.01)


def test_mix_up_is_with_the_row_before() -> None:
    values = torch.arange(6.0).reshape(3, 2)
    assert mixed(values, torch.tensor(1.0)).equal(values)
    assert mixed(values, torch.tensor(0.5))[1].tolist() == [1.0, 2.0]
