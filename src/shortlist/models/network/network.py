"""A network for images, as a model of a campaign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from shortlist.datasets.extra import require
from shortlist.logits import Logits
from shortlist.models import npz
from shortlist.models.network.devices import chosen
from shortlist.models.perturbed_linear import Ascent
from shortlist.models.stream import Batches
from shortlist.types import Array, Dataset, Ints, Labelled, Predictions, Rng, ShortlistError, Stream

if TYPE_CHECKING:
    import torch

    from shortlist.models.network.trainer import Trainer

ASCENDED = 512  # items that ascend together with ascent="batch"
FILE = "network.npz"


class Network:
    """Trained from scratch every round, on a GPU if there is one, to the last epoch and without looking at test data.

    `training` is a recipe by name (`fast`, `paper`, `imagenet64`) or a table of what is different from one:
    `{"base": "fast", "epochs": 10}`. `architecture` is `resnet18`, `wrn-36-5`, or from transformers
    `efficientnet-b3` or `vit-s16`. More than one of `devices` share every batch. Partial labels are learnt from by
    negative learning. The weights of the last round are kept in the campaign's folder, those of all rounds with
    `keep="all"`.
    """

    def __init__(
        self,
        architecture: str = "resnet18",
        training: str | dict[str, Any] = "fast",
        *,
        width: int | None = None,
        device: str = "auto",
        devices: int = 1,
        ascent: Ascent = "item",
        keep: Literal["last", "all"] = "last",
    ) -> None:
        require("torch", extra="torch")
        from shortlist.models.network.architectures import architecture as named
        from shortlist.models.network.training import training as recipe

        named(architecture, 1, width)
        for name, value, choices in (("ascent", ascent, Ascent), ("keep", keep, Literal["last", "all"])):
            if value not in get_args(choices):
                raise ShortlistError(f"network.{name}: must be {' or '.join(get_args(choices))}, not {value!r}")
        if devices < 1:
            raise ShortlistError(f"network.devices: must be at least 1, not {devices}")
        self.architecture, self.width, self.recipe, self.ascent, self.keep = architecture, width, training, ascent, keep
        self.training = recipe(training)
        self.device, self.devices = device, devices
        self._named = partial(named, architecture, width=width)
        self._given: tuple[Any, Any] | None = None  # the images that are here, and those of the test split
        self._test: torch.Tensor | None = None
        self._trainer: Trainer | None = None
        self._fits = 0  # all of them, of every campaign
        self._is_fitted = False  # to the data that were prepared last

    def __repr__(self) -> str:
        return f"Network({self.architecture!r}, {self.recipe!r})"

    def spec(self) -> dict[str, object]:
        """What the campaign's file says of this model: everything its predictions depend on.

        >>> Network(width=8, training={"base": "paper", "epochs": 1}).spec()
        {'name': 'network', 'architecture': 'resnet18', 'training': {'base': 'paper', 'epochs': 1}, 'width': 8}
        """
        recipe = dict(self.recipe) if isinstance(self.recipe, Mapping) else self.recipe
        said = {"name": "network", "architecture": self.architecture, "training": recipe}
        options = {"width": (self.width, None), "ascent": (self.ascent, "item"), "devices": (self.devices, 1)}
        return {**said, **{name: value for name, (value, usual) in options.items() if value != usual}}

    # --- the contract ------------------------------------------------------------------------------------------

    def prepare(self, dataset: Dataset) -> None:
        """The dataset on the device. A dataset that is there already stays, with the network made for it."""
        if dataset.kind != "images":
            raise ShortlistError(f"{self!r} is for images, and {dataset.name} holds {dataset.kind}")
        from shortlist.models.network.pixels import coloured, on_device

        given, self._is_fitted = (dataset.inputs, dataset.test_inputs), False
        if self._given is not None and all(a is b for a, b in zip(given, self._given, strict=True)):
            return
        self.close()
        self._given = self._test = None
        if dataset.test_inputs is not None:
            self._test = on_device(coloured(dataset.test_inputs), chosen(self.device))
        self._given = given

    def fit(self, labelled: Labelled, *, rng: Rng) -> None:
        if not len(labelled.items) + len(labelled.partial):
            raise ShortlistError(f"{self!r} cannot learn from no labels; label some items first")
        self._fits += 1
        with self._in_its_memory():
            self._made(labelled.n_classes).fit(labelled, rng)
        self._is_fitted = True

    def predict(self, items: Ints) -> Stream:
        trainer = self._learnt()
        return Batches(items, trainer.at_once, partial(self._predictions, trainer.pixels.images, self._fits))

    def predict_test(self) -> Stream:
        trainer = self._learnt()
        if self._test is None:
            raise ShortlistError(f"{self!r} has no test images to predict: the dataset has no test split")
        everything = np.arange(len(self._test))
        return Batches(everything, trainer.at_once, partial(self._predictions, self._test, self._fits))

    def perturbed_loss(self, items: Ints) -> Array:
        import torch

        from shortlist.models.perturbed_module import perturbed_losses

        trainer = self._learnt()
        if not len(items):
            return torch.zeros(0, device=trainer.device)
        parts = (items[start : start + ASCENDED] for start in range(0, len(items), ASCENDED))
        inputs = (trainer.pixels.seen(self._rows(trainer.pixels.images, part)) for part in parts)
        return torch.cat([perturbed_losses(trainer.net, batch, per=self.ascent) for batch in inputs])

    def place(self, array: npt.NDArray[Any]) -> Array:
        """The array where predictions come out."""
        import torch

        return torch.from_numpy(array).to(chosen(self.device))

    def save(self, folder: Path) -> None:
        """The weights as npz; those of earlier rounds go, once these are there."""
        weights = {name: value.cpu().numpy() for name, value in self._learnt().net.state_dict().items()}
        npz.write(folder / FILE, weights)
        if self.keep == "last":
            npz.keep_only(folder / FILE)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        import torch

        trainer = self._made(labelled.n_classes)
        wanted = trainer.net.state_dict()
        kept = npz.read(folder / FILE)
        if kept is None or {n: w.shape for n, w in kept.items()} != {n: tuple(w.shape) for n, w in wanted.items()}:
            return False
        self._fits, self._is_fitted = self._fits + 1, True
        trainer.set_weights({name: torch.from_numpy(value) for name, value in kept.items()})
        return True

    def close(self) -> None:
        """Let go of the network, of its place on the device and of the processes that train it."""
        if self._trainer is not None:
            self._trainer.close()
        self._trainer = None

    # --- inside ------------------------------------------------------------------------------------------------

    def _made(self, n_classes: int) -> Trainer:
        """The trainer for so many classes: the one that is there, with the step it has captured, if it fits."""
        from shortlist.models.network.crew import Crew
        from shortlist.models.network.pixels import coloured
        from shortlist.models.network.trainer import Trainer

        if self._given is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) before fit")
        if self._trainer is None or self._trainer.n_classes != n_classes:
            images = coloured(self._given[0])
            self.close()
            asked = (self._named(n_classes), images, n_classes, self.training, chosen(self.device))
            self._trainer = Trainer(*asked) if self.devices == 1 else Crew(*asked, size=self.devices)
        return self._trainer

    @contextmanager
    def _in_its_memory(self) -> Iterator[None]:
        import torch

        try:
            yield
        except torch.OutOfMemoryError:
            self.close()
            raise ShortlistError(
                f"{self!r}: {chosen(self.device)} has too little memory for batches of {self.training.batch}; "
                "lower training.batch, or use smaller images or a smaller network"
            ) from None

    def _learnt(self) -> Trainer:
        if self._trainer is None or not self._is_fitted:
            raise ShortlistError(f"{self!r} has learnt nothing yet; call prepare and fit before predict")
        return self._trainer

    def _rows(self, images: torch.Tensor, rows: Ints) -> torch.Tensor:
        import torch

        return images[torch.from_numpy(rows).to(images.device)]

    def _predictions(self, images: torch.Tensor, fit: int, rows: Ints) -> Predictions:
        trainer = self._learnt()
        if fit != self._fits:
            raise ShortlistError(f"{self!r} has learnt anew since these predictions were asked for; ask again")
        logits, embeddings = trainer.logits(self._rows(images, rows))
        return Logits(logits, embeddings)
