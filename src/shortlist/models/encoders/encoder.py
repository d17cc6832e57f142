"""The door to every encoder: items of a dataset, and plain texts, as vectors of length 1 in one space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.models.encoders import Features, Loaded
from shortlist.models.encoders.features_cache import cached, dataset_digest
from shortlist.models.encoders.packages import PREFIX, check, known, load, of_kind, refuse_kind, refuse_missing
from shortlist.models.model import check_settings, is_same
from shortlist.system.extras import require
from shortlist.types import Dataset, Kind, ShortlistError

HUB = "hub:"


@dataclass(repr=False, eq=False)
class Encoder:
    """Turns items into vectors that lie close where they mean much the same.

    `encode(dataset)` gives (N, D) float32 rows of length 1 for its items and `encode_test` for its test split; both are
    kept on disk. `encode(items)` does the same for a list of texts or an array of images, and `encode_texts(texts)`
    puts plain texts, such as the names of classes, into the same space. What has no content, such as an empty text, is
    a row of zeros. Nothing is loaded before it is needed, and no `package:` ever asks the network.

    >>> from importlib.util import find_spec
    >>> if find_spec("wordllama"):  # of the extra `text`
    ...     encoder = Encoder("package:wordllama")
    ...     mail, names = encoder.encode(["my card was stolen"]), encoder.encode_texts(["theft", "weather"])
    ...     assert mail.shape == (1, 256) and (mail @ names.T).argmax() == 0

    Parameters
    ----------
    encoder : `package:NAME`, or `hub:NAME` for a name on huggingface.co or a folder with a saved model
    batch : how many items are read at once
    cache : a folder for features; None: $SHORTLIST_CACHE, else the platform's cache folder
    device : `cpu`, `cuda`, or what there is (auto)
    """

    encoder: str
    _: KW_ONLY
    batch: int = 256
    cache: str | Path | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        check_settings("encoder", self, least={"batch": 1})
        refuse_unknown(self.encoder)
        self._loaded: dict[Kind, Loaded] = {}
        self._last: tuple[tuple[Any, Any], dict[str, Features]] | None = None  # inputs, and what they became

    def __repr__(self) -> str:
        return f"Encoder({self.encoder!r})"

    def spec(self) -> dict[str, object]:
        """The settings that vectors depend on; device and cache are none of them."""
        return {"name": "encoder", "encoder": self.encoder}

    @property
    def kind(self) -> Kind | None:
        """What it reads; None where that is not known before it is loaded."""
        package = known(self.encoder)
        return None if package is None else package.kind

    def check(self) -> None:
        """Refuses an encoder that cannot be found, long before its weights would be loaded."""
        check(self.encoder.removeprefix(HUB))

    def check_kind(self, kind: Kind) -> None:
        """Refuses data that it cannot read, as far as that is known before it is loaded."""
        refuse_kind(self.encoder, kind)

    def encode(self, items: Any) -> Features:
        """(N, D) of a dataset's items, or of a list of texts or an array of images."""
        if hasattr(items, "kind"):
            return self._splits(items)["train"]
        kind: Kind = "images" if getattr(items, "ndim", 1) > 1 else "texts"
        return _normalised(self._load(kind).encode(items, self.batch, self.device, f"{len(items)} {kind}"))

    features = encode  # what a recipe's `features` calls

    def encode_test(self, dataset: Dataset) -> Features | None:
        """(n, D) of its test split; None where it has none."""
        return self._splits(dataset).get("test")

    def encode_texts(self, texts: Sequence[str]) -> Features:
        """(n, D) of plain texts, in the space of the items."""
        if self.kind == "images":
            raise ShortlistError(
                f"encoder: {self.encoder} reads images, and names of classes are texts; only an encoder of texts, such "
                f"as {of_kind('texts')[0]}, can put them beside items"
            )
        return self.encode(list(texts))

    def _splits(self, dataset: Dataset) -> dict[str, Features]:
        """Of the dataset that was encoded last they are still here."""
        if self._last is None or not is_same(dataset, self._last[0]):
            raw = encoded(self._load(dataset.kind), dataset, self.batch, self.device, self.cache)
            rows = {name: _normalised(features) for name, features in raw.items()}
            self._last = (dataset.inputs, dataset.test_inputs), rows
        return self._last[1]

    def _load(self, kind: Kind) -> Loaded:
        if kind not in self._loaded:
            self._loaded[kind] = load(self.encoder.removeprefix(HUB), kind)
        return self._loaded[kind]


def refuse_unknown(name: str) -> None:
    """Refuse what is neither `package:NAME` nor `hub:NAME`, and a package that is not installed.

    >>> refuse_unknown("bert")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: encoder: 'bert' is neither package:NAME, such as package:wordllama, nor hub:NAME
    """
    if not name.removeprefix(PREFIX).removeprefix(HUB) or not name.startswith((PREFIX, HUB)):
        raise ShortlistError(f"encoder: {name!r} is neither package:NAME, such as package:wordllama, nor hub:NAME")
    refuse_missing(name)
    if known(name) is None:
        require("torch", "transformers", extra="torch")


def encoded(
    encoder: Loaded, dataset: Dataset, batch: int, device: str, cache: str | Path | None
) -> dict[str, Features]:
    """`train` and, where there is a test split, `test`, as the encoder gives them; from the cache if they are there."""
    splits = [("train", dataset.inputs), ("test", dataset.test_inputs)]

    def compute() -> dict[str, Features]:
        what = f"features of {dataset.name}, batches"
        return {name: encoder.encode(inputs, batch, device, what) for name, inputs in splits if inputs is not None}

    # 16 bits on a GPU give other features than 32 on a CPU
    made_from = ["hub", encoder.digest, encoder.is_half(device), dataset_digest(dataset)]
    return cached(made_from, compute, cache)


def _normalised(features: Features) -> Features:
    """Rows of length 1, or of zeros.

    >>> _normalised(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    return np.asarray(features / np.where(lengths > 0, lengths, 1), np.float32)
