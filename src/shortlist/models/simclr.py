"""Features of images from the images alone: SimCLR, trained here."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import numpy.typing as npt

from shortlist.models.encoders.features_cache import cached
from shortlist.models.model import check_settings
from shortlist.models.torch_runtime import chosen
from shortlist.system.extras import require
from shortlist.types import Dataset, ShortlistError

if TYPE_CHECKING:
    from shortlist.models.network.contrast import Contrast

RECIPE = 1  # raised by every change that changes features: those stored under another number are not used


@dataclass(repr=False, eq=False)
class Simclr:
    """Self-supervised features for ProbCover and TypiClust. No label is looked at.

    A network learns to tell two random views of an image from the views of all others; its embeddings, each of length
    1, are the features. The settings are those of the SimCLR that TypiClust and ProbCover took theirs from, with a
    short warm-up, Nesterov's momentum and 200 epochs for their 500; weight decay is 1e-4. Features are kept once the
    training is complete; a training that was killed starts again.

    Parameters
    ----------
    architecture, width : as of `Network`
    epochs, batch : how long it learns, and how many images are told apart at once
    rate : of SGD with momentum
    temperature : of the contrast between views
    projection : numbers of an image that are compared; the features are those before it
    seed : of the first weights and of the views
    device : `cpu`, `cuda`, or what there is (auto)
    cache : a folder for features; None: where Shortlist keeps its caches
    """

    architecture: str = "resnet18"
    _: KW_ONLY
    width: int | None = None
    epochs: int = 200
    batch: int = 512
    rate: float = 0.4
    temperature: float = 0.1
    projection: int = 128
    seed: int = 0
    device: str = "auto"
    cache: str | Path | None = None

    def __post_init__(self) -> None:
        require("torch", extra="torch")
        from shortlist.models.network.architectures import architecture

        self._build = architecture(self.architecture, self.projection, self.width)
        least = {"epochs": 1, "batch": 2, "projection": 1}
        check_settings("simclr", self, least=least, positive=["rate", "temperature"])

    def __repr__(self) -> str:
        return f"Simclr({self.architecture!r}, epochs={self.epochs})"

    def spec(self) -> dict[str, object]:
        """Everything the features depend on but the images.

        >>> Simclr(width=8, epochs=10).spec()  # doctest: +NORMALIZE_WHITESPACE
        {'name': 'simclr', 'architecture': 'resnet18', 'width': 8, 'epochs': 10, 'batch': 512, 'rate': 0.4,
         'temperature': 0.1, 'projection': 128, 'seed': 0}
        """
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("device", "cache")}
        return {"name": "simclr", **{name: value for name, value in values.items() if value is not None}}

    def features(self, dataset: Dataset) -> npt.NDArray[np.float32]:
        """(N, D), each of length 1, of the items to label."""
        if dataset.kind != "images":
            raise ShortlistError(f"{self!r} is for images, and {dataset.name} holds {dataset.kind}")
        if len(dataset.inputs) < 2:
            raise ShortlistError(f"{self!r} learns by telling images apart, and {dataset.name} has fewer than two")

        def learnt() -> dict[str, npt.NDArray[np.float32]]:
            learner = self.learner(dataset.inputs)
            learner.fit(self.epochs, np.random.default_rng([self.seed, crc32(b"simclr")]))
            return {"features": learner.features()}

        return cached([RECIPE, *map(str, self.spec().items()), dataset.inputs], learnt, self.cache)["features"]

    def learner(self, images: npt.NDArray[np.uint8]) -> Contrast:
        """What learns from images (N, H, W[, 3])."""
        from shortlist.models.network.contrast import Contrast
        from shortlist.models.network.images import coloured

        return Contrast(
            self._build,
            coloured(images),
            chosen(self.device),
            batch=self.batch,
            rate=self.rate,
            temperature=self.temperature,
            projection=self.projection,
        )
