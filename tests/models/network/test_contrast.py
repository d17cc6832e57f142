"""A view is what a plain loop over its pixels gives."""

from __future__ import annotations

from dataclasses import replace
from math import floor, isclose, pi

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from tests.backends import HAS_TORCH

if not HAS_TORCH:
    pytest.skip("needs torch", allow_module_level=True)

import torch

from shortlist.models.network.contrast import HUE, LEFT, MIRROR, SATURATION, TALL, TOP, WIDE, Views, viewed

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (6, 8, 12, 3), np.uint8)
PLAIN = Views(least=1, jitter=0, grey=0)
LUMA = np.array([0.299, 0.587, 0.114])


def shown(numbers: npt.NDArray[np.float32], images: npt.NDArray[np.uint8] = IMAGES) -> npt.NDArray[np.float32]:
    """Views of the images in turn."""
    items = np.arange(len(numbers)) % len(images)
    views: npt.NDArray[np.float32] = viewed(*(torch.from_numpy(a) for a in (images, items, numbers))).numpy()
    return views


def plain(*, mirror: int = 1, n: int = 6, **others: float) -> npt.NDArray[np.float32]:
    numbers = PLAIN.draw(np.random.default_rng(0), (n,))
    numbers[:, MIRROR] = mirror
    for name, value in others.items():
        numbers[:, {"saturation": SATURATION, "hue": HUE}[name]] = value
    return numbers


def by_hand(image: npt.NDArray[np.uint8], numbers: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """One view, pixel by pixel."""
    top, left, tall, wide, mirror, brightness, contrast, saturation, hue = numbers.astype(np.float64)
    height, width, _ = image.shape
    view = np.empty(image.shape)
    for row in range(height):
        for column in range(width):
            y = (top + tall * (row + 0.5) / height) * height - 0.5
            seen = column if mirror > 0 else width - 1 - column
            x = (left + wide * (seen + 0.5) / width) * width - 0.5
            view[row, column] = between(image, y, x)
    view = np.clip(view * brightness, 0, 255)
    mean = (view @ LUMA).mean()
    view = np.clip(mean + contrast * (view - mean), 0, 255)
    y = view @ LUMA
    colour = view @ np.array([0.5959 + 0.2115j, -0.2746 - 0.5227j, -0.3213 + 0.3112j])  # I + iQ
    turned = saturation * colour * np.exp(1j * hue)
    to_yiq = np.array([LUMA, [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])
    rgb: npt.NDArray[np.float64] = np.linalg.solve(to_yiq, np.stack([y, turned.real, turned.imag]).reshape(3, -1))
    return np.clip(rgb.T.reshape(image.shape), 0, 255)


def between(image: npt.NDArray[np.uint8], y: float, x: float) -> npt.NDArray[np.float64]:
    """The four pixels around a point, the nearer the more; beyond an edge there is the pixel at the edge."""
    found = np.zeros(3)
    for at_y in (floor(y), floor(y) + 1):
        for at_x in (floor(x), floor(x) + 1):
            share = (1 - abs(y - at_y)) * (1 - abs(x - at_x))
            found += share * image[np.clip(at_y, 0, image.shape[0] - 1), np.clip(at_x, 0, image.shape[1] - 1)]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_views_are_those_of_a_plain_loop(seed: int) -> None:
    numbers = Views().draw(np.random.default_rng(seed), (12,))
    slow = np.stack([by_hand(IMAGES[at % 6], numbers[at]) for at in range(12)])
    np.testing.assert_allclose(shown(numbers), slow, atol=2e-3)


def test_strong_colours_stay_within_those_there_are() -> None:
    numbers = replace(Views(), jitter=1, strength=0.99, hue=0.5).draw(np.random.default_rng(0), (12,))
    slow = np.stack([by_hand(IMAGES[at % 6], numbers[at]) for at in range(12)])
    np.testing.assert_allclose(shown(numbers), slow, atol=2e-3)
    assert (slow == 0).any()
    assert (slow == 255).any()


def test_the_whole_image_in_its_own_colours_is_the_image() -> None:
    np.testing.assert_allclose(shown(plain()), IMAGES, atol=1e-3)


def test_a_mirrored_view_reads_from_right_to_left() -> None:
    np.testing.assert_allclose(shown(plain(mirror=-1)), IMAGES[:, :, ::-1], atol=1e-3)


def test_a_grey_view_keeps_how_bright_its_pixels_are() -> None:
    views = shown(plain(saturation=0, hue=1))
    np.testing.assert_allclose(views, np.repeat((IMAGES @ LUMA)[..., None], 3, axis=3), atol=1e-3)


def test_hue_keeps_how_bright_a_pixel_is_and_comes_round() -> None:
    soft = (IMAGES // 8 + 112).astype(np.uint8)  # no colour leaves its range
    turned = shown(plain(hue=1.0), soft)
    np.testing.assert_allclose(turned @ LUMA, soft @ LUMA, atol=1e-3)
    assert np.abs(turned - soft).max() > 5
    np.testing.assert_allclose(shown(plain(hue=2 * pi), soft), soft, atol=1e-3)


def test_numbers_are_drawn_as_often_and_as_far_as_said() -> None:
    n = 20_000
    numbers = Views().draw(np.random.default_rng(0), (2, n // 2)).reshape(n, -1).astype(np.float64)
    area, aspect = numbers[:, TALL] * numbers[:, WIDE], numbers[:, WIDE] / numbers[:, TALL]
    assert 0.2 - 1e-6 <= area.min() < 0.21
    assert 0.99 < area.max() <= 1 + 1e-6
    assert isclose(aspect.max(), 4 / 3, rel_tol=1e-2)
    assert isclose(aspect.min(), 3 / 4, rel_tol=1e-2)
    assert isclose(area.mean(), 0.6, rel_tol=1e-2)
    for start, length in ((TOP, TALL), (LEFT, WIDE)):
        assert numbers[:, start].min() >= -1e-6
        assert (numbers[:, start] + numbers[:, length]).max() <= 1 + 1e-6
    jittered = numbers[:, HUE] != 0
    assert np.abs(numbers[:, HUE]).max() <= 2 * pi * 0.1 + 1e-6
    for often, share in ((jittered, 0.8), (numbers[:, SATURATION] == 0, 0.2), (numbers[:, MIRROR] == -1, 0.5)):
        assert binom.cdf(often.sum(), n, share) > 1e-4
        assert binom.sf(often.sum(), n, share) > 1e-4
    assert (numbers[~jittered, MIRROR + 1 : SATURATION] == 1).all()


def test_two_views_of_an_image_differ() -> None:
    one, other = (shown(part) for part in Views().draw(np.random.default_rng(0), (2, 6)))
    assert (np.abs(one - other).reshape(6, -1).max(axis=1) > 20).all()
