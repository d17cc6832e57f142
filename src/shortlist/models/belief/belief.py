"""A model and other experts as one belief, whose weights are fitted on answers that none of them has learnt from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.models.belief.combination import Combination, Logs, Mask, Problem, fitted
from shortlist.models.belief.expert import Expert, Voice
from shortlist.models.belief.graph import Rows
from shortlist.models.folds import stratified_folds
from shortlist.models.model import TrainingSet
from shortlist.probabilities import as_rng
from shortlist.system.arrays import blocks, to_numpy
from shortlist.system.files import keep_only, read_made_from, write_npz
from shortlist.system.threads import on_all_cores
from shortlist.types import Array, Dataset, Ints, Labelled, Model, Predictions, Rng, ShortlistError, Stream

FILE = "belief.npz"
ALONE = 20  # labels up to which each is held out by itself
FOLDS = ((2000, 10), (1 << 62, 5))  # parts that more labels are held out in
MOST = 4000  # held-out answers that weights are fitted on
KEPT = 4000  # answers of a model that is not fitted again, the latest
TOGETHER = 512  # rows that a core combines at once
LEAST = 1e-6  # probability


@dataclass(frozen=True)
class HeldOut:
    """What a model says of labelled items that it had not learnt from."""

    items: Ints  # (t,)
    logs: Rows  # (t, L)
    seen: Mask  # (t, L) classes that it had learnt

    @classmethod
    def nothing(cls, n_classes: int) -> HeldOut:
        return cls(np.empty(0, np.int64), np.empty((0, n_classes), np.float32), np.empty((0, n_classes), np.bool_))


@dataclass(frozen=True)
class _Fitted:
    combination: Combination
    voices: list[Voice]
    learnt_from: TrainingSet
    held_out: tuple[Ints, Rows, Ints]  # (t,) items, (t, L) of the whole belief, (t,) labels
    worth: dict[str, Any]
    seed: int  # of the model's fit

    @property
    def seen(self) -> Mask:  # (L,)
        return np.isin(np.arange(self.learnt_from.n_classes), self.learnt_from.classes)


class Belief:
    """A model and experts beside it, as one model: a product of experts with a uniform share.

    How much each of them weighs is fitted on answers that none of them has learnt from; one that does not help weighs
    0. So its probabilities can be taken at their word, with few labels and with many, and are never 0.

    Of a model that is quickly fitted such answers come from folds. One that says `refits = False`, a network, is asked
    before it learns again: who runs the rounds calls `told(items)` when answers to items have come.

    Parameters
    ----------
    model : any model
    experts : `Neighbours`, `Means`, `Names`, `Given`, or your own (see `Expert`)

    >>> from shortlist import Digits, Neighbours, Scikit
    >>> digits, belief = Digits(), Belief(Scikit(), Neighbours(k=10))
    >>> belief.prepare(digits)
    >>> belief.fit(Labelled(np.arange(60), digits.labels[:60], n_classes=10), rng=np.random.default_rng(0))
    >>> belief.worth["labels"], belief.worth["bits"] < 1 < belief.worth["uniform"]
    (60, True)
    >>> items, probs, labels = belief.held_out()
    >>> probs.shape
    (60, 10)
    """

    def __init__(self, model: Model, *experts: Expert) -> None:
        if isinstance(model, Belief):
            raise ShortlistError("belief: its model is a belief already; give one belief all the experts")
        for part in (model, *experts):
            if isinstance(part, type):
                raise ShortlistError(f"belief: {part.__name__} is a class; give an instance of it, {part.__name__}(…)")
        if not hasattr(model, "predict"):
            raise ShortlistError(
                f"belief: {model!r} is no model; give one first, such as Scikit(), and experts after it"
            )
        for expert in experts:
            if hasattr(expert, "predict") or not hasattr(expert, "fit"):
                raise ShortlistError(
                    f"belief: {expert!r} is no expert; give Neighbours(), Means(), Names() or Given(…)"
                )
        self.model, self.experts = model, experts
        self._fitted: _Fitted | None = None
        self._told: HeldOut | None = None

    def __repr__(self) -> str:
        return f"Belief({', '.join(map(repr, (self.model, *self.experts)))})"

    def spec(self) -> dict[str, object]:
        return {"name": "belief", "model": self.model, "experts": list(self.experts)}

    # --- before a campaign begins --------------------------------------------------------------------------------

    def check(self) -> None:
        for part in (self.model, *self.experts):
            if hasattr(part, "check"):
                part.check()

    def check_dataset(self, dataset: Dataset, n: int) -> None:
        for part in (self.model, *self.experts):
            if hasattr(part, "check_dataset"):
                part.check_dataset(dataset, n)

    def check_perturbed_loss(self) -> None:
        if hasattr(self.model, "check_perturbed_loss"):
            self.model.check_perturbed_loss()

    def perturbed_loss(self, items: Ints) -> Array:
        return self.model.perturbed_loss(items)

    def prepare(self, dataset: Dataset) -> None:
        self.model.prepare(dataset)
        for expert in self.experts:
            expert.prepare(dataset, self.model)
        self.name_classes(dataset.classes)
        self._fitted = self._told = None

    def name_classes(self, names: Any) -> None:
        """(L,) the classes' names in the order of the labels' numbers, where that is not the dataset's order."""
        for expert in self.experts:
            if hasattr(expert, "name_classes"):
                expert.name_classes(names)

    # --- learning ------------------------------------------------------------------------------------------------

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        folds, seed = (int(s) for s in as_rng(rng).integers(1 << 62, size=2))
        training_set = _training_set(labelled)
        voices = [voice for expert in self.experts for voice in expert.fit(training_set)]
        held = self._refitted(labelled, training_set, folds) if not self.listens else self._remembered(training_set)
        at = np.searchsorted(training_set.items, held.items)
        logs, labels = np.stack([held.logs, *(voice.held_out[at] for voice in voices)]), training_set.labels[at]
        some = np.sort(np.random.default_rng(folds).permutation(len(at))[:MOST])
        usual = np.array([1.0, *(voice.usual for voice in voices)])
        problem = Problem(logs[:, some], held.seen[some], labels[some], usual)
        combination = fitted(problem)
        probs = _combined(combination, logs, held.seen)
        worth = self._worth(voices, combination, problem, _bits(probs, labels))
        if len(training_set.items):
            self.model.fit(labelled, rng=np.random.default_rng(seed))
        self._fitted = _Fitted(combination, voices, training_set, (held.items, probs, labels), worth, seed)

    @property
    def listens(self) -> bool:
        """Whether it wants to be `told` of new answers before it learns from them: the model is not fitted again."""
        return not getattr(self.model, "refits", True)

    def _refitted(self, labelled: Labelled, training_set: TrainingSet, seed: int) -> HeldOut:
        """Of every labelled item, by fits to the others."""
        items, labels, n_classes = training_set.items, training_set.labels, training_set.n_classes
        logs = np.zeros((len(items), n_classes), np.float32)
        seen = np.zeros((len(items), n_classes), np.bool_)
        rng, n_folds = np.random.default_rng(seed), _n_folds(len(items))
        for held in stratified_folds(labels, n_folds, rng) if len(items) > 1 else []:
            self.model.fit(replace(labelled, items=items[~held], labels=labels[~held]), rng=rng)
            seen[held] = known = np.isin(np.arange(n_classes), labels[~held])
            logs[held] = _logs(np.concatenate([to_numpy(b.probs) for b in self.model.predict(items[held])]), known)
        return HeldOut(items, logs, seen)

    def told(self, items: Ints) -> None:
        """Answers to these items have come: what the model in memory says of them is kept for the next fit.

        For a model that is not fitted again (`refits = False`), called before `fit`; nothing is kept of any other.
        """
        if not self.listens or self._fitted is None:
            return
        fresh = np.setdiff1d(items, self._fitted.learnt_from.items)
        if len(fresh):
            known = np.broadcast_to(self._fitted.seen, (len(fresh), len(self._fitted.seen)))
            probs = np.concatenate([to_numpy(batch.probs) for batch in self.model.predict(fresh)])
            told = self._told or HeldOut.nothing(len(self._fitted.seen))
            rest = ~np.isin(told.items, fresh)
            self._told = HeldOut(
                np.concatenate([told.items[rest], fresh])[-KEPT:],
                np.concatenate([told.logs[rest], _logs(probs, known)])[-KEPT:],
                np.concatenate([told.seen[rest], known])[-KEPT:],
            )

    def _remembered(self, training_set: TrainingSet) -> HeldOut:
        """Of the items that have a label by now."""
        told = self._told
        if told is None or told.logs.shape[1] != training_set.n_classes:
            return HeldOut.nothing(training_set.n_classes)
        known = np.isin(told.items, training_set.items)
        return HeldOut(told.items[known], told.logs[known], told.seen[known])

    def _worth(self, voices: list[Voice], combination: Combination, problem: Problem, bits: float) -> dict[str, Any]:
        alone = fitted(replace(problem, logs=problem.logs[:1], usual=problem.usual[:1]))
        by_itself = _bits(_combined(alone, problem.logs[:1], problem.seen), problem.labels)
        return self._report(voices, combination, len(problem.labels), bits, by_itself, problem.seen.shape[1])

    def _report(
        self, voices: list[Voice], combination: Combination, m: int, bits: float, alone: float, n_classes: int
    ) -> dict[str, Any]:
        names = [type(self.model).__name__.lower(), *(voice.name for voice in voices)]
        weights = dict(zip(names, combination.weights.tolist(), strict=True))
        numbers = {"labels": m, "bits": bits, "alone": alone, "uniform": float(np.log2(n_classes))}
        return {**numbers, "weights": weights, "shares": list(combination.shares)}

    # --- what it says --------------------------------------------------------------------------------------------

    @property
    def worth(self) -> dict[str, Any]:
        """What this belief is worth on answers not learnt from, and what everybody weighs.

        In bits of log loss: its own, that of the model alone with a weight and shares, that of knowing nothing.
        """
        return self._learnt().worth

    def held_out(self) -> tuple[Ints, Rows, Ints]:
        """(t,) answered items, (t, L) what is believed of them by experts without their answers, (t,) labels."""
        return self._learnt().held_out

    def predict(self, items: Ints) -> Stream:
        fitted = self._learnt()
        return _Believed(items, fitted, self._said(items, fitted), is_test=False)

    def predict_test(self) -> Stream:
        fitted = self._learnt()
        return _Believed(None, fitted, self.model.predict_test(), is_test=True)

    def _said(self, items: Ints, fitted: _Fitted) -> Stream:
        if len(fitted.learnt_from.items):
            return self.model.predict(items)
        L = fitted.learnt_from.n_classes
        return [Predictions(np.full((b.stop - b.start, L), 1 / L, np.float32)) for b in blocks(len(items), 4096)]

    def _learnt(self) -> _Fitted:
        if self._fitted is None:
            raise ShortlistError(f"{self!r} has learnt nothing yet; call fit(labelled) first")
        return self._fitted

    # --- from one process to the next ----------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Writes `belief.npz`, whole or not at all, and what the model keeps. Of earlier rounds the last one stays."""
        self.model.save(folder)
        fitted = self._learnt()
        told = self._told or HeldOut.nothing(fitted.learnt_from.n_classes)
        combination, worth = fitted.combination, fitted.worth
        arrays: dict[str, Any] = {
            "weights": combination.weights,
            "numbers": np.array([combination.odds, *combination.shares, *combination.alike]),
            "worth": np.array([worth["labels"], worth["bits"], worth["alone"]]),
            "seed": np.array(fitted.seed),
            **dict(zip(("items", "probs", "labels"), fitted.held_out, strict=True)),
            "told_items": told.items,
            "told_logs": told.logs,
            "told_seen": told.seen,
        }
        write_npz(folder / FILE, {**arrays, **self._made_from(fitted.learnt_from)})
        if folder.name.isdecimal():
            keep_only(folder.with_name(str(int(folder.name) - 1)) / FILE)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False where the file was learnt from other labels or cannot be read. A model that keeps nothing is fitted."""
        training_set = _training_set(labelled)
        kept = read_made_from(folder / FILE, self._made_from(training_set))
        if kept is None:
            return False
        odds, s, u, part, rate = kept["numbers"].tolist()
        combination = Combination(kept["weights"], odds, (s, u), (part, rate))
        seed, worth = int(kept["seed"]), kept["worth"].tolist()
        if len(training_set.items) and not self.model.load(folder, labelled):
            self.model.fit(labelled, rng=np.random.default_rng(seed))
        voices = [voice for expert in self.experts for voice in expert.fit(training_set)]
        held_out = (kept["items"], kept["probs"], kept["labels"])
        told = self._report(voices, combination, int(worth[0]), worth[1], worth[2], training_set.n_classes)
        self._fitted = _Fitted(combination, voices, training_set, held_out, told, seed)
        self._told = HeldOut(kept["told_items"], kept["told_logs"], kept["told_seen"])
        return True

    def _made_from(self, training_set: TrainingSet) -> dict[str, Any]:
        return {
            "learnt_from": np.array(training_set.digest),
            "experts": np.array([type(e).__name__ for e in self.experts]),
        }


@dataclass(frozen=True)
class _Believed:
    """The model's stream with the experts' words beside it; may be read again."""

    rows: Ints | None  # (n,) None: those of the test split, from the first
    fitted: _Fitted
    stream: Stream
    is_test: bool

    def __iter__(self) -> Iterator[Predictions]:
        fitted, start = self.fitted, 0
        for batch in self.stream:
            said = _logs(to_numpy(batch.probs), fitted.seen)
            rows = np.arange(start, start + len(said)) if self.rows is None else self.rows[start : start + len(said)]
            start += len(said)
            combine = partial(self._part, said, rows)
            parts = on_all_cores(combine, blocks(len(said), TOGETHER))
            yield Predictions(np.concatenate([said[:0], *parts]), batch.embeddings)

    def _part(self, said: Rows, rows: Ints, block: slice) -> Rows:
        voices = self.fitted.voices
        others = [voice.logs_of_test(rows[block]) if self.is_test else voice.logs(rows[block]) for voice in voices]
        return self.fitted.combination.probs(np.stack([said[block], *others]), self.fitted.seen)


def _combined(combination: Combination, logs: Logs, seen: Mask) -> Rows:
    parts = [combination.probs(logs[:, rows], seen[rows]) for rows in blocks(logs.shape[1], TOGETHER)]
    return np.concatenate([np.empty((0, logs.shape[2]), np.float32), *parts])


def _logs(probs: Any, seen: Mask) -> Rows:
    """(n, L) of a model that gives 0 to classes it has not seen: there it has no opinion."""
    nothing = np.where(seen, LEAST, 1 / probs.shape[1])
    return np.log(np.where(probs > LEAST, probs, nothing)).astype(np.float32)


def _bits(probs: Rows, labels: Ints) -> float:
    """The mean log loss; NaN without labels."""
    if not len(labels):
        return float("nan")
    return float(-np.log2(probs[np.arange(len(labels)), labels].astype(np.float64)).mean())


def _n_folds(m: int) -> int:
    return m if m <= ALONE else next(folds for most, folds in FOLDS if m <= most)


def _training_set(labelled: Labelled) -> TrainingSet:
    """Also of no labels, which names and given probabilities do not need."""
    if len(labelled.items):
        return TrainingSet.of(labelled)
    nothing, L = np.empty(0, np.int64), labelled.n_classes
    return TrainingSet(nothing, nothing, nothing, nothing, np.empty((0, 0), np.bool_), L)
