"""Pretrained encoders of transformers: from a dataset's inputs to one vector for each item."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from shortlist.datasets.progress import track
from shortlist.models.digest import digest
from shortlist.models.pooling import Pooling, pooled
from shortlist.models.readers import Batch, Pixels, Tokens
from shortlist.models.seeding import seeded
from shortlist.types import Kind, ShortlistError

Rows: TypeAlias = Pixels | Tokens

TAKES = {"images": "pixel_values", "texts": "input_ids"}
TOWERS = {"images": "vision_model", "texts": "text_model"}  # of an encoder that has one for each, such as CLIP
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


@dataclass(frozen=True)
class Encoder:
    name: str
    kind: Kind
    module: torch.nn.Module  # as it was pretrained: in float32, on the CPU, evaluating
    read: Callable[[Any], Rows]  # a dataset's inputs
    pooling: Pooling  # not auto
    options: dict[str, Any]  # what it is called with beside a batch
    digest: str  # of everything its vectors depend on

    def embed(self, module: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """(b, F) by the module as it was pretrained or as it was tuned."""
        return pooled(module(**batch, **self.options), self.pooling, batch.get("attention_mask"))

    @torch.no_grad()
    def encode(self, inputs: Any, batch: int, device: torch.device, what: str) -> npt.NDArray[np.float32]:
        """(n, F) by the module as it was pretrained; `what` stands beside the bar."""
        rows = self.read(inputs)
        features = np.empty((len(rows), self.width(rows)), np.float32)
        order = rows.order(np.arange(len(rows)))
        parts = [order[start : start + batch] for start in range(0, len(order), batch)]
        module = self.module.to(device)
        with precision(device):
            for part in track(parts, total=len(parts), what=what):
                features[part] = self.embed(module, rows.batch(part, device)).cpu().numpy()
        module.to("cpu")  # room on the device
        return features

    @torch.no_grad()
    def width(self, rows: Rows) -> int:
        """F, which configurations know by many names: that of the first item's vector."""
        first = rows.batch(np.array([0]), torch.device("cpu"))
        return self.embed(self.module, first).shape[1]


def load(name: str, kind: Kind, pooling: Pooling = "auto", size: int | None = None) -> Encoder:
    """The encoder of this name for images or texts: a name on huggingface.co, a folder, or `package:NAME`."""
    if kind not in TAKES:
        raise ShortlistError(f"encoder: {name!r} is for images or texts; for {kind} use LinearProbe")
    source = located(name)
    whole, weights, has_pooler = _pretrained(name, source)
    tower = getattr(whole, TOWERS[kind], None)
    if tower is None and whole.main_input_name != TAKES[kind]:
        raise ShortlistError(f"encoder: {name!r} takes {whole.main_input_name}, and the dataset holds {kind}")
    module = whole if tower is None else tower
    if pooling == "pooler" and not has_pooler:
        raise ShortlistError(f"encoder: the pooler of {name!r} was never trained; use pooling = cls or mean")
    pooling = _pooling(source, kind, module, has_pooler) if pooling == "auto" else pooling
    read, seen = _pixels(source, module, size) if kind == "images" else _tokens(name, source, module, size)
    made_of = digest(json.dumps([_described(whole.config), seen, kind, pooling], sort_keys=True), weights)
    return Encoder(name, kind, module.eval(), read, pooling, _options(module, seen), made_of)


def check(name: str) -> None:
    """Refuses a name whose configuration `load` would not find; the weights are not read."""
    from transformers import AutoConfig

    source = located(name)
    with _quiet(), _or_refused(name):
        AutoConfig.from_pretrained(source)


def located(name: str) -> str:
    """What transformers is to load: the name itself, or the folder inside an installed package.

    >>> located("facebook/dino-vits16")
    'facebook/dino-vits16'
    >>> located("package:no-such-package")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: encoder: package no-such-package is not installed; run: pip install no-such-package
    """
    if not name.startswith("package:"):
        folder = Path(name).expanduser()
        return str(folder) if folder.is_dir() else name
    package = name.removeprefix("package:")
    found = find_spec(package.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        raise ShortlistError(f"encoder: package {package} is not installed; run: pip install {package}")
    folders = [path.parent for root in found.submodule_search_locations for path in Path(root).rglob("config.json")]
    if not folders:
        raise ShortlistError(f"encoder: package {package} holds no model that transformers can load (no config.json)")
    return str(min(folders, key=lambda folder: len(folder.parts)))  # the model's own; its parts have such files too


def precision(device: torch.device) -> AbstractContextManager[Any]:
    """bfloat16 on a GPU."""
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()


# --- what transformers has ---------------------------------------------------------------------------------------


def _pretrained(name: str, source: str) -> tuple[Any, str, bool]:
    """The whole module, a digest of its weights, and whether they hold its pooler's, if it has one."""
    from transformers import AutoModel

    with _quiet(), _or_refused(name), seeded(0, torch.device("cpu")):
        module, found = AutoModel.from_pretrained(source, dtype=torch.float32, output_loading_info=True)
    absent = set(found["missing_keys"])  # drawn at random by transformers
    if untrained := sorted(key for key in absent if "pooler" not in key.split(".")):
        raise ShortlistError(
            f"encoder: {name!r} holds no weights for {untrained[0]} and {len(untrained) - 1} more; is it another model?"
        )
    state = module.state_dict()
    weights = [part for key in sorted(state) if key not in absent for part in (key, state[key].numpy())]
    return module, digest(weights), not absent


def _pixels(source: str, module: Any, size: int | None) -> tuple[Callable[[Any], Rows], dict[str, Any]]:
    """How images are read, and what that depends on."""
    said = _json(source, "preprocessor_config.json")
    mean, std = said.get("image_mean", IMAGENET[0]), said.get("image_std", IMAGENET[1])
    if not said.get("do_normalize", True):
        mean, std = [0.0] * len(mean), [1.0] * len(std)
    side = size or _side(said) or _side({"size": getattr(module.config, "image_size", None)}) or 224
    return partial(Pixels, size=side, mean=tuple(mean), std=tuple(std)), {"size": side, "mean": mean, "std": std}


def _side(said: dict[str, Any]) -> int | None:
    """Of the square that a processor cuts out of an image, or else resizes it to."""
    square = said.get("crop_size") if said.get("do_center_crop") else None
    square = said.get("size") if square is None else square
    if isinstance(square, dict):
        square = square.get("height") or square.get("shortest_edge")
    if isinstance(square, list | tuple):
        square = square[0]
    return None if square is None else int(square)


def _tokens(name: str, source: str, module: Any, size: int | None) -> tuple[Callable[[Any], Rows], dict[str, Any]]:
    """How texts are read, and what that depends on."""
    from transformers import AutoTokenizer

    with _quiet(), _or_refused(name):
        tokenizer = AutoTokenizer.from_pretrained(source)
    positions = getattr(module.config, "max_position_embeddings", None) or 512
    said = tokenizer.model_max_length  # a very large number where it was never set
    length = size or (min(said, positions) if said < 1e6 else positions - 2)  # RoBERTa counts from two
    inside = getattr(tokenizer, "backend_tokenizer", None)
    words = sorted(tokenizer.get_vocab().items()) if inside is None else inside.to_str()
    return partial(Tokens.of, tokenizer=tokenizer, length=length), {"length": length, "words": words}


def _pooling(source: str, kind: Kind, module: Any, has_pooler: bool) -> Pooling:
    """The encoder's own way, where that is known."""
    if kind == "texts":  # what sentence-transformers keeps beside a model; most average
        return "cls" if _json(source, "1_Pooling/config.json").get("pooling_mode_cls_token") else "mean"
    # A ViT's pooler is a layer for the task of its pretraining; those of others average, or know their class token.
    dense = any(key.startswith("pooler.dense") for key, _ in module.named_parameters())
    return "cls" if dense or not has_pooler else "pooler"


def _options(module: Any, seen: dict[str, Any]) -> dict[str, Any]:
    """A ViT takes images of another size than its own if it is told to stretch its positions."""
    stretches = "interpolate_pos_encoding" in signature(module.forward).parameters
    own = _side({"size": getattr(module.config, "image_size", None)})
    return {"interpolate_pos_encoding": True} if stretches and seen["size"] != own else {}


def _described(config: Any) -> dict[str, Any]:
    """A configuration without what two equal encoders may differ in."""
    said: dict[str, Any] = json.loads(config.to_json_string())
    return {key: value for key, value in said.items() if key not in ("_name_or_path", "transformers_version", "dtype")}


def _json(source: str, file: str) -> dict[str, Any]:
    """What a file beside the weights says; nothing where there is none."""
    from transformers.utils import cached_file

    try:
        found = cached_file(source, file)
    except OSError:
        return {}
    said: dict[str, Any] = json.loads(Path(found).read_text("utf-8"))
    return said


@contextmanager
def _or_refused(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of transformers, its hub client, its tokenizers or its file format
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ShortlistError(
            f"encoder: {name!r} cannot be loaded: {reason}; give a folder with a saved model (config.json, weights, "
            "for texts a tokenizer), or a name on huggingface.co with a connection the first time"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No reports of what was loaded, and bars on a terminal only."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
