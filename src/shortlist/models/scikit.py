"""Any scikit-learn classifier that gives probabilities, as a model."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from shortlist.models.encoders.encoder import Encoder
from shortlist.models.linear.encoding import Matrix, as_texts, encode, principal
from shortlist.models.model import SplitModel, TrainingSet, check_settings
from shortlist.models.perturbed import Ascent, perturbed_losses
from shortlist.probabilities import align, as_rng
from shortlist.system.arrays import blocks
from shortlist.system.threads import on_one_thread
from shortlist.types import Array, Dataset, Floats, Ints, Labelled, Predictions, Rng, ShortlistError

MOST_WEIGHTS = 80_000_000  # L-BFGS keeps 25 numbers a weight, and counts them in 32 bits


@dataclass(frozen=True)
class _Fitted:
    estimator: Any | None  # None: one class seen so far, and nothing to tell it from
    learnt_from: TrainingSet


@dataclass(repr=False, eq=False)
class Scikit(SplitModel[Matrix, _Fitted]):
    """A fresh clone of `estimator` is fitted every round; without one, logistic regression.

    Texts reach it as they are if it takes texts (a pipeline that begins with TfidfVectorizer, say), and as TF-IDF if
    not. Classes that have no label yet get probability 0. Partial labels are left aside: scikit-learn has no place
    for them. Every `random_state` of the estimator, however deeply nested, is set from the round's generator.

    Logistic regression, alone or at the end of a pipeline, has a perturbed loss for SAAL.

    Parameters
    ----------
    estimator : any classifier with `predict_proba`
    batch : how many items are predicted at once
    ascent : the perturbed loss is after a step up the loss of each item by itself (`item`), or up the mean loss of
        every `batch` items (`batch`)
    components : it sees so many principal components of the items instead of pixels, words or features: what makes
        many classes, or many words, quick to learn
    encoder : it sees the vectors that `Encoder` makes of texts or images: `package:wordllama`, for instance

    >>> from types import SimpleNamespace
    >>> model = Scikit()
    >>> model.prepare(SimpleNamespace(name="line", kind="features", inputs=[[-1.0], [1.0], [2.0]], test_inputs=None))
    >>> model.fit(Labelled(np.array([0, 1]), np.array([2, 0]), n_classes=3), rng=np.random.default_rng(0))
    >>> for batch in model.predict(np.array([2])):
    ...     print(batch.probs.round(2))
    [[1. 0. 0.]]

    >>> from importlib.util import find_spec
    >>> if find_spec("wordllama"):  # of the extra `text`
    ...     model, texts = Scikit(encoder="package:wordllama"), ["card stolen", "new PIN", "my PIN", "a thief"]
    ...     model.prepare(SimpleNamespace(name="mail", kind="texts", keys="abcd", inputs=texts, test_inputs=None))
    ...     model.fit(Labelled(np.array([0, 1]), np.array([0, 1]), n_classes=2), rng=np.random.default_rng(0))
    ...     assert next(iter(model.predict(np.array([2, 3])))).probs.argmax(axis=1).tolist() == [1, 0]
    """

    estimator: Any | None = None
    batch: int = 4096
    ascent: Ascent = "item"
    components: int | None = None
    encoder: str | None = None

    def __post_init__(self) -> None:
        if self.estimator is None:
            self.estimator = LogisticRegression(C=30 if self.encoder is None else 100, max_iter=1000)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict_proba"):
            raise ShortlistError(
                f"{_written(self.estimator)} cannot be a model, because it has no predict_proba; "
                "give an instance of a classifier that has, or wrap it in CalibratedClassifierCV"
            )
        check_settings("scikit", self, least={"batch": 1, "components": 1}, ascent=Ascent)
        self._encoder = None if self.encoder is None else Encoder(self.encoder)

    def __repr__(self) -> str:
        return f"Scikit({_written(self.estimator)})"

    def spec(self) -> dict[str, object]:
        """The settings as written in the campaign's file.

        >>> Scikit().spec()
        {'name': 'scikit', 'estimator': 'LogisticRegression(C=30, max_iter=1000)', 'batch': 4096}
        """
        spec: dict[str, object] = {"name": "scikit", "estimator": _written(self.estimator), "batch": self.batch}
        # campaigns from before there was a choice do not say it, and are to go on
        if self.ascent != "item":
            spec["ascent"] = self.ascent
        if self.components is not None:
            spec["components"] = self.components
        if self.encoder is not None:
            spec["encoder"] = self.encoder
        return spec

    def check(self) -> None:
        """Refuses an encoder that cannot be found, before anything is read."""
        if self._encoder is not None:
            self._encoder.check()

    def prepare(self, dataset: Dataset) -> None:
        if (
            self._encoder is None
            and dataset.kind == "texts"
            and self.components is None
            and _takes_texts(self.estimator, dataset)
        ):
            tests = None if dataset.test_inputs is None else as_texts(dataset.test_inputs)
            self._train, self._test = as_texts(dataset.inputs), tests
            return
        encoder = self._encoder
        train, test = encode(dataset) if encoder is None else (encoder.encode(dataset), encoder.encode_test(dataset))
        self._train, self._test = (train, test) if self.components is None else principal(train, test, self.components)

    def check_dataset(self, dataset: Dataset, n: int) -> None:
        """Refuse what a first fit to n labels would fail on; images, which are not read yet, are left aside."""
        if self._encoder is not None:
            self._encoder.check_kind(dataset.kind)
        if dataset.kind == "images":
            return
        for size in sorted({min(n, FEW), n}):  # where few items fail, the estimator may need as many as there will be
            some = _some(dataset, size)
            if self._encoder is not None:
                some.kind, some.inputs = "features", self._encoder.encode(list(some.inputs))
            failed = _failure(_try, replace(self, encoder=None), some)
            if failed is None:
                return
        told = str(failed) if isinstance(failed, ShortlistError) else f"{type(failed).__name__}: {failed}"
        if dataset.kind == "texts" and self.components is None and self.encoder is None:
            told += (
                "; texts reach it as TF-IDF, a sparse matrix: components=100 makes dense numbers of it, and a pipeline "
                "that begins with TfidfVectorizer() is given the texts themselves"
            )
        raise ShortlistError(
            f"model: {_written(self.estimator)} fails on {size} {dataset.kind} of {dataset.name}, before anybody was "
            f"asked: {told}"
        ) from failed

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        matrix, training_set = self._prepared(), TrainingSet.of(labelled)
        n_seen, estimator = len(training_set.classes), None
        if n_seen > 1:  # most estimators refuse a single class
            _refuse_too_many(self.estimator, n_seen, matrix)
            fit = _seeded(clone(self.estimator), as_rng(rng)).fit
            with warnings.catch_warnings():  # the first labels of many classes are few for each, and are classes
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                estimator = on_one_thread(partial(self._learn, fit, matrix[training_set.items], training_set.labels))
        self._fitted = _Fitted(estimator, training_set)

    def _learn(self, fit: Any, inputs: Matrix, labels: Ints) -> Any:
        try:
            return fit(inputs, labels)
        except (TypeError, ValueError) as error:  # of a setting, or of items that it does not take
            sparse_too = " (texts are sparse; components = 256 of the model makes them dense)"
            more = sparse_too if sparse.issparse(inputs) else ""
            why = str(error).partition("\n")[0]
            raise ShortlistError(f"{_written(self.estimator)} cannot learn from these items{more}: {why}") from error

    def perturbed_loss(self, items: Ints) -> Array:
        self.check_perturbed_loss()
        matrix, estimator = self._prepared(), self._learnt().estimator
        if estimator is None:  # one class is never wrong
            return np.zeros(len(items))
        parts = (items[block] for block in blocks(len(items), self.batch))
        return np.concatenate([np.empty(0), *(_losses(estimator, matrix[part], self.ascent) for part in parts)])

    def check_perturbed_loss(self) -> None:
        last = _last(self.estimator)
        # up to scikit-learn 1.7 a `multi_class` of the caller may mean something else than a softmax
        usual = getattr(last, "multi_class", "auto") in ("auto", "deprecated")
        if not (isinstance(last, LogisticRegression) and last.solver != "liblinear" and usual):
            raise ShortlistError(
                f"{self!r} has no perturbed loss, which SAAL needs; use LogisticRegression (alone or as the last step "
                "of a Pipeline, with any solver but liblinear), a network, or another acquisition function"
            )

    def save(self, folder: Path) -> None:
        """Keeps nothing: an estimator is cheap to fit again, and nothing here is ever pickled."""

    def load(self, folder: Path, labelled: Labelled) -> bool:
        return False

    @staticmethod
    def _predict(fitted: _Fitted, split: Matrix, rows: Ints) -> Predictions:
        inputs, learnt_from = split[rows], fitted.learnt_from
        seen = _seen_probs(fitted.estimator, inputs).astype(np.float32)
        dense = isinstance(inputs, np.ndarray) and inputs.ndim == 2
        return Predictions(align(seen, learnt_from.classes, range(learnt_from.n_classes)), inputs if dense else None)


def _seen_probs(estimator: Any | None, inputs: Matrix) -> Floats:
    """(n, k) over the classes seen; rows sum to 1 before they are cast to float32."""
    if estimator is None:
        return np.ones((inputs.shape[0], 1))
    probs = np.asarray(on_one_thread(partial(estimator.predict_proba, inputs)), np.float64)
    totals = probs.sum(axis=1, keepdims=True)
    if not (np.isfinite(totals).all() and (totals > 0).all() and (probs >= 0).all()):
        raise ShortlistError(
            f"predict_proba of {_written(estimator)} gave a row that is no distribution "
            "(NaN, infinite, negative or all zero); change its settings"
        )
    normalised: Floats = probs / totals
    return normalised


def _refuse_too_many(estimator: Any, n_classes: int, matrix: Matrix) -> None:
    """Beyond this the solver's numbers of weights overflow, and the process would end without a word."""
    alone = isinstance(estimator, LogisticRegression) and estimator.solver == "lbfgs"
    width = matrix.shape[1] if alone else 0
    if n_classes * width > MOST_WEIGHTS:
        raise ShortlistError(
            f"{_written(estimator)} would have {n_classes} classes × {width} features to weigh, more than it can; "
            "set components = 256 (or so) of the model, in a campaign of its own"
        )


# --- what an estimator takes -----------------------------------------------------------------------------------

FEW = 50  # items to try an estimator on


def _takes_texts(estimator: Any, dataset: Dataset) -> bool:
    """Whether it begins with a step that says so; or else fails on TF-IDF and does not fail on texts."""
    if any(_says_texts(step) for step in _first_steps(estimator)):
        return True
    if isinstance(estimator, LogisticRegression):
        return False
    some = _some(dataset, FEW)
    words = _failure(lambda: _fitted_once(estimator, encode(some)[0]))
    return words is not None and _failure(_fitted_once, estimator, some.inputs) is None


def _first_steps(estimator: Any) -> Iterator[Any]:
    """The steps that see the inputs themselves, of pipelines, unions and what wraps an estimator."""
    if hasattr(estimator, "steps"):
        yield from _first_steps(next((step for _, step in estimator.steps if step not in (None, "passthrough")), None))
    elif hasattr(estimator, "transformer_list"):
        for _, part in estimator.transformer_list:
            yield from _first_steps(part)
    elif hasattr(getattr(estimator, "estimator", None), "fit"):
        yield from _first_steps(estimator.estimator)
    else:
        yield estimator


def _says_texts(step: Any) -> bool:
    return isinstance(step, BaseEstimator) and bool(get_tags(step).input_tags.string)


def _some(dataset: Dataset, n: int) -> Any:
    """A dataset of n of the items at most, from all of it."""
    inputs = as_texts(dataset.inputs) if dataset.kind == "texts" else dataset.inputs
    rows = np.unique(np.linspace(0, inputs.shape[0] - 1, n).astype(np.int64))
    return SimpleNamespace(name=dataset.name, kind=dataset.kind, inputs=inputs[rows], test_inputs=None)


def _failure(call: Callable[..., None], *arguments: Any) -> Exception | None:
    """What a call raises, whatever an estimator of somebody else does; its warnings are about made-up labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call(*arguments)
        except Exception as error:
            return error
    return None


def _try(model: Scikit, some: Any) -> None:
    """A fit to made-up labels of three classes, and predictions."""
    n = some.inputs.shape[0]
    if n > 1:
        model.prepare(some)
        model.fit(Labelled(np.arange(n), np.arange(n) % min(n, 3), n_classes=3), rng=0)
        for _ in model.predict(np.arange(n)):
            pass


def _fitted_once(estimator: Any, inputs: Any) -> None:
    labels = np.arange(inputs.shape[0]) % 2
    _seeded(clone(estimator), np.random.default_rng(0)).fit(inputs, labels).predict_proba(inputs)


def _last(estimator: Any) -> Any:
    """What a pipeline, or a pipeline in one, ends in."""
    return _last(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def _as_the_last_sees(estimator: Any, inputs: Matrix) -> Matrix:
    if not isinstance(estimator, Pipeline):
        return inputs
    for _, step in estimator.steps[:-1]:  # a slice of the pipeline would refuse steps that have nothing to learn
        inputs = inputs if step in (None, "passthrough") else step.transform(inputs)
    return _as_the_last_sees(estimator.steps[-1][1], inputs)


def _losses(estimator: Any, inputs: Matrix, ascent: Ascent) -> Floats:
    """(n,) perturbed losses by a logistic regression, fitted, at the end of whatever comes before it."""
    seen = _as_the_last_sees(estimator, inputs)
    rows = seen if sparse.issparse(seen) else np.asarray(seen, np.float64)
    weights, intercepts = (np.asarray(a, np.float64) for a in (_last(estimator).coef_, _last(estimator).intercept_))
    if len(weights) == 1:  # two classes: the first one's logit is 0
        weights, intercepts = np.pad(weights, ((1, 0), (0, 0))), np.pad(intercepts, (1, 0))
    return on_one_thread(partial(perturbed_losses, weights, intercepts, rows, per=ascent))


def _seeded(estimator: Any, rng: Rng) -> Any:
    """The estimator with every `random_state`, its steps' too, drawn from `rng` in the order of their names."""
    names = sorted(name for name in estimator.get_params() if f"__{name}".endswith("__random_state"))
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})


def _written(estimator: Any) -> str:
    """One line that is the same in every process: whole, without line breaks or memory addresses."""
    whole = isinstance(estimator, BaseEstimator)  # repr() would cut out the middle of a long pipeline
    text = BaseEstimator.__repr__(estimator, N_CHAR_MAX=10**6) if whole else repr(estimator)
    home, colon, _ = str(getattr(estimator, "recipe_name", "")).partition(":")  # a file beside a recipe
    return home + colon + re.sub(r"\s+", " ", re.sub(r" at 0x[0-9a-fA-F]+", "", text))
