"""Records and protocols that every part speaks in.

Three words about arrays: `Array` is anything that follows the array API standard (a NumPy array, a torch
tensor on any device); `n` counts items, `L` counts classes. Positions index a pool, items index a campaign.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any  # array API: NumPy or torch, on any device
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Rng: TypeAlias = np.random.Generator


class ShortlistError(ValueError):
    """Something the user can put right: the message names what was wrong, where, and what to do."""


# --- predictions and pools -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predictions:
    """A batch of what a model says."""

    probs: Array  # (n, L), rows sum to 1
    embeddings: Array | None = None  # (n, D)

    @property
    def matrix(self) -> Array:
        """(n, L), as the model gave it: for its shape, its kind and its device."""
        return self.probs


Stream: TypeAlias = Iterable[Predictions]  # re-iterable where a method needs more than one pass
# (n,), or a function of probabilities (m, L) -> (m,) inside the stream, and of nothing else: parts of a batch are
# priced side by side on all cores
Price: TypeAlias = Array | Callable[[Array], Array] | None


@dataclass(frozen=True)
class Pool:
    """What an acquisition may look at. Every field but `probs` is optional; a method says what it `needs`."""

    probs: Any = None  # (n, L), Predictions or Logits of the whole pool, or a stream of them
    embeddings: Array | None = None  # (n, D), from the model
    features: Array | None = None  # (n, F), self-supervised, from the dataset
    labelled_embeddings: Array | None = None  # (m, D)
    labelled_features: Array | None = None  # (m, F)
    losses: Array | None = None  # (n,), from model.perturbed_loss
    size: int | None = None  # n, for methods that look at nothing else
    n_classes: int | None = None  # L, for methods that want it without probabilities


# --- datasets and models ---------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["features", "texts", "images"]


@runtime_checkable
class Dataset(Protocol):
    """Items with stable keys, classes with names, and the labels that happen to be known (-1: not known)."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def keys(self) -> Sequence[str]: ...  # (N,) unique
    @property
    def classes(self) -> Sequence[str]: ...  # (L,) unique
    @property
    def labels(self) -> Ints: ...  # (N,) in 0..L-1, or -1
    @property
    def inputs(self) -> Any: ...  # N rows: features (N, D) dense or sparse, uint8 images (N, H, W[, 3]), texts (N,)
    @property
    def features(self) -> Array | None: ...  # (N, F) self-supervised features, if there are any
    @property
    def test_inputs(self) -> Any | None: ...
    @property
    def test_labels(self) -> Ints | None: ...


@dataclass(frozen=True)
class Labelled:
    """What a model learns from. Items are positions in the dataset; `rejected` rows hold partial labels."""

    items: Ints  # (m,)
    labels: Ints  # (m,) in 0..n_classes-1
    n_classes: int
    partial: Ints = field(default_factory=lambda: np.empty(0, np.int64))  # (q,) items with a partial label
    rejected: npt.NDArray[np.bool_] | None = None  # (q, L): True where an annotator said "not this class"


class Model(Protocol):
    """A classifier that a campaign retrains from scratch every round.

    One that lives on a device may have `place(array)`, which puts a NumPy array there: features of the dataset are then
    compared where the predictions are.
    """

    def prepare(self, dataset: Dataset) -> None:
        """Once per process: encode the inputs, compute the kernel, move the data to the device."""

    def fit(self, labelled: Labelled, *, rng: Rng) -> None: ...

    def predict(self, items: Ints) -> Stream:
        """Predictions for these items of the dataset, in order, in batches; may be iterated again."""

    def predict_test(self) -> Stream: ...

    def perturbed_loss(self, items: Ints) -> Array:
        """(n,) maximally perturbed loss of the pseudo-label, for SAAL; refuse by name if there is none.

        A model that knows so from its settings may refuse in `check_perturbed_loss()`, called before a campaign starts.
        """

    def save(self, folder: Path) -> None:
        """Keep what was learnt in `folder` as npz, safetensors or JSON; a model that is cheap to refit may not."""

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """Bring back what `save` kept; False if nothing is there and the model has to be fitted again."""


# --- questions and answers -------------------------------------------------------------------------------------

Purpose: TypeAlias = Literal["holdout", "initial", "calibration", "query", "ahead", "import"]
AnswerKind: TypeAlias = Literal["label", "none", "skip", "unreadable"]
NONE = -1  # in a path: "None of the above"


@dataclass(frozen=True)
class Question:
    """One item, and the classes to show stage by stage: up to each cut, then whatever is left."""

    id: int
    round: int
    item: int  # position in the dataset
    key: str
    purpose: Purpose
    classes: tuple[int, ...]  # most probable first, up to the last cut
    cuts: tuple[int, ...]  # where one stage ends and the next begins; () is the conventional query
    n_classes: int
    exhaustive: bool = True  # False: after the last cut nothing more is asked (one-bit)
    rejected: tuple[int, ...] = ()  # classes ruled out by earlier answers

    @property
    def stages(self) -> list[tuple[int, ...]]:
        """The classes shown in each stage.

        >>> Question(1, 2, 7, "7", "query", classes=(3, 0), cuts=(2,), n_classes=5).stages
        [(3, 0), (1, 2, 4)]
        """
        starts = (0, *self.cuts)
        shown = [self.classes[a:b] for a, b in zip(starts, self.cuts, strict=False)]
        seen = {*self.classes, *self.rejected}
        rest = tuple(c for c in range(self.n_classes) if c not in seen)
        return [*shown, rest] if self.exhaustive and rest else shown

    def path_to(self, label: int) -> tuple[int, ...]:
        """What someone who knows the label answers, stage by stage.

        >>> Question(1, 2, 7, "7", "query", classes=(3, 0), cuts=(2,), n_classes=5).path_to(0)
        (0,)
        """
        rank = self.classes.index(label) if label in self.classes else self.n_classes
        misses = sum(rank >= cut for cut in self.cuts)
        found = misses < len(self.cuts) or self.exhaustive
        return (NONE,) * misses + ((label,) if found else ())


@dataclass(frozen=True)
class Answer:
    """What a person said. Append-only: a correction is a new answer that `supersedes` an old one."""

    question: int
    kind: AnswerKind
    path: tuple[int, ...] = ()  # one entry per stage: NONE, or the class chosen
    person: str = "simulated"
    active_seconds: float | None = None
    wall_seconds: float | None = None
    supersedes: int | None = None
    stage_seconds: tuple[float, ...] | None = None  # active seconds of every stage that was seen
    note: str | None = None
    final: bool = False  # a decision, which counts whatever others have said

    @property
    def label(self) -> int | None:
        return self.path[-1] if self.kind == "label" else None


class Annotator(Protocol):
    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]: ...


# --- rounds, costs, acquisition --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """What one finished round came to. Costs accumulate over rounds and leave the holdout out."""

    number: int
    labelled: int  # items with a label so far
    asked: int  # questions of this round
    cost: float  # so far, in the unit of the cost model
    relative_cost: float  # %, of asking the whole training set conventionally
    conventional_cost: float  # so far, had every question been conventional
    holdout_cost: float
    accuracy: float | None  # %, on the test split or the holdout
    interval: tuple[float, float] | None  # %, Wilson, 95%
    macro_f1: float | None  # %
    alpha: float | None
    threshold: float | None
    mean_set_size: float | None  # outside D_cal, empty sets count L
    coverage: float | None  # %, of shortlists outside D_cal that held the answer
    seconds: float


class CostModel(Hashable, Protocol):
    """What choosing one of so many options costs."""

    def __call__(self, options: Array) -> Array: ...


class Acquisition(Protocol):
    @property
    def needs(self) -> frozenset[str]: ...

    def select(self, pool: Any, *, n: int, rng: Rng, price: Price = None, **fields: Any) -> Ints:
        """Positions of the items to ask about, best first."""
