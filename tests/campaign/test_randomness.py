"""A campaign finishes under the random draws it began with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from shortlist.campaign.randomness import DRAWS, Draws
from shortlist.campaign.storage.schema import meta
from shortlist.types import ShortlistError
from tests.campaign.toys import campaign, run


def test_the_version_of_the_draws_is_kept(tmp_path: Path) -> None:
    with campaign(tmp_path, seed=7) as going:
        assert going.view.draws == Draws(seed=7, version=DRAWS)


def test_a_campaign_from_before_versions_were_kept_has_the_first(tmp_path: Path) -> None:
    with campaign(tmp_path) as going:
        with going.store.writing() as w:
            w.c.execute(meta.delete().where(meta.c.key == "draws"))
        assert going.view.draws.version == 1


def test_draws_of_a_later_version_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with campaign(tmp_path) as going, going.store.writing() as w:
        w.c.execute(meta.update().where(meta.c.key == "draws").values(value=str(DRAWS + 1)))
    with pytest.raises(ShortlistError, match="use the version that began the campaign"):
        run(tmp_path)


def test_every_seed_round_and_step_has_its_own_stream() -> None:
    first = {
        (seed, round, step): int(Draws(seed).rng(round, step).integers(1 << 62))
        for seed in range(3)
        for round in range(4)
        for step in ("select", "fit")
    }
    assert len(set(first.values())) == len(first)
    again = {key: int(Draws(key[0]).rng(key[1], key[2]).integers(1 << 62)) for key in first}
    assert again == first


def test_the_streams_of_version_1_are_fixed() -> None:
    assert Draws(0).rng(1, "initial").permutation(8).tolist() == [4, 5, 3, 1, 2, 7, 6, 0]
    assert np.flatnonzero(Draws(3, version=1).calibration(2, np.arange(9), n_cal=3)).tolist() == [1, 3, 8]


def test_a_calibration_set_does_not_depend_on_the_order_of_the_picks() -> None:
    items = np.array([40, 7, 23, 5, 91, 12, 66, 30])
    draws = Draws(3)
    members = set(items[draws.calibration(2, items, n_cal=3)].tolist())
    for _ in range(20):
        shuffled = np.random.default_rng(_).permutation(items)
        assert set(shuffled[draws.calibration(2, shuffled, n_cal=3)].tolist()) == members
    other = np.where(
        items == 5, 6, items
    )  # one pick in place of another changes at most that one, and who it displaces
    assert len(members & set(other[draws.calibration(2, other, n_cal=3)].tolist())) >= 2


def test_every_pick_is_as_likely_to_calibrate() -> None:
    items = np.arange(0, 60, 3)
    times = sum(Draws(seed).calibration(2, items, n_cal=5).astype(int) for seed in range(400))
    assert chisquare(times).pvalue > 1e-3
