"""Pretrained encoders of transformers as models: a linear probe on their features, or fine-tuned whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from shortlist.datasets.extra import require
from shortlist.models.features_cache import cached, dataset_digest
from shortlist.models.linear_probe import LinearProbe
from shortlist.models.network.devices import chosen
from shortlist.models.pooling import Pooling
from shortlist.types import Array, Dataset, Ints, Labelled, Rng, ShortlistError, Stream

if TYPE_CHECKING:
    from shortlist.models.encoder import Encoder
    from shortlist.models.fine_tuning import FineTuning

Tune: TypeAlias = Literal["probe", "all"]
Features: TypeAlias = npt.NDArray[np.float32]  # (n, F)


class Hub:
    """Any image or text encoder that transformers can load, with a softmax over the classes on top.

    `encoder` is a name on huggingface.co, a folder with a saved model, or `package:NAME` for one that came with a
    Python package. With `tune="probe"` the encoder stays as it is: its features are worked out once, kept on disk
    (`cache`, else $SHORTLIST_CACHE, else the platform's cache folder), and every round fits a `LinearProbe` with `C`.
    With `tune="all"` every round begins with the pretrained weights and such a probe, and trains both together for
    `epochs` or `min_steps`, whichever is more; the weights of the last round are kept.

    `pooling` makes one vector of an item: `cls`, `mean`, `pooler`, or what suits the encoder. `size` is the side of
    an image in pixels, or the length of a text in tokens; else the encoder's own. `batch` items are read at once.

    >>> Hub("facebook/dino-vits16", C=0.03).spec()["C"]
    0.03
    """

    def __init__(
        self,
        encoder: str,
        *,
        tune: Tune = "probe",
        pooling: Pooling = "auto",
        size: int | None = None,
        batch: int = 256,
        C: float = 0.3,
        epochs: int = 10,
        min_steps: int = 300,
        lr: float = 5e-5,
        train_batch: int = 32,
        cache: str | Path | None = None,
        device: str = "auto",
    ) -> None:
        for module in ("torch", "transformers"):
            require(module, extra="torch")
        for name, value, choices in (("tune", tune, Tune), ("pooling", pooling, Pooling)):
            if value not in get_args(choices):
                raise ShortlistError(f"hub.{name}: must be {', '.join(get_args(choices))}, not {value!r}")
        numbers = {"batch": batch, "C": C, "epochs": epochs, "lr": lr, "train_batch": train_batch, "size": size}
        for name, number in numbers.items():
            if number is not None and not number > 0:
                raise ShortlistError(f"hub.{name}: must be more than 0, not {number}")
        self.encoder, self.tune, self.pooling, self.size, self.batch = str(encoder), tune, pooling, size, batch
        self.C, self.epochs, self.min_steps, self.lr, self.train_batch = C, epochs, min_steps, lr, train_batch
        self.cache, self.device = cache, device
        self._loaded: Encoder | None = None
        self._learner: LinearProbe | FineTuning | None = None
        self._inputs: tuple[Any, Any] | None = None  # training and test, of what it has read

    def __repr__(self) -> str:
        return f"Hub({self.encoder!r}, tune={self.tune!r})"

    def spec(self) -> dict[str, object]:
        """What the campaign's file says of this model; it may go on on another device, or with another cache.

        >>> Hub("roberta-large", size=128).spec()
        {'name': 'hub', 'encoder': 'roberta-large', 'tune': 'probe', 'pooling': 'auto', 'size': 128, 'C': 0.3}
        """
        always = ("encoder", "tune", "pooling", "size", "C")
        tuned = ("epochs", "min_steps", "lr", "train_batch") if self.tune == "all" else ()
        return {"name": "hub", **{name: getattr(self, name) for name in (*always, *tuned)}}

    def features(self, dataset: Dataset) -> Features:
        """(N, F) of the training items, by the encoder as it was pretrained; from the cache if they are there."""
        return self._features(dataset)["train"]

    def check(self) -> None:
        """Refuses an encoder that cannot be found, long before `prepare` would load its weights."""
        from shortlist.models.encoder import check

        check(self.encoder)

    # --- the contract ------------------------------------------------------------------------------------------

    def prepare(self, dataset: Dataset) -> None:
        """The dataset read by the encoder. One that was read last stays, and what was learnt from it goes."""
        if self._learner is not None and self._has_read(dataset):
            self._learner.forget()
            return
        if self.tune == "probe":
            features = self._features(dataset)
            probe = LinearProbe(self.C, device=self.device)
            probe.prepare_features(features["train"], features.get("test"))
            self._learner = probe
        else:
            self._learner = self._fine_tuning(dataset)
        self._inputs = dataset.inputs, dataset.test_inputs

    def fit(self, labelled: Labelled, *, rng: Rng) -> None:
        self._prepared().fit(labelled, rng=rng)

    def predict(self, items: Ints) -> Stream:
        return self._prepared().predict(items)

    def predict_test(self) -> Stream:
        return self._prepared().predict_test()

    def perturbed_loss(self, items: Ints) -> Array:
        return self._prepared().perturbed_loss(items)

    def save(self, folder: Path) -> None:
        self._prepared().save(folder)

    def load(self, folder: Path, labelled: Labelled) -> bool:
        return self._prepared().load(folder, labelled)

    # --- inside ------------------------------------------------------------------------------------------------

    def _has_read(self, dataset: Dataset) -> bool:
        """By identity: to compare what is in them would take as long as to read them."""
        if self._inputs is None:
            return False
        train, test = self._inputs
        return dataset.inputs is train and dataset.test_inputs is test

    def _prepared(self) -> LinearProbe | FineTuning:
        if self._learner is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return self._learner

    def _fine_tuning(self, dataset: Dataset) -> FineTuning:
        from shortlist.models.fine_tuning import FineTuning, Tuning

        tuning = Tuning(self.epochs, self.min_steps, self.lr, self.train_batch, self.C)
        return FineTuning(self._pretrained(dataset), dataset, tuning, self.batch, chosen(self.device))

    def _pretrained(self, dataset: Dataset) -> Encoder:
        from shortlist.models.encoder import load

        if self._loaded is None or self._loaded.kind != dataset.kind:
            self._loaded = load(self.encoder, dataset.kind, self.pooling, self.size)
        return self._loaded

    def _features(self, dataset: Dataset) -> dict[str, Features]:
        """`train` and, where there is a test split, `test`."""
        encoder, device = self._pretrained(dataset), chosen(self.device)
        splits = {"train": dataset.inputs, "test": dataset.test_inputs}
        there = {name: inputs for name, inputs in splits.items() if inputs is not None}

        def compute() -> dict[str, Features]:
            what = f"features of {dataset.name}, batches"
            return {name: encoder.encode(inputs, self.batch, device, what) for name, inputs in there.items()}

        # 16 bits on a GPU give other features than 32 on a CPU
        made_from = ["hub", encoder.digest, device.type == "cuda", dataset_digest(dataset)]
        return cached(made_from, compute, self.cache)
