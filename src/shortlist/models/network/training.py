"""How a network is trained, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, cos, pi
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

from shortlist.models.negative_learning import WEIGHT
from shortlist.models.network.augment import Augmentation
from shortlist.types import Floats, ShortlistError

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
    shift: int = 4
    flip: bool = True
    rotation: float = 0.0  # degrees
    mix_up: int = 3  # every how many batches, with Beta(1, 1); 0: never
    negative: float = WEIGHT  # weight of −log(1−p) of rejected classes

    def __post_init__(self) -> None:
        for name, choices in (("optimiser", Optimiser), ("schedule", Schedule)):
            if getattr(self, name) not in get_args(choices):
                wanted = " or ".join(get_args(choices))
                raise ShortlistError(f"training.{name}: must be {wanted}, not {getattr(self, name)!r}")
        least = {"batch": 1, "min_steps": 0, "mix_up": 0, "shift": 0, "epochs": 0, "weight_decay": 0, "negative": 0}
        for name, least_one in least.items():
            if not getattr(self, name) >= least_one:
                raise ShortlistError(f"training.{name}: must be at least {least_one}, not {getattr(self, name)}")
        if not self.rate > 0:
            raise ShortlistError(f"training.rate: must be above 0, not {self.rate}")
        if not all(0 < share <= 1 for share in (self.start, *self.drops)) or not 0 <= self.warm_up < 1:
            raise ShortlistError("training: warm_up, start and drops are shares, from 0 to 1")

    @property
    def augmentation(self) -> Augmentation:
        return Augmentation(self.shift, self.flip, self.rotation)

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


def training(given: Training | str | Mapping[str, Any]) -> Training:
    """A recipe by its name, or a table of what is to be different from one.

    >>> training({"base": "paper", "epochs": 1}).epochs
    1
    >>> training("slow")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: training: 'slow' is none of fast, imagenet64, paper
    """
    if isinstance(given, Training):
        return given
    table = {"base": given} if isinstance(given, str) else dict(given)
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
