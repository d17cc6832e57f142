"""Softmax regression on features that stay what they are: what linear probing trains every round."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shortlist.datasets.extra import require
from shortlist.logits import Logits
from shortlist.models import npz
from shortlist.models.cores import on_all_cores
from shortlist.models.encode import encode
from shortlist.models.lesson import Lesson
from shortlist.models.network.devices import chosen
from shortlist.models.perturbed_linear import perturbed_losses
from shortlist.models.stream import Batches
from shortlist.types import Array, Dataset, Floats, Ints, Labelled, Predictions, Rng, ShortlistError, Stream

if TYPE_CHECKING:
    import torch

FILE = "linear_probe.npz"
HELD = 1 << 24  # logits of items that ascend together, on a core


@dataclass(frozen=True)
class _Rows:
    """Features on the device, and what makes them have mean 0 and deviation 1 over the training items."""

    features: torch.Tensor  # (n, F) float32
    mean: Floats  # (F,)
    scale: Floats  # (F,)

    def at(self, rows: Ints) -> torch.Tensor:
        import torch

        return self.features[torch.from_numpy(rows).to(self.features.device)]

    def standard(self, features: torch.Tensor) -> torch.Tensor:
        import torch

        mean, scale = (torch.from_numpy(a).to(features) for a in (self.mean, self.scale))
        return (features - mean) / scale


@dataclass(frozen=True)
class _Fitted:
    weights: torch.Tensor  # (k, F)
    intercepts: torch.Tensor  # (k,)
    classes: Ints  # (k,)
    n_classes: int
    learnt_from: str  # a digest


@dataclass
class LinearProbe:
    """Multinomial logistic regression on standardised features, trained by torch on a GPU if there is one.

    `C` is scikit-learn's: small values hold the weights back. Classes that have no label yet get probability 0;
    classes ruled out for an item are learnt from by negative learning. Embeddings are the features themselves. It has
    a perturbed loss for SAAL, worked out on the CPU.

    >>> from types import SimpleNamespace
    >>> inputs = np.array([[-1.0, 0.2], [-0.9, 0.0], [1.0, 0.1], [0.8, 0.0], [0.9, 0.3]])
    >>> probe = LinearProbe(device="cpu")
    >>> probe.prepare(SimpleNamespace(name="line", kind="features", inputs=inputs, test_inputs=None))
    >>> probe.fit(Labelled(np.arange(4), np.array([2, 2, 0, 0]), n_classes=3), rng=np.random.default_rng(0))
    >>> [batch.probs.argmax(axis=1).tolist() for batch in probe.predict(np.arange(5))]
    [[2, 2, 0, 0, 0]]
    """

    C: float = 0.3
    steps: int = 200
    batch: int = 4096
    device: str = "auto"
    _train: _Rows | None = field(default=None, init=False, repr=False, compare=False)
    _test: _Rows | None = field(default=None, init=False, repr=False, compare=False)
    _fitted: _Fitted | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require("torch", extra="torch")
        for name, value in (("C", self.C), ("steps", self.steps), ("batch", self.batch)):
            if not value > 0:
                raise ShortlistError(f"LinearProbe: {name} must be more than 0, not {value}")

    def spec(self) -> dict[str, object]:
        """What the campaign's file says of this model; it may go on on another device.

        >>> LinearProbe().spec()
        {'name': 'linear_probe', 'C': 0.3, 'steps': 200, 'batch': 4096}
        """
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.init and f.name != "device"}
        return {"name": "linear_probe", **settings}

    def prepare(self, dataset: Dataset) -> None:
        train, test = encode(dataset)
        if sparse.issparse(train):
            raise ShortlistError(
                f"{self!r} needs dense features, and those of {dataset.name} are sparse; "
                "use Scikit, or Hub for a dense encoding of texts"
            )
        self.prepare_features(train, test)

    def prepare_features(self, train: npt.NDArray[Any], test: npt.NDArray[Any] | None) -> None:
        """As `prepare`, for features (N, F) and (n, F) that somebody has already."""
        mean, scale = _moments(train)
        self._train = _Rows(self._on_device(train), mean, scale)
        self._test = None if test is None else _Rows(self._on_device(test), mean, scale)
        self.forget()

    def forget(self) -> None:
        """As if never fitted; the features stay."""
        self._fitted = None

    def fit(self, labelled: Labelled, *, rng: Rng) -> None:
        import torch

        from shortlist.models.softmax_regression import softmax_regression

        train, lesson = self._prepared(), Lesson.of(labelled)
        device = train.features.device
        weights, intercepts = softmax_regression(
            train.standard(train.at(lesson.items)),
            torch.from_numpy(lesson.codes).to(device),
            len(lesson.classes),
            C=self.C,
            steps=self.steps,
            partial=train.standard(train.at(lesson.partial)),
            rejected=torch.from_numpy(lesson.rejected).to(device),
        )
        self._fitted = _Fitted(weights, intercepts, lesson.classes, lesson.n_classes, lesson.digest)

    def predict(self, items: Ints) -> Stream:
        return self._stream(items, self._prepared())

    def predict_test(self) -> Stream:
        if self._test is None:
            raise ShortlistError(f"{self!r} has no test rows to predict: the dataset has no test split")
        return self._stream(np.arange(len(self._test.features)), self._test)

    def perturbed_loss(self, items: Ints) -> Array:
        train, fitted = self._prepared(), self._learnt()
        weights, intercepts = (t.cpu().double().numpy() for t in (fitted.weights, fitted.intercepts))

        def losses(part: Ints) -> Floats:
            inputs = train.standard(train.at(part)).cpu().double().numpy()
            return perturbed_losses(weights, intercepts, inputs)

        together = max(1, HELD // len(weights))
        parts = [items[start : start + together] for start in range(0, len(items), together)]
        return np.concatenate([np.empty(0), *on_all_cores(losses, parts)])

    def save(self, folder: Path) -> None:
        """Writes `linear_probe.npz`, whole or not at all."""
        train, fitted = self._prepared(), self._learnt()
        arrays = {"weights": fitted.weights.cpu().numpy(), "intercepts": fitted.intercepts.cpu().numpy()}
        npz.write(folder / FILE, {**arrays, **self._made_from(train, fitted.learnt_from)})

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False as well where the file was learnt from other labels, features or settings, or cannot be read."""
        train, lesson = self._prepared(), Lesson.of(labelled)
        kept = npz.read_made_from(folder / FILE, self._made_from(train, lesson.digest))
        if kept is None:
            return False
        weights, intercepts = (self._on_device(kept[name]) for name in ("weights", "intercepts"))
        self._fitted = _Fitted(weights, intercepts, lesson.classes, lesson.n_classes, lesson.digest)
        return True

    def _made_from(self, train: _Rows, learnt_from: str) -> dict[str, npt.NDArray[Any]]:
        """The moments tell other features, of another encoder for instance, from these."""
        settings = np.array([self.C, self.steps])
        return {"mean": train.mean, "scale": train.scale, "settings": settings, "learnt_from": np.array(learnt_from)}

    def _on_device(self, rows: npt.NDArray[Any]) -> torch.Tensor:
        import torch

        # torch reads a writable array where it is, and would warn of others
        return torch.from_numpy(np.require(rows, np.float32, ["C", "W"])).to(chosen(self.device))

    def _prepared(self) -> _Rows:
        if self._train is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return self._train

    def _learnt(self) -> _Fitted:
        if self._fitted is None:
            raise ShortlistError(f"{self!r} has learnt nothing yet; call fit(labelled) first")
        return self._fitted

    def _stream(self, rows: Ints, split: _Rows) -> Stream:
        # The stream holds on to this fit, so it says the same even after the next one.
        return Batches(rows, self.batch, partial(_predict, self._learnt(), split))


def _predict(fitted: _Fitted, split: _Rows, rows: Ints) -> Predictions:
    features = split.at(rows)
    logits = split.standard(features) @ fitted.weights.T + fitted.intercepts
    return over_all_classes(logits, fitted.classes, fitted.n_classes, features)


def over_all_classes(logits: torch.Tensor, classes: Ints, n_classes: int, embeddings: torch.Tensor) -> Logits:
    """Logits (n, k) of the classes seen as logits of all of them: tensors on a GPU, NumPy arrays on the CPU."""
    import torch

    wide = logits.new_full((len(logits), n_classes), -torch.inf)
    wide[:, torch.from_numpy(classes).to(logits.device)] = logits
    if wide.device.type == "cpu":  # where passes over NumPy arrays use all cores
        return Logits(wide.numpy(), embeddings.numpy())
    return Logits(wide, embeddings)


def _moments(rows: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """(F,) means and deviations, in 64 bits; 1 where a feature is the same for all."""
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(rows), 4096):  # NumPy's own would hold a second copy of all rows
        squares += np.square(rows[start : start + 4096] - mean).sum(axis=0)
    deviation = np.sqrt(squares / len(rows))
    return mean, np.where(deviation > 1e-6 * np.abs(mean), deviation, 1.0)
