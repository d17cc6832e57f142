"""A support vector machine over a sigmoid kernel that is computed once, with libsvm's pairwise probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from sklearn.svm import SVC

from shortlist.models import npz
from shortlist.models.cores import on_all_cores
from shortlist.models.encode import Matrix, encode
from shortlist.models.pairwise import Mask, couple, fit_sigmoids, pair_index, pair_probs
from shortlist.models.sigmoid_kernel import Kernel, sigmoid_kernel
from shortlist.models.stream import Batches
from shortlist.types import Array, Dataset, Floats, Ints, Labelled, Predictions, Rng, ShortlistError, Stream

FILE = "kernel_svm.npz"


@dataclass(frozen=True)
class Machines:
    """One machine per pair of the k classes seen, in libsvm's layout: support vectors ordered by class."""

    classes: Ints  # (k,) ascending
    support: Ints  # (s,) columns of the kernel
    n_support: Ints  # (k,) how many of them each class has
    dual_coef: Floats  # (k-1, s): for a support vector, its weight against each of the other classes in turn
    intercept: Floats  # (pairs,)

    def decide(self, kernel: Kernel) -> Floats:
        """(pairs, n): above 0 for the first class of a pair. `kernel` is (n, s), against the support vectors.

        A support vector speaks only in the k-1 pairs of its own class, so this is k small products rather than
        one with (pairs, s) weights, nearly all of them 0.
        """
        index = pair_index(len(self.classes))
        decision = np.repeat(self.intercept[:, np.newaxis], len(kernel), axis=1)
        ends = np.cumsum(self.n_support)
        for i, (start, end) in enumerate(zip(ends - self.n_support, ends, strict=True)):
            decision[np.delete(index[i], i)] += self.dual_coef[:, start:end] @ kernel[:, start:end].T
        return decision


@dataclass(frozen=True)
class _Fitted:
    machines: Machines
    sigmoids: Floats  # (2, pairs)
    items: Ints  # (m,) what it was learnt from, ascending
    labels: Ints  # (m,)
    n_classes: int


@dataclass(frozen=True)
class _Split:
    kernel: Kernel  # (n, N): its rows against all training rows
    embeddings: Array | None  # (n, D), where the inputs are dense


@dataclass
class KernelSVM:
    """SVM with the kernel tanh(γ x·y + coef0), and probabilities by pairwise Platt scaling and coupling.

    What `SVC(kernel="sigmoid", probability=True)` does, on a kernel that is computed once for all rounds, and
    for classes with a single item as well. Classes that have no label yet get probability 0; partial labels
    are left aside.

    >>> from types import SimpleNamespace
    >>> inputs = np.array([[-1.0, 0.2], [-0.9, 0.0], [1.0, 0.1], [0.8, 0.0], [0.9, 0.3]])
    >>> svm = KernelSVM(C=10, gamma=1)
    >>> svm.prepare(SimpleNamespace(name="line", kind="features", inputs=inputs, test_inputs=None))
    >>> svm.fit(Labelled(np.arange(4), np.array([2, 2, 0, 0]), n_classes=3), rng=np.random.default_rng(0))
    >>> [batch.probs.argmax(axis=1).tolist() for batch in svm.predict(np.arange(5))]
    [[2, 2, 0, 0, 0]]
    """

    C: float = 10.0
    gamma: float = 1.0
    coef0: float = 0.0
    folds: int = 5
    batch: int = 2048
    _train: _Split | None = field(default=None, init=False, repr=False, compare=False)
    _test: _Split | None = field(default=None, init=False, repr=False, compare=False)
    _fitted: _Fitted | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, value, least in (("C", self.C, 0), ("folds", self.folds, 1), ("batch", self.batch, 0)):
            if not value > least:
                raise ShortlistError(f"KernelSVM: {name} must be more than {least}, not {value}")

    def spec(self) -> dict[str, object]:
        """What the campaign's file says of this model.

        >>> KernelSVM().spec()
        {'name': 'kernel_svm', 'C': 10.0, 'gamma': 1.0, 'coef0': 0.0, 'folds': 5, 'batch': 2048}
        """
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {"name": "kernel_svm", **settings}

    def prepare(self, dataset: Dataset) -> None:
        train, test = encode(dataset)
        self._train = self._split(train, train)
        self._test = None if test is None else self._split(test, train)

    def fit(self, labelled: Labelled, *, rng: Rng) -> None:
        kernel = self._prepared().kernel
        if not len(labelled.items):
            raise ShortlistError(f"{self!r} cannot learn from no labels; label some items first")
        items, labels = _in_item_order(labelled)
        everything = np.ones(len(items), bool)
        held = _stratified_folds(labels, self.folds, rng)
        train = partial(_train, kernel, items, labels, self.C)
        machines, *fold_machines = on_all_cores(train, [everything, *(~h for h in held)])
        held_out = partial(_held_out, kernel, items, labels)
        entries = on_all_cores(held_out, zip(held, fold_machines, strict=True))
        decision, is_first, pair = map(np.concatenate, zip(*entries, strict=True))
        sigmoids = fit_sigmoids(decision, is_first, pair, n_pairs=len(machines.intercept))
        self._fitted = _Fitted(machines, sigmoids, items, labels, labelled.n_classes)

    def predict(self, items: Ints) -> Stream:
        return self._stream(items, self._prepared())

    def predict_test(self) -> Stream:
        if self._test is None:
            raise ShortlistError(f"{self!r} has no test rows to predict: the dataset has no test split")
        return self._stream(np.arange(len(self._test.kernel)), self._test)

    def perturbed_loss(self, items: Ints) -> Array:
        return self.check_perturbed_loss()

    def check_perturbed_loss(self) -> NoReturn:
        raise ShortlistError(
            f"{self!r} has no perturbed loss, which SAAL needs; use a network, or another acquisition function"
        )

    def save(self, folder: Path) -> None:
        """Writes `kernel_svm.npz`, whole or not at all."""
        fitted = self._learnt()
        arrays = {**vars(fitted.machines), "sigmoids": fitted.sigmoids}
        npz.write(folder / FILE, arrays | self._made_from(fitted.items, fitted.labels))

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False as well where the file was learnt from other labels or settings, or cannot be read."""
        items, labels = _in_item_order(labelled)
        kept = npz.read_made_from(folder / FILE, self._made_from(items, labels))
        if kept is None or kept.keys() != {"sigmoids", *(f.name for f in fields(Machines))}:
            return False
        sigmoids = kept.pop("sigmoids")
        self._fitted = _Fitted(Machines(**kept), sigmoids, items, labels, labelled.n_classes)
        return True

    def _made_from(self, items: Ints, labels: Ints) -> dict[str, Any]:
        return {"items": items, "labels": labels, "settings": self._settings()}

    def _settings(self) -> Floats:
        return np.array([self.C, self.gamma, self.coef0, self.folds])

    def _split(self, rows: Matrix, train: Matrix) -> _Split:
        kernel = sigmoid_kernel(rows, train, self.gamma, self.coef0)
        return _Split(kernel, rows if isinstance(rows, np.ndarray) else None)

    def _prepared(self) -> _Split:
        if self._train is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return self._train

    def _learnt(self) -> _Fitted:
        if self._fitted is None:
            raise ShortlistError(f"{self!r} has learnt nothing yet; call fit(labelled) first")
        return self._fitted

    def _stream(self, rows: Ints, split: _Split) -> Stream:
        # The stream holds on to this fit, so it says the same even after the next one.
        return Batches(rows, self.batch, partial(_predict, self._learnt(), split))


def _in_item_order(labelled: Labelled) -> tuple[Ints, Ints]:
    """Items and labels, so that the order in which answers came in does not matter."""
    order = np.argsort(labelled.items)
    return labelled.items[order], labelled.labels[order]


def _stratified_folds(labels: Ints, folds: int, rng: Rng) -> list[Mask]:
    """(m,) masks of what each fold holds out. Items are dealt out class by class, so each class is spread evenly."""
    shuffled = rng.permutation(len(labels))
    dealt = np.empty(len(labels), np.int64)
    dealt[shuffled[np.argsort(labels[shuffled], kind="stable")]] = np.arange(len(labels)) % folds
    return [dealt == fold for fold in range(min(folds, len(labels)))]


def _train(kernel: Kernel, items: Ints, labels: Ints, C: float, kept: Mask) -> Machines:
    items, labels = items[kept], labels[kept]
    classes = np.unique(labels)
    k = len(classes)
    if k < 2:  # no pairs, and SVC would refuse
        return Machines(classes, items[:0], np.zeros(k, np.int64), np.zeros((0, 0)), np.zeros(0))
    svc = SVC(kernel="precomputed", C=C, random_state=0).fit(kernel[np.ix_(items, items)], labels)
    sign = -1 if k == 2 else 1  # scikit-learn turns a single pair around: there, above 0 is the second class
    return Machines(classes, items[svc.support_], svc.n_support_, sign * svc.dual_coef_, sign * svc.intercept_)


def _held_out(kernel: Kernel, items: Ints, labels: Ints, fold: tuple[Mask, Machines]) -> tuple[Floats, Mask, Ints]:
    """What machines trained without the held items say of them, in the k-1 pairs of each one's own class.

    Flat, as `fit_sigmoids` takes it. Where a class of a pair is missing from the training part, the value is
    what libsvm says: 1 if only the first class is there, -1 if only the second, 0 if neither.
    """
    held, machines = fold
    classes, codes = np.unique(labels, return_inverse=True)
    k, own, rows = len(classes), codes[held][:, np.newaxis], items[held]
    other = np.arange(k - 1) + (np.arange(k - 1) >= own)  # (h, k-1): every class but the own
    pair = pair_index(k)[own, other]
    first, second = np.isin(classes, machines.classes)[np.stack(np.triu_indices(k, 1))]  # (pairs,): is it there?
    untrained = np.subtract(first, second, dtype=np.float64)[:, np.newaxis]
    decision = np.empty(pair.shape)
    for block in _blocks(len(rows), k):
        says = np.repeat(untrained, len(rows[block]), axis=1)
        says[first & second] = machines.decide(kernel[np.ix_(rows[block], machines.support)])
        decision[block] = says[pair[block], np.arange(says.shape[1])[:, np.newaxis]]
    return decision.ravel(), (own < other).ravel(), pair.ravel()


def _predict(fitted: _Fitted, split: _Split, rows: Ints) -> Predictions:
    machines = fitted.machines

    def seen_probs(block: slice) -> Floats:
        decision = machines.decide(split.kernel[np.ix_(rows[block], machines.support)])
        return couple(pair_probs(decision, fitted.sigmoids))

    probs = np.zeros((len(rows), fitted.n_classes), np.float32)
    probs[:, machines.classes] = np.concatenate(on_all_cores(seen_probs, _blocks(len(rows), len(machines.classes))))
    return Predictions(probs, None if split.embeddings is None else split.embeddings[rows])


def _blocks(n: int, k: int) -> Iterator[slice]:
    """Few enough items at a time for their (k, k) tables to stay in the cache, and in memory with many classes."""
    size = max(1, 2**20 // k**2)
    return (slice(start, start + size) for start in range(0, n, size))
