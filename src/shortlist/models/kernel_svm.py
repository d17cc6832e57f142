"""A support vector machine over a sigmoid kernel that is computed once, with libsvm's pairwise probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.svm import SVC

from shortlist.models.folds import Mask, stratified_folds
from shortlist.models.linear.encoding import Matrix, encode
from shortlist.models.model import SplitModel, TrainingSet, check_settings
from shortlist.models.svm.pairwise import couple, fit_sigmoids, pair_index, pair_probs
from shortlist.probabilities import as_rng
from shortlist.system.arrays import blocks
from shortlist.system.files import read_made_from, write_npz
from shortlist.system.threads import on_all_cores
from shortlist.types import Array, Dataset, Floats, Ints, Labelled, Predictions, Rng, ShortlistError

Kernel = npt.NDArray[np.float32]  # half the memory; SMO stops at 1e-3, far above what float32 rounds away

FILE = "kernel_svm.npz"

# A column that more than this share of rows use is cheaper as a dense one: on R52 (353 of 22,246 columns)
# the kernel takes 0.4 s on two cores, against 1.3 s when every column stays sparse.
COMMON = 0.03
ROWS = 1024  # of the kernel that are worked out together


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
    learnt_from: TrainingSet


@dataclass(frozen=True)
class _Split:
    kernel: Kernel  # (n, N): its rows against all training rows
    embeddings: Array | None  # (n, D), where the inputs are dense

    def __len__(self) -> int:
        return len(self.kernel)


@dataclass
class KernelSVM(SplitModel[_Split, _Fitted]):
    """SVM with the kernel tanh(γ x·y + coef0), and probabilities by pairwise Platt scaling and coupling.

    What `SVC(kernel="sigmoid", probability=True)` does, on a kernel that is computed once for all rounds, and
    for classes with a single item as well. Classes that have no label yet get probability 0; partial labels
    are left aside.

    Parameters
    ----------
    C : how much a wrong item weighs against a wide margin.
    gamma, coef0 : of the kernel.
    folds : parts that Platt's sigmoids are fitted on, each by machines that have not learnt from it.
    batch : items predicted at once.

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

    def __post_init__(self) -> None:
        check_settings("kernel_svm", self, least={"folds": 2, "batch": 1}, positive=["C"])

    def prepare(self, dataset: Dataset) -> None:
        train, test = encode(dataset)
        self._train = self._split(train, train)
        self._test = None if test is None else self._split(test, train)

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        kernel, training_set = self._prepared().kernel, TrainingSet.of(labelled)
        items, labels = training_set.items, training_set.labels
        everything = np.ones(len(items), bool)
        held = stratified_folds(labels, self.folds, as_rng(rng))
        train = partial(_train, kernel, items, labels, self.C)
        machines, *fold_machines = on_all_cores(train, [everything, *(~h for h in held)])
        held_out = partial(_held_out, kernel, items, labels)
        entries = on_all_cores(held_out, zip(held, fold_machines, strict=True))
        decision, is_first, pair = map(np.concatenate, zip(*entries, strict=True))
        sigmoids = fit_sigmoids(decision, is_first, pair, n_pairs=len(machines.intercept))
        self._fitted = _Fitted(machines, sigmoids, training_set)

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
        write_npz(folder / FILE, arrays | self._made_from(fitted.learnt_from))

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False as well where the file was learnt from other labels or settings, or cannot be read."""
        training_set = TrainingSet.of(labelled)
        arrays = read_made_from(folder / FILE, self._made_from(training_set))
        if arrays is None or arrays.keys() != {"sigmoids", *(f.name for f in fields(Machines))}:
            return False
        sigmoids = arrays.pop("sigmoids")
        self._fitted = _Fitted(Machines(**arrays), sigmoids, training_set)
        return True

    def _made_from(self, training_set: TrainingSet) -> dict[str, Any]:
        settings = np.array([self.C, self.gamma, self.coef0, self.folds])
        return {"items": training_set.items, "labels": training_set.labels, "settings": settings}

    def _split(self, rows: Matrix, train: Matrix) -> _Split:
        kernel = sigmoid_kernel(rows, train, self.gamma, self.coef0)
        return _Split(kernel, rows if isinstance(rows, np.ndarray) else None)

    @staticmethod
    def _predict(fitted: _Fitted, split: _Split, rows: Ints) -> Predictions:
        machines = fitted.machines

        def seen_probs(block: slice) -> Floats:
            decision = machines.decide(split.kernel[np.ix_(rows[block], machines.support)])
            return couple(pair_probs(decision, fitted.sigmoids))

        probs = np.zeros((len(rows), fitted.learnt_from.n_classes), np.float32)
        parts = on_all_cores(seen_probs, _blocks(len(rows), len(machines.classes)))
        probs[:, machines.classes] = np.concatenate(parts)
        return Predictions(probs, None if split.embeddings is None else split.embeddings[rows])


def _train(kernel: Kernel, items: Ints, labels: Ints, C: float, part: Mask) -> Machines:
    items, labels = items[part], labels[part]
    classes = np.unique(labels)
    k = len(classes)
    if k < 2:  # no pairs, and SVC would refuse
        return Machines(classes, items[:0], np.zeros(k, np.int64), np.zeros((0, 0)), np.zeros(0))
    svc = SVC(kernel="precomputed", C=C, random_state=0).fit(kernel[np.ix_(items, items)], labels)
    sign = -1 if k == 2 else 1  # scikit-learn turns a single pair around: there, above 0 is the second class
    return Machines(classes, items[svc.support_], svc.n_support_, sign * svc.dual_coef_, sign * svc.intercept_)


def _held_out(kernel: Kernel, items: Ints, labels: Ints, fold: tuple[Mask, Machines]) -> tuple[Floats, Mask, Ints]:
    """Decision values of the held items by machines trained without them, in the k-1 pairs of each item's class.

    Flat, as `fit_sigmoids` takes it. Where a class of a pair is missing from the training part, the value is
    libsvm's: 1 if only the first class is there, -1 if only the second, 0 if neither.
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
        values = np.repeat(untrained, len(rows[block]), axis=1)
        values[first & second] = machines.decide(kernel[np.ix_(rows[block], machines.support)])
        decision[block] = values[pair[block], np.arange(values.shape[1])[:, np.newaxis]]
    return decision.ravel(), (own < other).ravel(), pair.ravel()


def _blocks(n: int, k: int) -> Iterator[slice]:
    """Few enough items at a time for their (k, k) tables to stay in the cache, and in memory with many classes."""
    return blocks(n, max(1, 2**20 // k**2))


# --- the kernel --------------------------------------------------------------------------------------------------


def sigmoid_kernel(left: Matrix, right: Matrix, gamma: float = 1.0, coef0: float = 0.0) -> Kernel:
    """(n, m) float32: tanh(γ x·y + c) between all rows of two matrices, dense or sparse."""
    kernel = _products(left, right)
    kernel *= gamma
    kernel += coef0
    return np.tanh(kernel, out=kernel)


def _products(left: Matrix, right: Matrix) -> Kernel:
    """x·y of all rows, a block of rows at a time: the same bits on any number of cores.

    Frequent columns of sparse matrices go through BLAS, rare ones stay sparse; the sparse product of everything at once
    would be larger than the kernel.
    """
    multiply = _sparse_product(left, right) if sparse.issparse(left) else _dense_product(left, right)
    return np.concatenate(on_all_cores(multiply, blocks(left.shape[0], ROWS)))


def _dense_product(left: Matrix, right: Matrix) -> Callable[[slice], Kernel]:
    rows, others = np.asarray(left, np.float32), np.asarray(right, np.float32).T
    return lambda block: rows[block] @ others


def _sparse_product(left: Matrix, right: Matrix) -> Callable[[slice], Kernel]:
    left, right = left.astype(np.float32), right.astype(np.float32)
    common = np.bincount(right.indices, minlength=right.shape[1]) > COMMON * right.shape[0]
    frequent = _dense_product(left[:, common].toarray(), right[:, common].toarray())
    rare, others = left[:, ~common], right[:, ~common].T.tocsr()
    return lambda block: frequent(block) + (rare[block] @ others).toarray()
