"""Recipes as data: what they say, what they refuse, and the batches that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.models.network.training import FAST, IMAGENET64, PAPER, RECIPES, Training, batch_groups, training
from shortlist.types import ShortlistError


def test_the_papers_recipe() -> None:
    """200 epochs of AdamW at 1e-3, a fifth after 60, 120 and 160; batches of 128."""
    steps = PAPER.steps(50_000)
    rates = PAPER.rates(steps)
    assert (PAPER.optimiser, PAPER.batch, PAPER.weight_decay, PAPER.rotation) == ("adamw", 128, 5e-4, 15.0)
    assert steps == 200 * 50_000 / 128
    epoch = np.arange(steps) * 128 / 50_000
    for start, stop, rate in ((0, 60, 1e-3), (60, 120, 2e-4), (120, 160, 4e-5), (160, 200, 8e-6)):
        assert rates[(epoch >= start) & (epoch < stop)] == pytest.approx(rate)


def test_the_papers_recipe_for_imagenet64() -> None:
    rates = IMAGENET64.rates(400)  # ten a epoch
    assert rates[0] == pytest.approx(2e-3)
    assert (np.diff(rates[:100]) > 0).all()
    assert rates[100:200] == pytest.approx(8e-3)
    assert rates[200:300] == pytest.approx(1.6e-3)
    assert rates[300:] == pytest.approx(3.2e-4)


def test_fast_holds_a_number_of_steps_where_labels_are_few() -> None:
    assert FAST.steps(100) == FAST.steps(5000) == FAST.min_steps
    assert FAST.steps(50_000) > FAST.min_steps
    rates = FAST.rates(1000)
    assert rates.argmax() == pytest.approx(1000 * FAST.warm_up, abs=1)
    assert rates.max() == pytest.approx(FAST.rate, rel=0.01)
    assert rates[-1] < 0.001 * FAST.rate


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"base": "slow"}, "'slow' is none of fast, imagenet64, paper"),
        ({"epoch": 3}, "training.epoch: no such setting; there are optimiser"),
        ({"epochs": "3"}, "training.epochs: '3' is not a number"),
        ({"batch": 2.5}, "training.batch: 2.5 is not a whole number"),
        ({"batch": True}, "training.batch: True is not a whole number"),
        ({"flip": 1}, "training.flip: 1 is not true or false"),
        ({"drops": 0.5}, "training.drops: 0.5 is not a list of numbers"),
        ({"drops": ["a"]}, "training.drops: 'a' is not a number"),
        ({"optimiser": 3}, "training.optimiser: 3 is not a word"),
        ({"batch": 0}, "training.batch: must be at least 1, not 0"),
        ({"min_steps": -1}, "training.min_steps: must be at least 0"),
        ({"rate": 0.0}, "training.rate: must be above 0"),
        ({"rate": float("nan")}, "training.rate: must be above 0"),
        ({"optimiser": "adam"}, "training.optimiser: must be sgd or adamw, not 'adam'"),
        ({"drops": [60, 120]}, "shares, from 0 to 1"),
        ({"warm_up": 1.0}, "shares, from 0 to 1"),
    ],
)
def test_what_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ShortlistError, match=words.replace("(", r"\(")):
        training(table)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_by_name_and_by_table(name: str) -> None:
    assert training(name) == training({"base": name}) == RECIPES[name]
    assert training({"base": name, "epochs": 1}).epochs == 1
    assert training({"base": name, "epochs": 0.5}).epochs == 0.5
    assert training({"base": name, "drops": [0.5]}).drops == (0.5,)
    assert training(RECIPES[name]) is RECIPES[name]


@given(st.integers(1, 60), st.integers(1, 20), st.floats(0, 5), st.integers(0, 30), st.integers(0, 4))
def test_every_epoch_holds_every_item_once(n: int, batch: int, epochs: float, least: int, mix_up: int) -> None:
    items = np.arange(n) * 3 + 1
    training = Training(batch=batch, epochs=epochs, min_steps=least, mix_up=mix_up)
    groups = list(batch_groups(items, training, np.random.default_rng(0)))
    batches = np.concatenate([group.items for group in groups])
    assert batches.shape == (training.steps(n), batch)
    order = batches.ravel()
    for start in range(0, len(order) - n + 1, n):
        assert sorted(order[start : start + n]) == items.tolist()
    shares = np.concatenate([group.shares for group in groups])
    unmixed = np.arange(training.steps(n)) % mix_up != mix_up - 1 if mix_up else slice(None)
    assert (shares[unmixed] == 1).all()
    assert ((shares >= 0) & (shares <= 1)).all()


def test_groups_of_any_size_hold_the_same_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    items, training = np.arange(10), Training(batch=4, epochs=0, min_steps=9)
    first = list(batch_groups(items, training, np.random.default_rng(0)))
    again = list(batch_groups(items, training, np.random.default_rng(0)))
    assert [group.items.tolist() for group in first] == [group.items.tolist() for group in again]
    monkeypatch.setattr("shortlist.models.network.training.DRAWN_TOGETHER", 8)
    parts = list(batch_groups(items, training, np.random.default_rng(0)))
    assert [len(group.shares) for group in parts] == [2, 2, 2, 2, 1]
    assert sorted(np.concatenate([group.items for group in parts]).ravel()[:10]) == list(range(10))
