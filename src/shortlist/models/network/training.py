"""How a network is trained, as data, and the batches that follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, cos, pi, radians
from typing import Any, Literal, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt

from shortlist.models.linear.softmax_regression import NEGATIVE_WEIGHT
from shortlist.models.model import check_settings
from shortlist.models.network.images import ANGLE, MIRROR, SHIFT_X
from shortlist.system.arrays import blocks
from shortlist.types import Floats, Ints, Rng, ShortlistError

Optimiser = Literal["sgd", "adamw"]
Schedule = Literal["one-cycle", "drops"]


@dataclass(frozen=True)
class Training:
    """A training run from scratch to its last step; nothing in it looks at test data."""

    optimiser: Optimiser = "sgd"  # with Nesterov's momentum 0.9
    rate: float = 0.2  # the highest
    weight_decay: float = 5e-4
    batch: int = 512
    epochs: float = 36
    min_steps: int = 2000  # few labels want as many steps as many do
    schedule: Schedule = "one-cycle"
    warm_up: float = 0.25  # share of the steps in which the rate rises,
    start: float = 0.04  # from this share of it
    drops: tuple[float, ...] = ()  # shares of the steps after which the rate is a fifth
    shift: int = 4  # pixels: a random crop of the image with so many around it
    flip: bool = True
    rotation: float = 0.0  # degrees
    mix_up: int = 3  # every how many batches, with Beta(1, 1); 0: never
    negative: float = NEGATIVE_WEIGHT  # weight of −log(1−p) of rejected classes

    def __post_init__(self) -> None:
        least = {"batch": 1, "min_steps": 0, "mix_up": 0, "shift": 0, "epochs": 0, "weight_decay": 0, "negative": 0}
        check_settings("training", self, least=least, positive=["rate"], optimiser=Optimiser, schedule=Schedule)
        if not all(0 < share <= 1 for share in (self.start, *self.drops)) or not 0 <= self.warm_up < 1:
            raise ShortlistError("training: warm_up, start and drops are shares, from 0 to 1")

    def moves(self, rng: Rng, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        """(…, 4) numbers that say how training images are moved.

        >>> Training().moves(np.random.default_rng(0), (2,))
        array([[ 3.,  1., -1.,  0.],
               [ 0., -2., -1.,  0.]], dtype=float32)
        """
        moves = np.empty((*shape, 4), np.float32)
        moves[..., SHIFT_X:MIRROR] = rng.integers(-self.shift, self.shift + 1, (*shape, 2))
        moves[..., MIRROR] = rng.integers(0, 2, shape) * 2 - 1 if self.flip else 1
        turn = radians(self.rotation)
        moves[..., ANGLE] = rng.uniform(-turn, turn, shape) if turn else 0
        return moves

    def steps(self, n: int) -> int:
        """How many batches n items are trained for.

        >>> Training(batch=100, epochs=10, min_steps=0).steps(250), Training(min_steps=2000).steps(250)
        (25, 2000)
        """
        return max(1, self.min_steps, ceil(self.epochs * n / self.batch))

    def rates(self, steps: int) -> Floats:
        """(steps,) the learning rate of each.

        >>> Training(rate=1, warm_up=0.5, start=0.2).rates(4).round(3).tolist()
        [0.2, 0.6, 1.0, 0.5]
        >>> Training(rate=1, schedule="drops", warm_up=0, drops=(0.5,)).rates(4).tolist()
        [1.0, 1.0, 0.2, 0.2]
        """
        at = np.arange(steps) / steps
        rising = self.start + (1 - self.start) * at / max(self.warm_up, 1e-9)
        if self.schedule == "drops":
            after = 0.2 ** (at[:, None] >= np.asarray(self.drops)).sum(axis=1)
        else:
            left = (at - self.warm_up) / (1 - self.warm_up)
            after = np.asarray([(1 + cos(pi * share)) / 2 for share in left])
        return self.rate * np.where(at < self.warm_up, rising, after)


FAST = Training()
PAPER = Training(
    optimiser="adamw",
    rate=1e-3,
    batch=128,
    epochs=200,
    min_steps=0,
    schedule="drops",
    warm_up=0.0,
    drops=(0.3, 0.6, 0.8),
    rotation=15.0,
)
# 10 epochs in which the rate rises from 2e-3 to 8e-3, then 30, a fifth after every ten
IMAGENET64 = replace(PAPER, rate=8e-3, epochs=40, warm_up=0.25, start=0.25, drops=(0.5, 0.75), rotation=0.0)
RECIPES = {"fast": FAST, "paper": PAPER, "imagenet64": IMAGENET64}


def training(recipe: Training | str | Mapping[str, Any]) -> Training:
    """A recipe by its name, or a table of the settings that differ from one.

    >>> training({"base": "paper", "epochs": 1}).epochs
    1
    >>> training("slow")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: training: 'slow' is none of fast, imagenet64, paper
    """
    if isinstance(recipe, Training):
        return recipe
    table = {"base": recipe} if isinstance(recipe, str) else dict(recipe)
    base = table.pop("base", "fast")
    if base not in RECIPES:
        raise ShortlistError(f"training: {base!r} is none of {', '.join(sorted(RECIPES))}")
    known = get_type_hints(Training)
    for name, value in table.items():
        if name not in known:
            raise ShortlistError(f"training.{name}: no such setting; there are {', '.join(known)}")
        table[name] = _fitting(name, value, known[name])
    return replace(RECIPES[base], **table)


def _fitting(name: str, value: Any, kind: Any) -> Any:
    """The value, if it is of its kind: a whole number will do for any number, a list of them for a tuple."""
    if kind == tuple[float, ...]:
        if not isinstance(value, list | tuple):
            raise ShortlistError(f"training.{name}: {value!r} is not a list of numbers")
        return tuple(_fitting(name, each, float) for each in value)
    words = {float: "a number", int: "a whole number", bool: "true or false"}
    accepted = (int, float) if kind is float else kind if kind in words else str
    fits = isinstance(value, accepted) and (kind is bool or not isinstance(value, bool))
    if not fits:
        raise ShortlistError(f"training.{name}: {value!r} is not {words.get(kind, 'a word')}")
    return value


# --- its batches -------------------------------------------------------------------------------------------------
# All drawn on the host before the first one is used: the same on every device and in every process.


DRAWN_TOGETHER = 1 << 18  # images


class BatchGroup(NamedTuple):
    """Some batches (s of b images each)."""

    items: Ints  # (s, b)
    moves: npt.NDArray[np.float32]  # (s, b, 4)
    shares: npt.NDArray[np.float32]  # (s,) of mix-up; 1: none


def batch_groups(items: Ints, training: Training, rng: Rng) -> Iterator[BatchGroup]:
    """Epochs of shuffled items (n,) one after the other, cut into batches: every batch is full.

    >>> training = Training(batch=2, epochs=2, min_steps=0)
    >>> [group] = batch_groups(np.array([3, 5, 8]), training, np.random.default_rng(0))
    >>> group.items.tolist(), group.moves.shape, group.shares[:2].tolist()
    ([[8, 3], [5, 8], [5, 3]], (3, 2, 4), [1.0, 1.0])
    """
    batch, every = training.batch, training.mix_up
    shuffled = Shuffled(items, rng)
    for part in blocks(training.steps(len(items)), DRAWN_TOGETHER // batch):
        steps = np.arange(part.start, part.stop)
        n = len(steps)
        mixed = (steps % every == every - 1) if every else np.zeros(n, np.bool_)
        yield BatchGroup(
            shuffled.take(n * batch).reshape(n, batch),
            training.moves(rng, (n, batch)),
            np.where(mixed, rng.random(n), 1).astype(np.float32),  # Beta(1, 1) is uniform
        )


class Shuffled:
    """Items in one random order after the other."""

    def __init__(self, items: Ints, rng: Rng) -> None:
        self.items, self.rng = items, rng
        self.left = items[:0]

    def take(self, n: int) -> Ints:
        parts = [self.left]
        available = len(self.left)
        while available < n:
            parts.append(self.rng.permutation(self.items))
            available += len(self.items)
        row = np.concatenate(parts)
        self.left = row[n:]
        return row[:n]
