from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from shortlist.acquisition.badge import Badge, Gradients, drawn
from shortlist.acquisition.cost_aware import CostAware
from shortlist.types import ShortlistError
from tests.backends import Backend, Matrix, each_backend, host, softmax


def materialised(probs: Matrix, embeddings: Matrix) -> Matrix:
    """(n, L·D): what the authors of BADGE write, on small inputs."""
    u = np.eye(probs.shape[1])[probs.argmax(axis=1)] - probs
    gradients: Matrix = (u[:, :, None] * embeddings[:, None, :]).reshape(len(probs), -1)
    return gradients


def embeddings(n: int, seed: int = 1) -> Matrix:
    return np.random.default_rng(seed).standard_normal((n, 7))


@each_backend
def test_distances_are_those_of_the_materialised_gradients(backend: Backend) -> None:
    probs, h = softmax(60, 9), embeddings(60)
    probs[:5] = np.eye(9)[:5] * 0.9999 + 0.0001 / 9  # nearly certain: the hard case for float32
    made = Gradients.of(backend(probs), backend(h))
    g = materialised(host(backend(probs)).astype(float), host(backend(h)).astype(float))  # of the numbers as given
    np.testing.assert_allclose(host(made.norms), (g**2).sum(axis=1), rtol=1e-4)
    for centre in (0, 7, 59):
        exact = ((g - g[centre]) ** 2).sum(axis=1)
        far = exact > 1e-3 * exact.max()
        np.testing.assert_allclose(host(made.squared_distances(centre))[far], exact[far], rtol=1e-4)
        np.testing.assert_allclose(host(made.squared_distances(centre)), exact, atol=1e-5 * exact.max())


def test_the_first_centre_has_the_largest_norm() -> None:
    probs, h = softmax(50, 6), embeddings(50)
    for seed in range(5):
        first = Badge().select(probs, embeddings=h, n=1, rng=np.random.default_rng(seed))
        assert first[0] == (materialised(probs, h) ** 2).sum(axis=1).argmax()


@pytest.mark.parametrize("scale", ["sum", "max"])
@pytest.mark.parametrize("costly", [False, True], ids=["plain", "cost-aware"])
def test_the_second_is_drawn_with_the_papers_weight(scale: str, costly: bool) -> None:
    probs, h, d = softmax(8, 4), embeddings(8), 0.7
    price = np.linspace(1, 3, 8)
    g = materialised(probs, h)
    norms = (g**2).sum(axis=1)
    gain = norms / (norms.sum() if scale == "sum" else norms.max())
    first = int(((1 + gain) ** d / price).argmax()) if costly else int(norms.argmax())
    squared = np.minimum(norms, ((g - g[first]) ** 2).sum(axis=1))
    gain = squared / (squared.sum() if scale == "sum" else squared.max())
    weight = (1 + gain) ** d / price if costly else gain
    weight[first] = 0
    plain = Badge(scale="sum" if scale == "sum" else "max")
    method = CostAware(plain, d=d) if costly else plain
    counts = np.zeros(8)
    for seed in range(3000):
        picks = method.select(probs, embeddings=h, price=price, n=2, rng=np.random.default_rng(seed))
        assert picks[0] == first
        counts[picks[1]] += 1
    others = np.arange(8) != first
    assert chisquare(counts[others], 3000 * weight[others] / weight.sum()).pvalue > 1e-3


def test_the_distance_to_the_origin_counts_until_a_centre_is_nearer() -> None:
    """K-means++ seeding: D² starts at the norm only for choosing the first centre."""
    probs = np.array([[0.5, 0.5], [0.5, 0.5], [0.6, 0.4]])
    h = np.array([[4.0], [4.0], [-1.0]])
    picks = {tuple(Badge().select(probs, embeddings=h, n=2, rng=np.random.default_rng(s)).tolist()) for s in range(20)}
    assert picks == {(0, 2)}  # the twin of the first is at distance 0


def test_a_scale_that_is_none() -> None:
    with pytest.raises(ShortlistError, match="badge: scale must be sum or max, got 'mean'"):
        Badge(scale="mean")  # type: ignore[arg-type]


def test_a_draw_never_takes_what_has_no_weight() -> None:
    weights = np.array([0.0, 1e-300, 0.0, 1.0, 0.0])
    assert {drawn(weights, float(u)) for u in np.random.default_rng(0).random(1000)} == {3}
    assert drawn(weights, np.nextafter(1.0, 0.0)) == 3
