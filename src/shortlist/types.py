"""Records and protocols that every part speaks in.

Three words about arrays: `Array` is anything that follows the array API standard (a NumPy array, a torch
tensor on any device); `n` counts items, `L` counts classes. Positions index a pool, items index a campaign.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any  # array API: NumPy or torch, on any device
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Rng: TypeAlias = np.random.Generator


class ShortlistError(ValueError):
    """Something the user can put right: the message names what was wrong, where, and what to do."""


def check_numbers(at: str, **settings: Any) -> None:
    """Refuse settings that are no numbers, such as a text that holds one; None is left alone.

    >>> check_numbers("raps", penalty=0.1, free=None)
    """
    for name, value in settings.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            raise ShortlistError(f"{at}: {name} must be a number, got {value!r}")


# --- predictions and pools -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predictions:
    """A batch of what a model says."""

    probs: Array  # (n, L), rows sum to 1
    embeddings: Array | None = None  # (n, D)
    samples: Array | None = None  # (n, S, L), S predictions of each item, of a stochastic model or an ensemble

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
    samples: Array | None = None  # (n, S, L), from the model
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
    compared where the predictions are. One that may fail on some data may have `check_dataset(dataset, n)`, which
    refuses in a sentence what a first `fit` to n labels would fail on; it is called before a campaign begins.
    One that reads names of classes may have `name_classes(names)`: called after `prepare`, with the names in the order
    of the labels' numbers, which is not the dataset's where classes were added after the start. One that is too dear to
    be fitted several times over says `refits = False`.

    Every part may have `spec()`: its settings by name, as TOML can hold them. They are written down when a campaign
    begins, and other settings are refused when it goes on. Without it the fields of a dataclass are, or else the
    public attributes: numbers, texts, lists and arrays whose names neither begin nor end with an underscore.
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


class Stages:
    """Which classes a question shows, stage by stage, and what a path through its stages means.

    For records with these fields. A stage shows the classes up to its cut and "None of the above"; the last one shows
    every class that is left.
    """

    classes: tuple[int, ...]  # most probable first, up to the last cut
    cuts: tuple[int, ...]  # where one stage ends and the next begins; () is the conventional query
    n_classes: int
    exhaustive: bool  # False: after the last cut nothing more is asked (one-bit)
    rejected: tuple[int, ...]  # classes ruled out by earlier answers

    @property
    def n_left(self) -> int:
        """How many classes have not been ruled out."""
        return self.n_classes - len(self.rejected)

    @property
    def edges(self) -> tuple[int, ...]:
        """Where the stages begin and end, counted in classes."""
        return (0, *self.cuts, *([self.n_left] if self.exhaustive else []))

    @property
    def options(self) -> list[int]:
        """How many options each stage shows, "None of the above" among them.

        >>> Question(1, 2, 7, "7", "query", classes=(4,), cuts=(1,), n_classes=9).options
        [2, 8]
        """
        return [end - start + (end < self.n_left) for start, end in pairwise(self.edges)]

    @property
    def shortlist(self) -> tuple[int, ...] | None:
        """The classes shown first; None: all at once."""
        return self.classes[: self.cuts[0]] if self.cuts else None

    @property
    def stages(self) -> list[tuple[int, ...]]:
        """The classes shown in each stage.

        >>> Question(1, 2, 7, "7", "query", classes=(3, 0), cuts=(2,), n_classes=5).stages
        [(3, 0), (1, 2, 4)]
        """
        listed = [self.classes[start:end] for start, end in pairwise((0, *self.cuts))]
        rest = tuple(cls for cls in range(self.n_classes) if self._is_left(cls))
        return [*listed, rest] if self.exhaustive and rest else listed

    def shows(self, stage: int, cls: int) -> bool:
        """Whether a class can be chosen in a stage."""
        if stage < len(self.cuts):
            return cls in self.classes[self.edges[stage] : self.edges[stage + 1]]
        return 0 <= cls < self.n_classes and self._is_left(cls)

    def _is_left(self, cls: int) -> bool:
        return cls not in self.classes and cls not in self.rejected

    def path_to(self, label: int, *, decided: bool = False) -> tuple[int, ...]:
        """What an annotator who knows the label answers, stage by stage.

        The answer ends without a label where the question would not ask about it, unless it is `decided` all the same.

        >>> Question(1, 2, 7, "7", "query", classes=(3, 0), cuts=(2,), n_classes=5).path_to(0)
        (0,)
        """
        rank = self.classes.index(label) if label in self.classes else self.n_classes
        misses = sum(rank >= cut for cut in self.cuts)
        is_asked = misses < len(self.cuts) or self.exhaustive
        return (NONE,) * misses + ((label,) if is_asked or decided else ())

    def decided_path(self, kind: AnswerKind, label: int | None) -> tuple[int, ...]:
        """The path of an answer of which only the kind and the label are known."""
        if kind == "label" and label is not None:
            return self.path_to(label, decided=True)
        return (NONE,) * (len(self.edges) - 1) if kind == "none" else ()

    def can_end(self, kind: AnswerKind, path: tuple[int, ...]) -> bool:
        """Whether a path is "None" at each stage but the last, and ends there as this kind of answer does."""
        misses = path.count(NONE)
        chosen, n_stages = path[misses:], len(self.edges) - 1
        if kind not in get_args(AnswerKind) or NONE in chosen or len(chosen) != (kind == "label"):
            return False
        return misses == n_stages if kind == "none" else misses < n_stages


@dataclass(frozen=True)
class Question(Stages):
    """One item, and the classes to show stage by stage: up to each cut, then whatever is left."""

    id: int
    round: int
    item: int  # position in the dataset
    key: str
    purpose: Purpose
    classes: tuple[int, ...]
    cuts: tuple[int, ...]
    n_classes: int
    exhaustive: bool = True
    rejected: tuple[int, ...] = ()
    wanted: int = 1  # how many people are to answer it


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

    @property
    def stages_seen(self) -> int:
        """How many stages were on the screen before this was answered."""
        return len(self.path) + (self.kind in ("skip", "unreadable"))


class Annotator(Protocol):
    """Who answers.

    One with a method `decide`, of the same form, is also asked for the owner's last word on what people differ about.
    """

    def answer(self, questions: Sequence[Question]) -> Iterator[Answer]: ...


# --- rounds, costs, acquisition --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """What one finished round came to. Rates are shares from 0 to 1; costs accumulate over rounds and leave the holdout
    out."""

    number: int
    labelled: int  # items with a label so far
    asked: int  # questions of this round
    cost: float  # so far, in the unit of the cost model
    relative_cost: float  # of asking the whole training set conventionally; above 1 where that would have been cheaper
    conventional_cost: float  # so far, had every question been conventional
    holdout_cost: float
    accuracy: float | None  # on the test split or the holdout
    interval: tuple[float, float] | None  # of accuracy: Wilson, 95%
    macro_f1: float | None
    alpha: float | None
    threshold: float | None
    mean_set_size: float | None  # outside D_cal, empty sets count L
    coverage: float | None  # of the lists outside D_cal that were short of all classes: held the answer
    seconds: float
    lists: int | None = None  # questions outside D_cal answered from a list short of all classes
    full: int | None = None  # those answered from all classes at once: empty lists among them
    floor: float | None = None  # so far: bits the answers come to under what was believed; None where cost has no bits


class CostModel(Hashable, Protocol):
    """What choosing one of so many options costs."""

    def __call__(self, options: Array) -> Array: ...


class Acquisition(Protocol):
    """What ranks items. Its settings are recorded as a `Model`'s are: by `spec()`, fields or public attributes."""

    @property
    def needs(self) -> frozenset[str]:
        """Fields of `Pool` that `select` reads; a campaign works out these and leaves the others None."""

    def select(self, pool: Any, *, n: int, rng: Rng, price: Price = None) -> Ints:
        """n different positions of the items to ask about, best first.

        A campaign gives a `Pool` whose `probs` are a stream, which may be read again: each reading gives batches of
        `Predictions` with `probs` (m, L), in the order of the pool. There is no matrix to index; `Scored` and
        `Sequential` (acquisition/method.py) read it for you.
        """
