"""Labels handed on from item to item over a graph of nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from shortlist.models.belief.expert import points
from shortlist.models.belief.graph import Cells, Rows, symmetric
from shortlist.models.model import TrainingSet, check_settings
from shortlist.system.arrays import blocks
from shortlist.system.threads import on_all_cores
from shortlist.types import Dataset, Floats, Ints, ShortlistError

CLASSES = 32  # that labels are handed on of together
ITEMS = 512  # whose own share is worked out together


@dataclass(frozen=True)
class _Graph:
    pairs: sparse.csr_array  # (N, N) symmetric: S
    from_test: sparse.csr_array | None  # (n, N) from rows of the test split to items


@dataclass(frozen=True)
class _Voice:
    name: str
    usual: float
    masses: Rows  # (N, k) what has reached each item of the classes seen
    held_out: Rows
    graph: _Graph
    labels: sparse.csr_array  # (N, k)
    expert: Neighbours
    training_set: TrainingSet

    def logs(self, items: Ints) -> Rows:
        return self.expert.as_logs(self.masses[items], self.training_set)

    def logs_of_test(self, rows: Ints) -> Rows:
        if self.graph.from_test is None:
            return np.zeros((len(rows), self.training_set.n_classes), np.float32)
        near = self.graph.from_test[rows]
        masses = self.expert.decay * (near @ self.masses + (near @ self.labels).toarray())
        return self.expert.as_logs(masses.astype(np.float32), self.training_set)


@dataclass
class Neighbours:
    """An expert that knows an item by its nearest neighbours, theirs, and so on.

    With the labels Y (N, k) and the graph's symmetric matrix S it hands on F = Σ aᵗ Sᵗ Y for t from 1 to `steps`. What
    a label gave to its own item is the diagonal of Σ aᵗ Sᵗ, so what the others say of it is known exactly. Shares of F
    are probabilities, once a little of every class is added: of an item that no label has reached it has no opinion.

    The graph is made once and takes some 25·k bytes an item; F takes 4 bytes for each item and class seen.

    Parameters
    ----------
    k : neighbours of each item, by the cosine
    steps : as far as labels are handed on
    decay : a, what is left of a label with each step
    encoder : `package:NAME` or `hub:NAME`, for vectors that are compared; None: those that the model sees

    >>> Neighbours(k=5)
    Neighbours(k=5, steps=6, decay=0.95, encoder=None)
    """

    k: int = 15
    steps: int = 6
    decay: float = 0.95
    encoder: str | None = None

    def __post_init__(self) -> None:
        check_settings("neighbours", self, least={"k": 1, "steps": 1}, positive=["decay"])
        self._graph: _Graph | None = None

    def prepare(self, dataset: Dataset, model: Any = None) -> None:
        train, test = points(dataset, model, self.encoder)
        if len(train) < 2:
            raise ShortlistError(f"neighbours: {dataset.name} has one item, and no neighbours; leave the expert out")
        cells = Cells.of(train)
        items, cosines = cells.nearest(train, self.k, own=np.arange(len(train)))
        pairs, scale = symmetric(items, _weights(cosines))
        self._graph = _Graph(pairs, None if test is None else self._outside(cells, test, scale))

    def _outside(self, cells: Cells, test: Rows, scale: Rows) -> sparse.csr_array:
        """(n, N) rows of the test split, as if each were the only one that came to the graph."""
        items, cosines = cells.nearest(test, self.k)
        weights = _weights(cosines)
        degree = weights.sum(axis=1, keepdims=True)
        shares = weights * scale[items] / np.sqrt(np.where(degree > 0, degree, 1))
        rows = np.repeat(np.arange(len(test)), items.shape[1])
        return sparse.csr_array((shares.ravel(), (rows, items.ravel())), shape=(len(test), len(cells.points)))

    def fit(self, training_set: TrainingSet) -> tuple[_Voice]:
        if self._graph is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        pairs, items, codes = self._graph.pairs, training_set.items, training_set.codes
        n, k = pairs.shape[0], len(training_set.classes)
        labels = sparse.csr_array((np.ones(len(items), np.float32), (items, codes)), shape=(n, k))
        masses = self._handed_on(labels)
        of_others = masses[items]
        of_others[np.arange(len(items)), codes] -= self._own_share(items)
        held_out = self.as_logs(np.maximum(of_others, 0), training_set)
        return (_Voice("neighbours", 0.5, masses, held_out, self._graph, labels, self, training_set),)

    def _handed_on(self, labels: sparse.csr_array) -> Rows:
        """(N, k) Σ aᵗ Sᵗ Y, some classes at a time."""
        pairs, by_class = self._prepared().pairs, labels.tocsc()
        masses = np.zeros(labels.shape, np.float32)

        def hand_on(some: slice) -> None:
            step = by_class[:, some].toarray()
            for _ in range(self.steps):
                step = np.float32(self.decay) * (pairs @ step)
                masses[:, some] += step

        on_all_cores(hand_on, blocks(labels.shape[1], CLASSES))
        return masses

    def _own_share(self, items: Ints) -> Floats:
        """(m,) of the diagonal of Σ aᵗ Sᵗ: (Sᵗ)ᵢᵢ is the product of row i of two powers that t is the sum of."""
        pairs = self._prepared().pairs

        def shares(block: slice) -> Floats:
            rows = [pairs[items[block]]]
            total = np.zeros(rows[0].shape[0])
            for t in range(2, self.steps + 1):
                if (t + 1) // 2 > len(rows):
                    rows.append(rows[-1] @ pairs)
                total += self.decay**t * rows[t // 2 - 1].multiply(rows[(t + 1) // 2 - 1]).sum(axis=1)
            return total

        return np.concatenate([np.empty(0), *on_all_cores(shares, blocks(len(items), ITEMS))])

    def _prepared(self) -> _Graph:
        assert self._graph is not None
        return self._graph

    def as_logs(self, masses: Rows, training_set: TrainingSet) -> Rows:
        """(n, L) log-probabilities: what has reached an item, and a little of every class."""
        L = training_set.n_classes
        little = LITTLE / L
        logs = np.full((len(masses), L), np.log(little), np.float32)
        logs[:, training_set.classes] = np.log(masses + little)
        logs -= np.log(masses.sum(axis=1, keepdims=True) + LITTLE)
        return logs


LITTLE = 0.003  # of a label, that an item has of all classes together


def _weights(cosines: Rows) -> Rows:
    """Closer ones count more; none counts for nothing."""
    return np.maximum(cosines, 0.03) ** 4
