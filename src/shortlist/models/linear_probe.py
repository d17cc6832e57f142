"""Softmax regression on features that stay what they are: what linear probing trains every round."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shortlist.logits import Logits
from shortlist.models.linear.encoding import encode
from shortlist.models.model import SplitModel, TrainingSet, check_settings
from shortlist.models.perturbed import perturbed_losses
from shortlist.models.torch_runtime import chosen
from shortlist.system.arrays import blocks
from shortlist.system.extras import require
from shortlist.system.files import read_made_from, write_npz
from shortlist.system.threads import on_all_cores
from shortlist.types import Array, Dataset, Floats, Ints, Labelled, Predictions, Rng, ShortlistError

if TYPE_CHECKING:
    import torch

FILE = "linear_probe.npz"
HELD = 1 << 24  # logits of items that ascend together, on a core


Moments: TypeAlias = tuple[Floats, Floats]  # (F,) means and deviations of the training items' features


@dataclass(frozen=True)
class _Fitted:
    weights: torch.Tensor  # (k, F)
    intercepts: torch.Tensor  # (k,)
    moments: Moments
    learnt_from: TrainingSet


@dataclass
class LinearProbe(SplitModel["torch.Tensor", _Fitted]):
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

    def __post_init__(self) -> None:
        require("torch", extra="torch")
        check_settings("linear_probe", self, least={"steps": 1, "batch": 1}, positive=["C"])

    def spec(self) -> dict[str, object]:
        """The settings as written in the campaign's file, without the device: a campaign may continue on another.

        >>> LinearProbe().spec()
        {'name': 'linear_probe', 'C': 0.3, 'steps': 200, 'batch': 4096}
        """
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "device"}
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
        """As `prepare`, for features (N, F) and (n, F) that have been computed already."""
        self._moments = _moments(train)
        self._train = self._on_device(train)
        self._test = None if test is None else self._on_device(test)
        self.forget()

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        from shortlist.models.linear.softmax_regression import softmax_regression

        train, training_set = self._prepared(), TrainingSet.of(labelled)
        rows = (train[items] for items in (training_set.items, training_set.partial))
        inputs, partial = (_standard(features, self._moments) for features in rows)
        weights, intercepts = softmax_regression(inputs, partial, training_set, C=self.C, steps=self.steps)
        self._fitted = _Fitted(weights, intercepts, self._moments, training_set)

    def perturbed_loss(self, items: Ints) -> Array:
        train, fitted = self._prepared(), self._learnt()
        weights, intercepts = (t.cpu().double().numpy() for t in (fitted.weights, fitted.intercepts))

        def losses(part: Ints) -> Floats:
            inputs = _standard(train[part], fitted.moments).cpu().double().numpy()
            return perturbed_losses(weights, intercepts, inputs)

        parts = (items[block] for block in blocks(len(items), max(1, HELD // len(weights))))
        return np.concatenate([np.empty(0), *on_all_cores(losses, parts)])

    def save(self, folder: Path) -> None:
        """Writes `linear_probe.npz`, whole or not at all."""
        fitted = self._learnt()
        arrays = {"weights": fitted.weights.cpu().numpy(), "intercepts": fitted.intercepts.cpu().numpy()}
        write_npz(folder / FILE, {**arrays, **self._made_from(fitted.learnt_from)})

    def load(self, folder: Path, labelled: Labelled) -> bool:
        """False as well where the file was learnt from other labels, features or settings, or cannot be read."""
        training_set = TrainingSet.of(labelled)
        arrays = read_made_from(folder / FILE, self._made_from(training_set))
        if arrays is None:
            return False
        weights, intercepts = (self._on_device(arrays[name]) for name in ("weights", "intercepts"))
        self._fitted = _Fitted(weights, intercepts, self._moments, training_set)
        return True

    def _made_from(self, training_set: TrainingSet) -> dict[str, npt.NDArray[Any]]:
        """The moments tell other features, of another encoder for instance, from these."""
        self._prepared()
        (mean, scale), settings = self._moments, np.array([self.C, self.steps])
        return {"mean": mean, "scale": scale, "settings": settings, "learnt_from": np.array(training_set.digest)}

    def _on_device(self, rows: npt.NDArray[Any]) -> torch.Tensor:
        import torch

        # torch reads a writable array where it is, and would warn of others
        return torch.from_numpy(np.require(rows, np.float32, ["C", "W"])).to(chosen(self.device))

    @staticmethod
    def _predict(fitted: _Fitted, split: torch.Tensor, rows: Ints) -> Predictions:
        features = split[rows]
        logits = _standard(features, fitted.moments) @ fitted.weights.T + fitted.intercepts
        return over_all_classes(logits, fitted.learnt_from, features)


def over_all_classes(logits: torch.Tensor, learnt_from: TrainingSet, embeddings: torch.Tensor) -> Logits:
    """Logits (n, k) of the classes seen as logits of all of them: tensors on a GPU, NumPy arrays on the CPU."""
    wide = logits.new_full((len(logits), learnt_from.n_classes), -np.inf)
    wide[:, learnt_from.classes] = logits
    if wide.device.type == "cpu":  # where passes over NumPy arrays use all cores
        return Logits(wide.numpy(), embeddings.numpy())
    return Logits(wide, embeddings)


def _standard(features: torch.Tensor, moments: Moments) -> torch.Tensor:
    mean, scale = map(features.new_tensor, moments)
    return (features - mean) / scale


def _moments(rows: npt.NDArray[Any]) -> Moments:
    """(F,) means and deviations, in 64 bits; 1 where a feature is the same for all."""
    mean = rows.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for block in blocks(len(rows), 4096):  # NumPy's own would hold a second copy of all rows
        squares += np.square(rows[block] - mean).sum(axis=0)
    deviation = np.sqrt(squares / len(rows))
    return mean, np.where(deviation > 1e-6 * np.abs(mean), deviation, 1.0)
