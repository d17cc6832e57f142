from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy.stats import chisquare

from shortlist.acquisition.badge import Badge
from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.geometry.points import Points
from shortlist.system.arrays import as_index
from shortlist.types import ShortlistError
from tests.backends import HAS_TORCH, Backend, Matrix, each_backend, host, softmax
from tests.cases import half_of


def materialised(probs: Matrix, embeddings: Matrix) -> Matrix:
    """(n, L·D): what the authors of BADGE write, on small inputs."""
    u = np.eye(probs.shape[1])[probs.argmax(axis=1)] - probs
    gradients: Matrix = (u[:, :, None] * embeddings[:, None, :]).reshape(len(probs), -1)
    return gradients


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def embeddings(n: int, seed: int = 1) -> Matrix:
    return np.random.default_rng(seed).standard_normal((n, 7))


def distances(points: Points, centre: int) -> Any:
    """(n,) squared distances of all points to one of them."""
    far = array_namespace(points.norms).full_like(points.norms, np.inf)
    return points.to_centres(far, as_index(np.array([centre]), points.norms))


@each_backend
def test_distances_are_those_of_the_materialised_gradients(backend: Backend) -> None:
    probs, h = softmax(60, 9), embeddings(60)
    probs[:5] = np.eye(9)[:5] * 0.9999 + 0.0001 / 9  # nearly certain: the hard case for float32
    made = Badge().gradients(backend(probs), backend(h))
    g = materialised(host(backend(probs)).astype(float), host(backend(h)).astype(float))  # of the numbers as given
    np.testing.assert_allclose(host(made.norms), (g**2).sum(axis=1), rtol=1e-4)
    for centre in (0, 7, 59):
        exact = ((g - g[centre]) ** 2).sum(axis=1)
        far = exact > 1e-3 * exact.max()
        squared = host(distances(made, centre))
        np.testing.assert_allclose(squared[far], exact[far], rtol=1e-4)
        np.testing.assert_allclose(squared, exact, atol=1e-5 * exact.max())


def test_the_first_centre_has_the_largest_norm() -> None:
    probs, h = softmax(50, 6), embeddings(50)
    for seed in range(5):
        first = Badge().select(probs, embeddings=h, n=1, rng=np.random.default_rng(seed))
        assert first[0] == (materialised(probs, h) ** 2).sum(axis=1).argmax()
        price = np.random.default_rng(seed).uniform(1, 9, 50)  # which has no say in it, as with the authors
        for scale in ("sum", "max"):
            cheap = CostAware(Badge(scale=scale)).select(
                probs, embeddings=h, price=price, n=1, rng=np.random.default_rng(seed)
            )
            assert cheap[0] == first[0]


@pytest.mark.parametrize(("scale", "costly"), half_of(["sum", "max"], [False, True]))
def test_the_second_is_drawn_with_the_papers_weight(scale: str, costly: bool) -> None:
    probs, h, d = softmax(8, 4), embeddings(8), 0.7
    price = np.linspace(1, 3, 8)
    g = materialised(probs, h)
    norms = (g**2).sum(axis=1)
    gain = norms / (norms.sum() if scale == "sum" else norms.max())
    first = int(norms.argmax())  # whatever it costs
    squared = ((g - g[first]) ** 2).sum(axis=1)
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


def test_the_norm_chooses_the_first_centre_and_the_origin_is_none() -> None:
    """Sure items have next to no gradient: far from every centre until one of them is taken."""
    probs = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0], [1.0, 0.0]])
    h = np.array([[4.0], [4.0], [1.0], [1.0]])
    picks = {tuple(Badge().select(probs, embeddings=h, n=2, rng=np.random.default_rng(s)).tolist()) for s in range(20)}
    assert picks == {(0, 2), (0, 3)}  # the twin of the first is at distance 0


def test_a_scale_that_is_none() -> None:
    with pytest.raises(ShortlistError, match="badge: scale must be sum or max, got 'mean'"):
        Badge(scale="mean")  # type: ignore[arg-type]


@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("storage", [None, "bfloat16"])
def test_sixteen_bits_are_kept_and_thirty_two_are_summed(storage: Any) -> None:
    """The distances are those of the numbers as stored: rounding them again on the way would be 100 times worse."""
    import torch

    probs, h = torch.from_numpy(softmax(60, 300)), torch.from_numpy(np.random.default_rng(0).standard_normal((60, 200)))
    if storage is None:
        probs, h = probs.bfloat16(), h.bfloat16()
    made = Badge(storage=storage).gradients(probs, h)
    u, v = (factor.array for factor in made.factors)
    assert u.dtype == v.dtype == torch.bfloat16
    assert made.norms.dtype == torch.float32
    g = (u.double().numpy()[:, :, None] * v.double().numpy()[:, None, :]).reshape(60, -1)
    exact = ((g - g[7]) ** 2).sum(axis=1)
    np.testing.assert_allclose(host(distances(made, 7)), exact, rtol=1e-4, atol=1e-5 * exact.max())
    picks = Badge(storage=storage).select(probs, embeddings=h, n=30, rng=np.random.default_rng(0))
    assert len(set(picks.tolist())) == 30


def test_numpy_has_no_sixteen_bits_of_this_kind() -> None:
    with pytest.raises(ShortlistError, match="Badge: NumPy has no bfloat16; give torch tensors, or leave storage out"):
        Badge(storage="bfloat16").select(softmax(5, 3), embeddings=embeddings(5), n=2, rng=np.random.default_rng(0))
    assert len(Badge(storage="float32").select(softmax(5, 3), embeddings=embeddings(5), n=2, rng=rng())) == 2


@each_backend
def test_half_as_wide_embeddings_may_stand_beside_probabilities(backend: Backend) -> None:
    usual = Badge().select(softmax(30, 6), embeddings=embeddings(30), n=9, rng=rng())
    for dtype in ("float32", "float64"):
        h = replace(backend, dtype=dtype)(embeddings(30))
        assert Badge().select(backend(softmax(30, 6)), embeddings=h, n=9, rng=rng()).tolist() == usual.tolist()


# --- keeping the most probable classes only --------------------------------------------------------------------


@each_backend
@pytest.mark.parametrize("m", [1, 3, 8])
def test_truncated_distances_are_those_of_truncated_residuals(backend: Backend, m: int) -> None:
    probs, h = softmax(40, 9), embeddings(40)
    u = np.eye(9)[probs.argmax(axis=1)] - probs
    u[np.arange(40)[:, None], np.argsort(-probs, axis=1)[:, m:]] = 0
    g = (u[:, :, None] * h[:, None, :]).reshape(40, -1)
    made = Badge(top=m).gradients(backend(probs), backend(h))
    for centre in (0, 13):
        exact = ((g - g[centre]) ** 2).sum(axis=1)
        np.testing.assert_allclose(host(distances(made, centre)), exact, rtol=1e-4, atol=1e-5 * exact.max())


def test_truncation_is_off_by_no_more_than_it_says() -> None:
    """|D − D̂| ≤ (‖h‖ + ‖h'‖)/(2√m); a flat row of 2m classes comes closest."""
    flat = np.full((10, 32), 1 / 32)
    for probs in (softmax(60, 50), softmax(60, 50, sharp=0.1), flat, np.full((5, 8), 1 / 8)):
        h = embeddings(len(probs))
        g, reach = materialised(probs, h), np.linalg.norm(h, axis=1)
        for m in (1, 4, 16):
            made = Badge(top=m).gradients(probs, h)
            for centre in (0, 3):
                exact = np.linalg.norm(g - g[centre], axis=1)
                off = np.abs(np.sqrt(distances(made, centre)) - exact)
                assert (off <= (reach + reach[centre]) / (2 * np.sqrt(m)) + 1e-9).all()


def test_keeping_all_classes_is_keeping_as_many_as_there_are() -> None:
    probs, h = softmax(40, 6), embeddings(40)
    whole = Badge().select(probs, embeddings=h, n=20, rng=rng())
    assert Badge(top=6).select(probs, embeddings=h, n=20, rng=rng()).tolist() == whole.tolist()
    assert Badge(top=99).select(probs, embeddings=h, n=20, rng=rng()).tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("wrong", "message"), [({"top": 0}, "top must be at least 1"), ({"storage": "int8"}, "storage")]
)
def test_options_that_are_none(wrong: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=f"badge: {message}"):
        Badge(**wrong)
