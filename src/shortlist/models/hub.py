"""Pretrained encoders of transformers as models: a linear probe on their features, or fine-tuned whole."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from shortlist.models.encoders import Features, Loaded, Pooling
from shortlist.models.encoders.encoder import encoded
from shortlist.models.encoders.packages import check, known, load, refuse_kind
from shortlist.models.linear_probe import LinearProbe
from shortlist.models.model import check_settings, is_same
from shortlist.models.torch_runtime import chosen
from shortlist.system.extras import require
from shortlist.types import Array, Dataset, Ints, Labelled, Rng, ShortlistError, Stream

if TYPE_CHECKING:
    from shortlist.models.encoders.fine_tuning import FineTuning

Tune: TypeAlias = Literal["probe", "all"]


@dataclass(repr=False, eq=False)
class Hub:
    """Any image or text encoder that transformers can load, with a softmax over the classes on top.

    Parameters
    ----------
    encoder : a name on huggingface.co, a folder with a saved model, or `package:NAME` for one of a Python package
    tune : `probe` leaves the encoder as it is: its features are worked out once and kept on disk, and every round fits
        a `LinearProbe`. With `all` every round begins with the pretrained weights and such a probe, and trains both
        together; the weights of the last round are kept.
    pooling : what makes one vector of an item: `cls`, `mean`, `pooler`, or what suits the encoder (auto)
    size : the side of an image in pixels, or the length of a text in tokens; None: the encoder's own
    batch : how many items are read at once
    C : of the probe
    epochs, min_steps : how long `all` trains: whichever is more
    lr, train_batch : its rate, and the items of a step
    cache : a folder for features; None: $SHORTLIST_CACHE, else the platform's cache folder
    device : `cpu`, `cuda`, or what there is (auto)
    """

    encoder: str
    _: KW_ONLY
    tune: Tune = "probe"
    pooling: Pooling = "auto"
    size: int | None = None
    batch: int = 256
    C: float = 0.3
    epochs: int = 10
    min_steps: int = 300
    lr: float = 5e-5
    train_batch: int = 32
    cache: str | Path | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        require("torch", "transformers", extra="torch")
        least = {"batch": 1, "train_batch": 1, "size": 1}
        check_settings("hub", self, least=least, positive=["C", "epochs", "lr"], tune=Tune, pooling=Pooling)
        self.encoder = str(self.encoder)
        package = known(self.encoder)
        if self.tune == "all" and package is not None and "torch" not in package.needs:
            raise ShortlistError(f"hub.tune: {self.encoder} is no network and stays as it is; use tune = probe")
        self._loaded: Loaded | None = None
        self._learner: LinearProbe | FineTuning | None = None
        self._inputs: tuple[Any, Any] | None = None  # training and test, of what it has read

    def __repr__(self) -> str:
        return f"Hub({self.encoder!r}, tune={self.tune!r})"

    def spec(self) -> dict[str, object]:
        """The settings as written in the campaign's file; a campaign may continue on another device, or cache.

        >>> Hub("roberta-large", size=128).spec()
        {'name': 'hub', 'encoder': 'roberta-large', 'tune': 'probe', 'pooling': 'auto', 'size': 128, 'C': 0.3}
        """
        always = ("encoder", "tune", "pooling", "size", "C")
        tuned = ("epochs", "min_steps", "lr", "train_batch") if self.tune == "all" else ()
        return {"name": "hub", **{name: getattr(self, name) for name in (*always, *tuned)}}

    def features(self, dataset: Dataset) -> Features:
        """(N, F) of the training items, by the encoder as it was pretrained; from the cache if they are there."""
        return self._features(dataset)["train"]

    @property
    def refits(self) -> bool:
        """Whether a fit is cheap enough for several a round: of a probe, not of the whole encoder."""
        return self.tune == "probe"

    def check(self) -> None:
        """Refuses an encoder that cannot be found, long before `prepare` would load its weights."""
        check(self.encoder)

    def check_dataset(self, dataset: Dataset, n: int) -> None:
        """Refuse a dataset that the encoder cannot read, before anybody is asked."""
        refuse_kind(self.encoder, dataset.kind)

    def prepare(self, dataset: Dataset) -> None:
        """The dataset read by the encoder. One that was read last stays, and what was learnt from it goes."""
        if self._learner is not None and is_same(dataset, self._inputs):
            self._learner.forget()
            return
        if self.tune == "probe":
            features = self._features(dataset)
            probe = LinearProbe(self.C, device=self.device)
            probe.prepare_features(features["train"], features.get("test"))
            self._learner = probe
        else:
            from shortlist.models.encoders.fine_tuning import FineTuning, Tuning

            tuning = Tuning(self.epochs, self.min_steps, self.lr, self.train_batch, self.C)
            tuned: Any = self._pretrained(dataset)
            self._learner = FineTuning(tuned, dataset, tuning, self.batch, chosen(self.device))
        self._inputs = dataset.inputs, dataset.test_inputs

    def fit(self, labelled: Labelled, *, rng: Rng | int) -> None:
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

    def _prepared(self) -> LinearProbe | FineTuning:
        if self._learner is None:
            raise ShortlistError(f"{self!r} has no data yet; call prepare(dataset) first")
        return self._learner

    def _pretrained(self, dataset: Dataset) -> Loaded:
        if self._loaded is None or self._loaded.kind != dataset.kind:
            self._loaded = load(self.encoder, dataset.kind, self.pooling, self.size)
        return self._loaded

    def _features(self, dataset: Dataset) -> dict[str, Features]:
        """`train` and, where there is a test split, `test`."""
        return encoded(self._pretrained(dataset), dataset, self.batch, self.device, self.cache)
