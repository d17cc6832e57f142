"""Small images that a network can tell apart."""

from __future__ import annotations

import numpy as np

from shortlist.datasets.arrays import Arrays


def stripes(n: int = 120, n_test: int = 60, n_classes: int = 4, side: int = 12, seed: int = 0) -> Arrays:
    """Coloured stripes in as many directions as there are classes, with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n + n_test)
    y, x = np.mgrid[:side, :side]
    angle = np.pi * labels / n_classes
    waves = np.cos(1.5 * (np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y))
    tint = rng.uniform(0.3, 1, (len(labels), 1, 1, 3))
    images = 128 + 70 * waves[..., None] * tint + rng.normal(0, 12, (len(labels), side, side, 3))
    pixels = np.clip(images, 0, 255).astype(np.uint8)
    return Arrays(
        pixels[:n],
        labels[:n],
        classes=[f"direction {c}" for c in range(n_classes)],
        test_inputs=pixels[n:],
        test_labels=labels[n:],
        name="stripes",
    )
