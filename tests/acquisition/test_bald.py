"""BALD by hand, from every form of pool, and in a campaign with an ensemble."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.acquisition.bald import Bald
from shortlist.acquisition.cost_aware import CostAware
from shortlist.logits import Logits, as_probs
from shortlist.queries.one_bit import OneBit
from shortlist.types import Ints, Pool, Predictions, ShortlistError, Stream
from tests.backends import softmax
from tests.campaign.toys import Fixed, data, learning, run


class Ensemble(Fixed):
    """Three predictions of each item beside their mean."""

    def predict(self, items: Ints) -> Stream:
        for batch in super().predict(items):
            shifts = [np.roll(batch.probs, shift, axis=1) for shift in range(3)]
            samples = np.stack(shifts, axis=1)
            yield Predictions(samples.mean(axis=1), samples=samples)


def test_the_gain_is_the_mutual_information() -> None:
    samples = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.7, 0.3]]])
    gains = Bald().gains(Predictions(samples.mean(axis=1), samples=samples))

    def h(*p: float) -> float:
        return -sum(float(x * np.log(x)) for x in p if x)

    np.testing.assert_allclose(gains, [np.log(2), 0, h(0.8, 0.2) - (h(0.9, 0.1) + h(0.7, 0.3)) / 2], atol=1e-12)


def test_samples_that_are_no_probabilities_are_refused() -> None:
    samples, rng = softmax(60, 4).reshape(20, 3, 4), np.random.default_rng(0)
    for wrong, message in (
        (samples * 2, r"^Bald: item 0 has no finite score; look at its probs and samples"),
        (samples[:, :, :3], r"^Bald: samples must be \(20, S, 4\), got \(20, 3, 3\)"),
        (samples[:19], r"^Bald: fields of different lengths: probs 20, samples 19"),
    ):
        with pytest.raises(ShortlistError, match=message):
            Bald().select(softmax(20, 4), n=2, rng=rng, samples=wrong)
    with pytest.raises(ShortlistError, match=r"^Bald needs samples, and the pool has none"):
        Bald().select([Predictions(softmax(20, 4))], n=2, rng=rng)


def test_logits_keep_their_samples() -> None:
    samples = softmax(60, 4).reshape(20, 3, 4)
    batch = Logits(np.log(softmax(20, 4)), samples=samples)
    assert as_probs(batch).samples is samples
    assert replace(batch, embeddings=np.ones((20, 2))).samples is samples
    picks = Bald().select(batch, n=5, rng=np.random.default_rng(0))
    assert picks.tolist() == Bald().select(Pool(samples=samples), n=5, rng=np.random.default_rng(0)).tolist()


@pytest.mark.parametrize("query", [None, OneBit()])
def test_a_campaign_selects_by_an_ensemble_even_with_partial_labels(tmp_path: Path, query: Any) -> None:
    pool = data()
    test = np.full((20, 5), 0.2)
    settings = {} if query is None else {"query": query}
    model = Ensemble(learning(pool.labels, 5), test)
    rounds = run(tmp_path / "a", pool, model=model, acquisition=CostAware(Bald()), **settings)
    assert [r.number for r in rounds] == [1, 2, 3, 4]


def test_a_model_without_samples_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"^acquisition: it needs samples, and .* gives none for .*; use a model"):
        run(tmp_path / "a", acquisition=Bald())
