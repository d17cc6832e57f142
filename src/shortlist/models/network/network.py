"""A network for images, as a model of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy.typing as npt

from shortlist.logits import Logits
from shortlist.models.model import Batches, SplitModel, check_settings, is_same
from shortlist.models.perturbed import Ascent
from shortlist.models.torch_runtime import chosen
from shortlist.probabilities import as_rng
from shortlist.system.extras import require
from shortlist.system.files import keep_only, read_npz, write_npz
from shortlist.types import Array, Dataset, Ints, Labelled, Predictions, Rng, ShortlistError, Stream

if TYPE_CHECKING:
    import torch

    from shortlist.models.network.trainer import Trainer

Keep: TypeAlias = Literal["last", "all"]

FILE = "network.npz"


@dataclass(repr=False, eq=False)
class Network(SplitModel["torch.Tensor", "Trainer"]):
    """Trained from scratch every round, on a GPU if there is one, to the last epoch and without looking at test data.

    Partial labels are learnt from by negative learning.

    Parameters
    ----------
    architecture : `resnet18`, `wrn-36-5`, or from transformers `efficientnet-b3` or `vit-s16`
    training : a recipe by name (`fast`, `paper`, `imagenet64`) or a table of what is different from one:
        `{"base": "fast", "epochs": 10}`
    width : of the first layer; None: the architecture's own
    device : `cpu`, `cuda`, or what there is (auto)
    devices : how many of them share every batch
    ascent : whether the weights move for each item alone or for a batch together, in `perturbed_loss`
    keep : of which rounds the weights are kept in the campaign's folder
    """

    architecture: str = "resnet18"
    training: str | dict[str, Any] = "fast"
    _: KW_ONLY
    width: int | None = None
    device: str = "auto"
    devices: int = 1
    ascent: Ascent = "item"
    keep: Keep = "last"

    refits = False  # a fit a round is dear enough

    def __post_init__(self) -> None:
        require("torch", extra="torch")
        from shortlist.models.network.architectures import architecture
        from shortlist.models.network.training import training

        architecture(self.architecture, 1, self.width)
        check_settings("network", self, least={"devices": 1}, ascent=Ascent, keep=Keep)
        self._training = training(self.training)
        self._inputs: tuple[Any, Any] | None = None  # the images that are here, and those of the test split
        self._trainer: Trainer | None = None
        self._fits = 0  # all of them, of every campaign

    def __repr__(self) -> str:
        return f"Network({self.architecture!r}, {self.training!r})"

    def spec(self) -> dict[str, object]:
        """The settings as written in the campaign's file: everything its predictions depend on.

        >>> Network(width=8, training={"base": "paper", "epochs": 1}).spec()
        {'name': 'network', 'architecture': 'resnet18', 'training': {'base': 'paper', 'epochs': 1}, 'width': 8}
        """
        training = dict(self.training) if isinstance(self.training, Mapping) else self.training
        always = {"name": "network", "architecture": self.architecture, "training": training}
        options = {"width": (self.width, None), "ascent": (self.ascent, "item"), "devices": (self.devices, 1)}
        return {**always, **{name: value for name, (value, usual) in options.items() if value != usual}}

    def prepare(self, dataset: Dataset) -> None:
        """The dataset on the device. A dataset that is there already stays, with the network made for it."""
        if dataset.kind != "images":
            raise ShortlistError(f"{self!r} is for images, and {dataset.name} holds {dataset.kind}")
        from shortlist.models.network.images import coloured, on_device

        self.forget()
        if is_same(dataset, self._inputs):
            return
        self.close()
        self._inputs = self._test = None
        if dataset.test_inputs is not None:
            self._test = on_device(coloured(dataset.test_inputs), chosen(self.device))
        self._inputs = dataset.inputs, dataset.test_inputs

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
        if not len(labelled.items) + len(labelled.partial):
            raise ShortlistError(f"{self!r} cannot learn from no labels; label some items first")
        import torch

        rng = as_rng(rng)
        self._fits += 1
        try:
            trainer = self._made(labelled.n_classes)
            trainer.fit(labelled, rng)
        except torch.OutOfMemoryError:
            self.close()
            raise ShortlistError(
                f"{self!r}: {chosen(self.device)} has too little memory for batches of {self._training.batch}; "
                "lower training.batch, or use smaller images or a smaller network"
            ) from None
        self._fitted = trainer

    def predict(self, items: Ints) -> Stream:
        return self._stream(items, self._learnt().pixels.images)

    def perturbed_loss(self, items: Ints) -> Array:
        return self._learnt().perturbed_losses(items, self.ascent)

    def place(self, array: npt.NDArray[Any]) -> Array:
        """The array where predictions come out."""
        import torch

        return torch.from_numpy(array).to(chosen(self.device))

    def save(self, folder: Path) -> None:
        """The weights as npz; those of earlier rounds go, once these are there."""
        weights = {name: value.cpu().numpy() for name, value in self._learnt().net.state_dict().items()}
        write_npz(folder / FILE, weights)
        if self.keep == "last":
            keep_only(folder / FILE)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        trainer = self._made(labelled.n_classes)
        wanted = trainer.net.state_dict()
        weights = read_npz(folder / FILE)
        if weights is None or {n: w.shape for n, w in weights.items()} != {n: w.shape for n, w in wanted.items()}:
            return False
        trainer.set_weights(weights)
        self._fits, self._fitted = self._fits + 1, trainer
        return True

    def close(self) -> None:
        """Free the network, its place on the device and the processes that train it."""
        if self._trainer is not None:
            self._trainer.close()
        self._trainer = self._fitted = None

    def _made(self, n_classes: int) -> Trainer:
        """The trainer for so many classes: the present one, with the step it has captured, if it fits."""
        from shortlist.models.network.architectures import architecture
        from shortlist.models.network.data_parallel import DataParallelTrainer
        from shortlist.models.network.images import coloured
        from shortlist.models.network.trainer import Trainer

        if self._inputs is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        if self._trainer is None or self._trainer.n_classes != n_classes:
            images = coloured(self._inputs[0])
            self.close()
            build = architecture(self.architecture, n_classes, self.width)
            settings = (build, images, n_classes, self._training, chosen(self.device))
            alone = self.devices == 1
            self._trainer = Trainer(*settings) if alone else DataParallelTrainer(*settings, size=self.devices)
        return self._trainer

    def _stream(self, rows: Ints, split: torch.Tensor) -> Stream:
        fit = self._fits

        def predict(part: Ints) -> Predictions:
            trainer = self._learnt()
            if fit != self._fits:
                raise ShortlistError(f"{self!r} has learnt anew since these predictions were asked for; ask again")
            return self._predict(trainer, split, part)

        return Batches(rows, self._learnt().at_once, predict)

    @staticmethod
    def _predict(fitted: Trainer, split: torch.Tensor, rows: Ints) -> Predictions:
        return Logits(*fitted.logits(split[rows]))
