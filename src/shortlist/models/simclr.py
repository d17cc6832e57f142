"""Features of images from the images alone: SimCLR, trained here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import numpy.typing as npt

from shortlist.datasets.extra import require
from shortlist.models.features_cache import cached
from shortlist.models.network.devices import chosen
from shortlist.types import Dataset, ShortlistError

if TYPE_CHECKING:
    from shortlist.models.network.contrast import Contrast

RECIPE = 1  # changes with whatever changes features: those kept under another number are not used


class Simclr:
    """Self-supervised features for ProbCover and TypiClust. No label is looked at.

    A network learns to tell two random views of an image from the views of all others; its embeddings, each of length
    1, are the features. The settings are those of the SimCLR that TypiClust and ProbCover took theirs from (batches
    of 512, SGD with momentum at a rate of 0.4 with weight decay 1e-4, temperature 0.1, a projection to 128), with a
    short warm-up, Nesterov's momentum and 200 epochs for their 500. Features are kept in `cache` (None: where
    Shortlist keeps its caches) once the training is complete; a training that was killed starts again.
    """

    def __init__(
        self,
        architecture: str = "resnet18",
        *,
        width: int | None = None,
        epochs: int = 200,
        batch: int = 512,
        rate: float = 0.4,
        temperature: float = 0.1,
        projection: int = 128,
        seed: int = 0,
        device: str = "auto",
        cache: str | Path | None = None,
    ) -> None:
        require("torch", extra="torch")
        from shortlist.models.network.architectures import architecture as named

        self._build = named(architecture, projection, width)
        for name, value, least in (("epochs", epochs, 1), ("batch", batch, 2), ("projection", projection, 1)):
            if not value >= least:
                raise ShortlistError(f"simclr.{name}: must be at least {least}, not {value}")
        for name, positive in (("rate", rate), ("temperature", temperature)):
            if not positive > 0:
                raise ShortlistError(f"simclr.{name}: must be above 0, not {positive}")
        self.architecture, self.width, self.projection = architecture, width, projection
        self.epochs, self.batch, self.rate, self.temperature = epochs, batch, rate, temperature
        self.seed, self.device, self.cache = seed, device, cache

    def __repr__(self) -> str:
        return f"Simclr({self.architecture!r}, epochs={self.epochs})"

    def spec(self) -> dict[str, object]:
        """Everything the features depend on but the images.

        >>> Simclr(width=8, epochs=10).spec()  # doctest: +NORMALIZE_WHITESPACE
        {'name': 'simclr', 'architecture': 'resnet18', 'width': 8, 'epochs': 10, 'batch': 512, 'rate': 0.4,
         'temperature': 0.1, 'projection': 128, 'seed': 0}
        """
        settings = ("architecture", "width", "epochs", "batch", "rate", "temperature", "projection", "seed")
        told = {name: getattr(self, name) for name in settings}
        return {"name": "simclr", **{name: value for name, value in told.items() if value is not None}}

    def features(self, dataset: Dataset) -> npt.NDArray[np.float32]:
        """(N, D), each of length 1, of the items to label."""
        if dataset.kind != "images":
            raise ShortlistError(f"{self!r} is for images, and {dataset.name} holds {dataset.kind}")
        if len(dataset.inputs) < 2:
            raise ShortlistError(f"{self!r} learns by telling images apart, and {dataset.name} has fewer than two")
        made_from = [RECIPE, *map(str, self.spec().items()), dataset.inputs]
        return cached(made_from, lambda: {"features": self._learnt(dataset.inputs)}, self.cache)["features"]

    def _learnt(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        learner = self.learner(images)
        learner.fit(self.epochs, np.random.default_rng([self.seed, crc32(b"simclr")]))
        return learner.features()

    def learner(self, images: npt.NDArray[np.uint8]) -> Contrast:
        """What learns from images (N, H, W[, 3])."""
        from shortlist.models.network.contrast import Contrast
        from shortlist.models.network.pixels import coloured

        return Contrast(
            self._build,
            coloured(images),
            chosen(self.device),
            batch=self.batch,
            rate=self.rate,
            temperature=self.temperature,
            projection=self.projection,
        )
