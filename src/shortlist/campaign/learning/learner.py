"""The model as a campaign sees it: in the campaign's own item and class numbers, with partial labels taken out."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.campaign.accounting.evidence import Said
from shortlist.campaign.questions.resolution import Resolution
from shortlist.campaign.storage.folder import Identities
from shortlist.logits import as_probs
from shortlist.probabilities import check_matrix, check_probs, without
from shortlist.system.arrays import as_index, to_numpy
from shortlist.types import (
    Array,
    Dataset,
    Floats,
    Ints,
    Labelled,
    Model,
    Pool,
    Predictions,
    Rng,
    ShortlistError,
    Stream,
)

_NOTHING: frozenset[int] = frozenset()
PREDICTED = frozenset(f.name for f in fields(Predictions))  # what an acquisition may need of a batch
INSTEAD = {  # what to do about a model that does not give what an acquisition needs
    "embeddings": "use dense features, or an acquisition that needs none, in a campaign of its own",
    "samples": "use a model whose predictions carry several for each item, such as an ensemble's",
}


@dataclass
class Learner:
    model: Model
    dataset: Dataset
    known: Identities
    round: int | None = field(default=None, init=False)  # the one whose model is in memory
    _prepared: bool = field(default=False, init=False)
    _preparing: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _features: Array | None = field(default=None, init=False)

    def fit(self, number: int, resolution: Resolution, rng: Rng) -> None:
        labelled = self._labelled(resolution)
        if not len(labelled.items):
            raise ShortlistError(f"round {number}: no item has a label yet, so there is nothing to learn from")
        self.round = None
        self.model.fit(labelled, rng=rng)
        self.round = number

    def restore(self, number: int, folder: Path, resolution: Resolution, rng: Rng) -> None:
        """The model of a finished round: as it was kept, or fitted again from the same answers."""
        if self.model.load(folder, self._labelled(resolution)):
            self.round = number
        else:
            self.fit(number, resolution, rng)

    @property
    def listens(self) -> bool:
        """Whether the model wants to be told of new answers before it learns from them."""
        return bool(getattr(self.model, "listens", False))

    def tell(self, resolution: Resolution) -> None:
        """What has a label by now, for a model that `listens`; the one in memory has yet to learn some of it."""
        model: Any = self.model
        model.told(self._labelled(resolution).items)

    def held_out(self) -> Said | None:
        """What the model would have said of the items it has learnt from, without having learnt from them; None of a
        model that does not tell."""
        told = getattr(self.model, "held_out", None)
        if told is None:
            return None
        _, probs, labels = told()
        return Said(to_numpy(check_probs(probs)), np.asarray(to_numpy(labels), np.int64)) if len(labels) else None

    def keep(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save(folder)

    def score(self, holdout: Mapping[int, int]) -> dict[str, Any]:
        """How good the model is, on the test split or else on items whose labels are known, as fields of a `Round`."""
        if self.dataset.test_labels is not None:
            stream, truth = self.model.predict_test(), self.known.own_labels(self.dataset.test_labels)
        elif holdout:
            items = np.asarray(sorted(holdout), np.int64)
            stream, truth = self.model.predict(self.known.positions[items]), _labels_of(holdout, items)
        else:
            return NOT_MEASURED
        wide = _Read(stream, len(truth), len(self.known.classes))
        return evaluate(np.concatenate([to_numpy(check_probs(b.probs)).argmax(axis=1) for b in wide]), truth)

    def pool(self, items: Ints, needs: frozenset[str], resolution: Resolution) -> Pool:
        """Only what an acquisition needs is computed; the rest stays None."""
        at = self.known.positions[items]
        labelled = self.known.positions[np.asarray(sorted(resolution.labels), np.int64)]
        features = self._placed_features() if needs & {"features", "labelled_features"} else None
        return Pool(
            probs=self.predictions(items, resolution, needs) if needs & PREDICTED else None,
            features=None if features is None else features[as_index(at, features)],
            labelled_embeddings=self._embeddings(labelled) if "labelled_embeddings" in needs else None,
            labelled_features=None if features is None else features[as_index(labelled, features)],
            losses=self.model.perturbed_loss(at) if "losses" in needs else None,
            size=len(items),
            n_classes=len(self.known.classes),
        )

    def predictions(self, items: Ints, resolution: Resolution, needs: frozenset[str] = frozenset()) -> Stream:
        stream, n_classes = self.model.predict(self.known.positions[items]), len(self.known.classes)
        rejected = [resolution.rejected.get(i, _NOTHING) for i in items.tolist()] if resolution.rejected else None
        origin = f"{self.model!r} gives none for {self.dataset.name}"
        return _Read(stream, len(items), n_classes, rejected, tuple(sorted(needs & INSTEAD.keys())), origin)

    def probs(self, items: Ints, resolution: Resolution) -> Any:
        """(n, L) on the host: for the few items that are asked, never for the pool."""
        if not len(items):
            return np.empty((0, len(self.known.classes)), np.float32)
        return np.concatenate([to_numpy(check_probs(b.probs)) for b in self.predictions(items, resolution)])

    def most_probable(self, items: Ints, resolution: Resolution) -> tuple[Ints, Floats]:
        """(n,) the most probable class of each item, and its probability."""
        batches = [to_numpy(check_probs(batch.probs)) for batch in self.predictions(items, resolution)]
        best = [np.asarray(probs.argmax(axis=1), np.int64) for probs in batches]
        return np.concatenate(best), np.concatenate([probs.max(axis=1).astype(np.float64) for probs in batches])

    def _placed_features(self) -> Array | None:
        """(N, F) where the model lives, put there once."""
        if self._features is None:
            features, place = features_of(self.dataset), getattr(self.model, "place", None)
            self._features = place(features) if place is not None and isinstance(features, np.ndarray) else features
        return self._features

    def _embeddings(self, positions: Ints) -> Array | None:
        parts = [batch.embeddings for batch in self.model.predict(positions) if batch.embeddings is not None]
        return array_namespace(parts[0]).concat(parts) if parts else None

    def _labelled(self, resolution: Resolution) -> Labelled:
        items = np.asarray(sorted(resolution.labels), np.int64)
        partial = np.asarray(sorted(resolution.rejected), np.int64)
        return Labelled(
            items=self.known.positions[items],
            labels=_labels_of(resolution.labels, items),
            n_classes=len(self.known.classes),
            partial=self.known.positions[partial],
            rejected=_mask([resolution.rejected[int(i)] for i in partial], len(self.known.classes)),
        )

    def prepare(self) -> None:
        """Have the model read the dataset, once; any thread may, and others wait for it."""
        with self._preparing:
            if not self._prepared:
                self.model.prepare(self.dataset)
                if hasattr(self.model, "name_classes"):
                    self.model.name_classes(self.known.classes)
                self._prepared = True


@dataclass(frozen=True)
class _Read:
    """A model's predictions as a campaign reads them: for every item, of every class, without rejected ones."""

    stream: Stream
    n: int
    n_classes: int
    rejected: Sequence[Collection[int]] | None = None  # (n,)
    needs: tuple[str, ...] = ()  # what every batch has to carry beside probabilities
    origin: str = ""  # the model and the data, for the message about a batch that does not

    def __iter__(self) -> Iterator[Predictions]:
        start = 0
        batch: Any  # a model of one's own may give anything
        for batch in self.stream:
            if not isinstance(batch, Predictions):
                got = f"an array of shape {batch.shape}" if hasattr(batch, "shape") else type(batch).__name__
                raise ShortlistError(f"model: predict has to give batches of Predictions(probs), got {got}")
            rows, width = check_matrix(batch.matrix).shape
            if width != self.n_classes:
                raise ShortlistError(f"model: it predicts {width} classes, and the campaign has {self.n_classes}")
            for name in self.needs:
                if getattr(batch, name) is None:
                    raise ShortlistError(f"acquisition: it needs {name}, and {self.origin}; {INSTEAD[name]}")
            yield self._without(batch, start, start + rows)
            start += rows
        if start != self.n:
            raise ShortlistError(f"model: it was asked about {self.n} items and predicts {start}")

    def _without(self, batch: Predictions, start: int, stop: int) -> Predictions:
        if self.rejected is None:
            return batch
        probs, samples = check_probs(batch.probs, first=start), batch.samples
        xp = array_namespace(probs)
        mask = xp.asarray(_mask(self.rejected[start:stop], self.n_classes), device=device(probs))
        if samples is not None:
            rows = xp.reshape(samples, (-1, self.n_classes))  # the samples of an item stand one after another
            samples = xp.reshape(without(rows, xp.repeat(mask, samples.shape[1], axis=0)), tuple(samples.shape))
        return replace(as_probs(batch), probs=without(probs, mask), samples=samples)


def _labels_of(labels: Mapping[int, int], items: Ints) -> Ints:
    return np.asarray([labels[int(i)] for i in items], np.int64)


def _mask(rejected: Sequence[Collection[int]], n_classes: int) -> Any:
    mask = np.zeros((len(rejected), n_classes), np.bool_)
    for row, classes in enumerate(rejected):
        mask[row, list(classes)] = True
    return mask


def checked_picks(picked: Any, n: int, size: int, name: str) -> Ints:
    """What an acquisition chose, if it is n different positions of the pool."""
    positions = np.asarray(picked)
    if positions.shape != (n,) or positions.dtype.kind not in "iu":
        raise ShortlistError(
            f"{name}: chose {positions.dtype} of shape {positions.shape}; it has to choose {n} positions"
        )
    if n and (positions.min() < 0 or positions.max() >= size or len(np.unique(positions)) < n):
        raise ShortlistError(f"{name}: chose a position twice, or one outside the pool of {size} items")
    return positions.astype(np.int64)


def features_of(dataset: Dataset) -> Array | None:
    """(N, F) what distances between items are taken from: the dataset's features, or dense inputs that are such.

    >>> from types import SimpleNamespace
    >>> features_of(SimpleNamespace(features=None, kind="features", inputs=np.ones((2, 3), np.float32)))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    if dataset.features is not None or dataset.kind != "features" or not isinstance(dataset.inputs, np.ndarray):
        return dataset.features
    floating = np.issubdtype(dataset.inputs.dtype, np.floating)
    return dataset.inputs if floating else dataset.inputs.astype(np.float32)


# --- how good a model is -----------------------------------------------------------------------------------------


NOT_MEASURED: dict[str, Any] = {"accuracy": None, "interval": None, "macro_f1": None}


def evaluate(predicted: Ints, truth: Ints) -> dict[str, Any]:
    """Predicted classes beside the truth, as fields of a `Round`.

    >>> evaluate(np.array([0, 1, 1, 1]), np.array([0, 0, 1, 1]))["accuracy"]
    0.75
    """
    correct = truth[predicted == truth]
    n = int(max(predicted.max(), truth.max())) + 1
    said, is_, both = (np.bincount(classes, minlength=n) for classes in (predicted, truth, correct))
    occurs = said + is_ > 0
    macro_f1 = float((2 * both[occurs] / (said + is_)[occurs]).mean())
    return {"accuracy": len(correct) / len(truth), "interval": wilson(len(correct), len(truth)), "macro_f1": macro_f1}


def wilson(correct: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of a share.

    >>> tuple(round(x, 3) for x in wilson(9, 10))
    (0.596, 0.982)
    """
    p, spread = correct / n, z * z / n
    centre = (p + spread / 2) / (1 + spread)
    half = z * math.sqrt(p * (1 - p) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)
