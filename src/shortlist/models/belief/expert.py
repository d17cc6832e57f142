"""What an expert beside a model is: it is shown the data once, learns from labels, and speaks in log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from shortlist.models.belief.graph import Rows, unit
from shortlist.models.encoders.encoder import HUB, Encoder
from shortlist.models.encoders.packages import PREFIX
from shortlist.models.linear.encoding import encode, principal
from shortlist.models.model import TrainingSet
from shortlist.types import Dataset, Ints

DIRECTIONS = 256  # that words and pixels are reduced to


class Voice(Protocol):
    """What an expert says after a fit, and goes on saying when it has learnt again.

    Each row (L,) holds log-probabilities up to a constant of its own, finite ones; equal numbers say nothing.
    """

    @property
    def name(self) -> str: ...
    @property
    def usual(self) -> float: ...  # its weight where there is no evidence yet
    @property
    def held_out(self) -> Rows: ...  # (m, L) of the labelled items, ascending, had it not learnt from each of them
    def logs(self, items: Ints) -> Rows: ...  # (n, L)
    def logs_of_test(self, rows: Ints) -> Rows: ...  # (n, L) of rows of the test split


class Expert(Protocol):
    """One beside a model. Its settings are recorded as a `Model`'s are."""

    def prepare(self, dataset: Dataset, model: Any) -> None:
        """Once per process; `model` is the one that it stands beside, and may be asked for its encoder."""

    def fit(self, training_set: TrainingSet) -> Sequence[Voice]:
        """What it says now, each of which gets a weight; mostly one. Always as many, also with no labels at all."""


def points(dataset: Dataset, model: Any, encoder: str | None) -> tuple[Rows, Rows | None]:
    """(N, D) directions of the items and, where there is a test split, of its items.

    By the encoder that is asked for, else by that of the model; else the dataset's own features, or its inputs.

    >>> from types import SimpleNamespace
    >>> plane = SimpleNamespace(name="plane", kind="features", inputs=[[3.0, 4.0]], features=None, test_inputs=None)
    >>> points(plane, None, None)[0].round(1).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    named = encoder or getattr(model, "encoder", None)
    if named is not None:
        reader = Encoder(full_name(named))
        return reader.encode(dataset), reader.encode_test(dataset)
    if dataset.features is not None:
        return unit(dataset.features), None
    train, test = encode(dataset)
    if dataset.kind != "features" or hasattr(train, "tocsr"):
        train, test = principal(train, test, DIRECTIONS)
    return unit(train), None if test is None else unit(test)


def full_name(encoder: str) -> str:
    """An encoder's name at the one door, also where a `Hub` has it without the prefix."""
    return encoder if encoder.startswith((PREFIX, HUB)) else HUB + encoder
