"""Features that nobody labelled anything for: they say which images are alike."""

from __future__ import annotations

from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from shortlist.models.simclr import Simclr
from shortlist.types import Ints, ShortlistError
from tests.backends import HAS_TORCH
from tests.models.toys import Toy, blobs, digits

if not HAS_TORCH:
    pytest.skip("needs torch", allow_module_level=True)

import torch

from shortlist.models.network.contrast import Contrast, nt_xent, view_batches

QUICK: dict[str, Any] = {"width": 8, "batch": 60, "rate": 0.05, "device": "cpu"}


def patterns(per_class: int = 40, side: int = 12, noise: float = 30.0) -> Toy:
    """Rows, columns and a board of squares, anywhere, bright or dark, strong or weak."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), per_class)
    n = len(labels)
    down, across = rng.integers(0, 4, (2, n, 1, 1))
    y, x = (np.arange(side)[:, None] + down) // 2 % 2, (np.arange(side) + across) // 2 % 2
    pattern = np.choose(labels[:, None, None], [y, x, x ^ y])
    middle, depth = rng.uniform(80, 175, (n, 1, 1)), rng.uniform(30, 75, (n, 1, 1))
    grey = middle + depth * (2 * pattern - 1) + rng.normal(0, noise, (n, side, side))
    return Toy("images", np.clip(grey, 0, 255).astype(np.uint8), labels, name="patterns")


def neighbours_of_a_kind(features: npt.NDArray[np.float32], labels: Ints) -> float:
    alike = features @ features.T
    np.fill_diagonal(alike, -np.inf)
    return float((labels[alike.argmax(axis=1)] == labels).mean())


# --- the loss --------------------------------------------------------------------------------------------------


def test_the_loss_of_three_pairs_by_hand() -> None:
    rows = np.random.default_rng(0).standard_normal((6, 4))
    unit = [row / np.sqrt(row @ row) for row in rows]
    losses = []
    for i in range(6):
        alike = {j: exp(unit[i] @ unit[j] / 0.5) for j in range(6) if j != i}
        losses.append(-log(alike[(i + 3) % 6] / sum(alike.values())))
    loss = nt_xent(torch.from_numpy(rows), temperature=0.5)
    assert float(loss) == pytest.approx(np.mean(losses), rel=1e-5)


def test_the_loss_is_lower_where_pairs_are_alike() -> None:
    rows = torch.from_numpy(np.random.default_rng(0).standard_normal((8, 16)))
    aligned, crossed = torch.cat([rows, rows]), torch.cat([rows, rows.roll(1, 0)])
    assert nt_xent(aligned, 0.1) < 0.1 < nt_xent(crossed, 0.1)


def test_no_item_is_twice_in_a_batch_and_every_epoch_is_another_order() -> None:
    hands = list(view_batches(10, 4, epochs=3, rng=np.random.default_rng(0)))
    assert [(items.shape, numbers.shape) for items, numbers in hands] == [((2, 4), (2, 8, 9))] * 3
    assert all(len(set(items.flatten().tolist())) == 8 for items, _ in hands)
    assert not np.array_equal(hands[0][0], hands[1][0])


# --- features --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learnt() -> npt.NDArray[np.float32]:
    return trained(epochs=30)


def trained(epochs: int, seed: int = 0) -> npt.NDArray[np.float32]:
    learner = Simclr(**QUICK).learner(patterns().inputs)
    learner.fit(epochs, np.random.default_rng(seed))
    return learner.features()


def test_neighbours_share_their_pattern_more_often_than_before_training(learnt: npt.NDArray[np.float32]) -> None:
    labels = patterns().labels
    before, after = neighbours_of_a_kind(trained(epochs=0), labels), neighbours_of_a_kind(learnt, labels)
    assert before < 0.92
    assert after > 0.95


def test_features_are_a_row_of_length_one_for_every_item(learnt: npt.NDArray[np.float32]) -> None:
    assert learnt.shape == (120, 64)
    assert learnt.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(learnt, axis=1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_features(tmp_path: Path) -> None:
    data = patterns(per_class=10)
    make = partial(Simclr, epochs=2, **QUICK)
    one = make(cache=tmp_path / "one").features(data)
    torch.manual_seed(5)  # nobody else's random numbers matter
    again, other = make(cache=tmp_path / "two").features(data), make(seed=1, cache=tmp_path / "one").features(data)
    np.testing.assert_array_equal(one, again)
    assert not np.allclose(one, other)


def test_what_is_kept_is_not_learnt_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = digits(n_train=20)
    first = Simclr(epochs=1, cache=tmp_path, **QUICK).features(data)

    def fit(*_: object) -> float:
        raise AssertionError("trained again")

    monkeypatch.setattr(Contrast, "fit", fit)
    np.testing.assert_array_equal(Simclr(epochs=1, cache=tmp_path, **QUICK).features(data), first)
    with pytest.raises(AssertionError, match="trained again"):
        Simclr(epochs=2, cache=tmp_path, **QUICK).features(data)
    with pytest.raises(AssertionError, match="trained again"):
        Simclr(epochs=1, cache=tmp_path, **QUICK).features(digits(n_train=21))


def test_a_training_that_was_killed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    simclr, data = Simclr(epochs=1, cache=tmp_path, **QUICK), digits(n_train=20)
    with monkeypatch.context() as patch:
        patch.setattr(Contrast, "_step", killed)
        with pytest.raises(KeyboardInterrupt):
            simclr.features(data)
    assert not list(tmp_path.iterdir())
    assert simclr.features(data).shape == (20, 64)


def test_no_label_is_looked_at(tmp_path: Path) -> None:
    class Unlabelled:
        kind, name, inputs = "images", "unlabelled", digits(n_train=20).inputs

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was looked at")

    blind: Any = Unlabelled()
    assert Simclr(epochs=1, cache=tmp_path, **QUICK).features(blind).shape == (20, 64)


# --- what is refused -------------------------------------------------------------------------------------------


def test_only_images_have_views(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="is for images, and toy holds features"):
        Simclr(cache=tmp_path).features(blobs())


def test_a_single_image_cannot_be_told_from_others(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match="digits has fewer than two"):
        Simclr(cache=tmp_path).features(digits(n_train=1))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"architecture": "resnet19"}, "'resnet19' is none of"),
        ({"epochs": 0}, "simclr.epochs: must be at least 1, not 0"),
        ({"batch": 1}, "simclr.batch: must be at least 2, not 1"),
        ({"projection": 0}, "simclr.projection: must be at least 1, not 0"),
        ({"rate": 0.0}, "simclr.rate: must be above 0, not 0.0"),
        ({"temperature": float("nan")}, "simclr.temperature: must be above 0, not nan"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ShortlistError, match=said):
        Simclr(**settings)


def test_a_loss_that_runs_away_is_said_and_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"the loss became nan; try a lower rate \(simclr.rate is 1e\+30\)"):
        Simclr(epochs=2, cache=tmp_path, **{**QUICK, "rate": 1e30}).features(digits(n_train=20))
    assert not list(tmp_path.iterdir())
