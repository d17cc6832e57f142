"""The model as a campaign sees it: in the campaign's own item and class numbers, with partial labels taken out."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.acquisition.method import to_numpy
from shortlist.acquisition.points import as_index
from shortlist.campaign.evaluation import Score, score
from shortlist.campaign.features import features_of
from shortlist.campaign.identity import Identities
from shortlist.campaign.resolution import Resolution
from shortlist.probabilities import check_probs, without
from shortlist.types import Array, Dataset, Ints, Labelled, Model, Pool, Predictions, Rng, ShortlistError, Stream

_NOTHING: frozenset[int] = frozenset()


@dataclass
class Learner:
    model: Model
    dataset: Dataset
    known: Identities
    round: int | None = field(default=None, init=False)  # the one whose model is in memory
    _prepared: bool = field(default=False, init=False)
    _preparing: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _features: Array | None = field(default=None, init=False)

    def fit(self, number: int, found: Resolution, rng: Rng) -> None:
        labelled = self._labelled(found)
        if not len(labelled.items):
            raise ShortlistError(f"round {number}: no item has a label yet, so there is nothing to learn from")
        self.prepare()
        self.round = None
        self.model.fit(labelled, rng=rng)
        self.round = number

    def restore(self, number: int, folder: Path, found: Resolution, rng: Rng) -> None:
        """The model of a finished round: as it was kept, or fitted again from the same answers."""
        self.prepare()
        if self.model.load(folder, self._labelled(found)):
            self.round = number
        else:
            self.fit(number, found, rng)

    def keep(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save(folder)

    def test_score(self) -> Score | None:
        """How good the model is on the test split; None if there is none."""
        if self.dataset.test_labels is None:
            return None
        return self._score(self.model.predict_test(), self.known.own_labels(self.dataset.test_labels))

    def score_on(self, labels: Mapping[int, int]) -> Score | None:
        """How good the model is on items whose labels are known, such as a holdout."""
        if not labels:
            return None
        items = np.asarray(sorted(labels), np.int64)
        truth = np.asarray([labels[int(i)] for i in items], np.int64)
        return self._score(self.model.predict(self.known.positions[items]), truth)

    def _score(self, stream: Stream, truth: Ints) -> Score:
        wide = _Read(stream, len(truth), len(self.known.classes))
        return score(np.concatenate([to_numpy(check_probs(b.probs)).argmax(axis=1) for b in wide]), truth)

    def pool(self, items: Ints, needs: frozenset[str], found: Resolution) -> Pool:
        """Only what an acquisition needs is computed; the rest stays None."""
        at = self.known.positions[items]
        labelled = self.known.positions[np.asarray(sorted(found.labels), np.int64)]
        features = self._placed_features() if needs & {"features", "labelled_features"} else None
        return Pool(
            probs=self.predictions(items, found, needs) if needs & {"probs", "embeddings"} else None,
            features=None if features is None else features[as_index(at, features)],
            labelled_embeddings=self._embeddings(labelled) if "labelled_embeddings" in needs else None,
            labelled_features=None if features is None else features[as_index(labelled, features)],
            losses=self.model.perturbed_loss(at) if "losses" in needs else None,
            size=len(items),
            n_classes=len(self.known.classes),
        )

    def predictions(self, items: Ints, found: Resolution, needs: frozenset[str] = frozenset()) -> Stream:
        stream, n_classes = self.model.predict(self.known.positions[items]), len(self.known.classes)
        rejected = [found.rejected.get(i, _NOTHING) for i in items.tolist()] if found.rejected else None
        without = f"{self.model!r} gives none for {self.dataset.name}" if "embeddings" in needs else None
        return _Read(stream, len(items), n_classes, rejected, without)

    def probs(self, items: Ints, found: Resolution) -> Any:
        """(n, L) on the host: for the few items that are asked, never for the pool."""
        if not len(items):
            return np.empty((0, len(self.known.classes)), np.float32)
        return np.concatenate([to_numpy(check_probs(b.probs)) for b in self.predictions(items, found)])

    def _placed_features(self) -> Array | None:
        """(N, F) where the model lives, put there once."""
        if self._features is None:
            features, place = features_of(self.dataset), getattr(self.model, "place", None)
            self._features = place(features) if place is not None and isinstance(features, np.ndarray) else features
        return self._features

    def _embeddings(self, positions: Ints) -> Array | None:
        found = [batch.embeddings for batch in self.model.predict(positions) if batch.embeddings is not None]
        return array_namespace(found[0]).concat(found) if found else None

    def _labelled(self, found: Resolution) -> Labelled:
        items = np.asarray(sorted(found.labels), np.int64)
        partial = np.asarray(sorted(found.rejected), np.int64)
        return Labelled(
            items=self.known.positions[items],
            labels=np.asarray([found.labels[int(i)] for i in items], np.int64),
            n_classes=len(self.known.classes),
            partial=self.known.positions[partial],
            rejected=_mask([found.rejected[int(i)] for i in partial], len(self.known.classes)),
        )

    def prepare(self) -> None:
        """Have the model read the dataset, once; any thread may, and others wait for it."""
        with self._preparing:
            if not self._prepared:
                self.model.prepare(self.dataset)
                self._prepared = True


@dataclass(frozen=True)
class _Read:
    """A model's predictions as a campaign reads them: for every item, of every class, without rejected ones."""

    stream: Stream
    n: int
    n_classes: int
    rejected: Sequence[Collection[int]] | None = None  # (n,)
    without: str | None = None  # what to say of a batch without embeddings, if they are needed

    def __iter__(self) -> Iterator[Predictions]:
        start = 0
        for batch in self.stream:
            rows, width = batch.matrix.shape
            if width != self.n_classes:
                raise ShortlistError(f"model: it predicts {width} classes, and the campaign has {self.n_classes}")
            if batch.embeddings is None and self.without is not None:
                raise ShortlistError(
                    f"acquisition: it needs embeddings, and {self.without}; "
                    "use dense features, or an acquisition that needs none, in a campaign of its own"
                )
            yield self._without(batch, start, start + rows)
            start += rows
        if start != self.n:
            raise ShortlistError(f"model: it was asked about {self.n} items and predicts {start}")

    def _without(self, batch: Predictions, start: int, stop: int) -> Predictions:
        if self.rejected is None:
            return batch
        probs, mask = batch.probs, _mask(self.rejected[start:stop], self.n_classes)
        mask = array_namespace(probs).asarray(mask, device=device(probs))
        return Predictions(without(check_probs(probs, first=start), mask), batch.embeddings)


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
