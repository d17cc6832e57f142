"""Every acquisition function takes Logits wherever it takes probabilities, and gives the same picks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from shortlist.conformal import RAPS
from shortlist.logits import Logits
from shortlist.queries.candidate_set import CalibratedSet, CandidateSet
from shortlist.queries.top_k import TopK
from shortlist.types import Pool, Predictions, ShortlistError
from tests.backends import HAS_TORCH, Backend, each_backend, softmax
from tests.contracts.test_acquisition import (
    a_pool,
    built,
    each_method,
    each_that_looks_at_probabilities,
    each_wrapping,
    rng,
)

LAC = CalibratedSet(CandidateSet(), 0.1, 0.2).price
PRICES = {  # others than those of shortlist.checks
    "raps": CalibratedSet(CandidateSet(score=RAPS()), 0.1, 0.6).price,
    "conventional": CandidateSet().price,
    "top two": TopK(2).price,
}


@dataclass(frozen=True)
class Batches:
    """Logits as a stream that can be iterated again, in batches of unequal size."""

    logits: Any
    embeddings: Any
    samples: Any = None
    ends: tuple[int, ...] = (1, 8, 10, 40)

    def __iter__(self) -> Iterator[Logits]:
        for start, end in zip((0, *self.ends), self.ends, strict=False):
            samples = None if self.samples is None else self.samples[start:end]
            yield Logits(self.logits[start:end, :], self.embeddings[start:end, :], samples)


def the_logits(n: int = 40) -> Any:
    return np.log(softmax(n, 6, seed=3)) + 2.5


@each_method
@each_wrapping
@each_backend
def test_logits_give_the_picks_of_their_probabilities(cls: type, costly: bool, backend: Backend) -> None:
    method, pool, z = built(cls, costly), a_pool(backend=backend), backend(the_logits())
    pool = replace(pool, probs=Logits(z).probs)
    bare = replace(pool, probs=None, embeddings=None, samples=None)
    loose = {"embeddings": pool.embeddings, "features": pool.features, "losses": pool.losses, "samples": pool.samples}
    labelled = {"labelled_embeddings": pool.labelled_embeddings, "labelled_features": pool.labelled_features}
    stream = Batches(z, pool.embeddings, pool.samples)
    for price in PRICES.values():
        usual = method.select(pool, n=11, rng=rng(), price=price).tolist()
        for other in (
            method.select(replace(pool, probs=Logits(z)), n=11, rng=rng(), price=price),
            method.select(replace(bare, probs=Logits(z, pool.embeddings, pool.samples)), n=11, rng=rng(), price=price),
            method.select(Logits(z), n=11, rng=rng(), price=price, **loose, **labelled),
            method.select(replace(bare, probs=stream), n=11, rng=rng(), price=price),
            method.select(replace(bare, probs=iter(stream)), n=11, rng=rng(), price=price),
        ):
            assert other.tolist() == usual


@each_method
@each_wrapping
@pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_logits_are_read_in_single(cls: type, costly: bool, dtype: str) -> None:
    import torch

    method, pool = built(cls, costly), a_pool(backend=Backend("torch", "float32"))
    z = torch.from_numpy(the_logits()).to(getattr(torch, dtype))
    usual = method.select(replace(pool, probs=Logits(z.float()).probs), n=11, rng=rng(), price=LAC)
    picks = method.select(replace(pool, probs=Logits(z)), n=11, rng=rng(), price=LAC)
    assert picks.tolist() == usual.tolist()


@each_that_looks_at_probabilities
@each_backend
def test_the_wrong_row_of_a_stream_is_counted_over_all_batches(cls: type, costly: bool, backend: Backend) -> None:
    for value, told in [(np.nan, "holds NaN"), (np.inf, "holds [+]inf")]:
        z = the_logits()
        z[33, 2] = value
        pool = a_pool(backend=backend)
        for probs in (Logits(backend(z), pool.embeddings), Batches(backend(z), pool.embeddings)):
            with pytest.raises(ShortlistError, match=f"^logits: row 33 {told}; every logit must be a number"):
                built(cls, costly).select(replace(pool, probs=probs), n=3, rng=rng(), price=LAC)


@each_that_looks_at_probabilities
@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (Logits(np.zeros(40)), r"^logits: need a matrix \(items, classes\), got \(40,\)"),
        (Logits(np.zeros((40, 2), np.int64)), "^logits: need floating point numbers, got int64"),
        ([Logits(np.zeros((20, 1))), Predictions(softmax(20, 2))], "^pool: 1 classes up to item 20, 2 from"),
    ],
)
def test_wrong_logits_are_refused_by_name(cls: type, costly: bool, probs: Any, message: str) -> None:
    pool = replace(a_pool(), probs=probs, samples=np.asarray(a_pool().samples)[..., :1])
    with pytest.raises(ShortlistError, match=message):
        built(cls, costly).select(pool, n=3, rng=rng(), price=lambda p: p[:, 0] + 1)


@each_method
@each_wrapping
def test_no_logits_at_all(cls: type, costly: bool) -> None:
    pool = Pool(
        probs=Logits(np.empty((0, 6)), np.empty((0, 5))),
        features=np.empty((0, 4)),
        losses=np.empty(0),
        samples=np.empty((0, 3, 6)),
    )
    with pytest.warns(UserWarning, match="3 picks are asked of a pool of 0 items"):
        assert built(cls, costly).select(pool, n=3, rng=rng(), price=LAC).tolist() == []
