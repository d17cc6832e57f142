"""Pretrained encoders that torch runs, most of them of transformers: from inputs to one vector for each item."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from math import ceil
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from shortlist.models.encoders import Features, Pooling
from shortlist.models.encoders.packages import located
from shortlist.models.torch_runtime import chosen, precision, seeded
from shortlist.system.arrays import blocks
from shortlist.system.digests import digest
from shortlist.system.progress import track
from shortlist.types import Ints, Kind, ShortlistError

Batch: TypeAlias = dict[str, torch.Tensor]  # what the encoder is called with
TAKES = {"images": "pixel_values", "texts": "input_ids"}
TOWERS = {"images": "vision_model", "texts": "text_model"}  # of an encoder that has one for each, such as CLIP
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


# --- a dataset's inputs as an encoder takes them, and one vector for each item --------------------------------------


@dataclass(frozen=True)
class Pixels:
    """Images resized whole to a square, which squeezes those that are none."""

    images: npt.NDArray[np.uint8]  # (N, H, W) or (N, H, W, 3)
    size: int
    mean: tuple[float, ...]  # of a channel, in 0..1
    std: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.images)

    def order(self, items: Ints) -> Ints:
        """Positions in `items`, in the order in which they are best read."""
        return np.arange(len(items))

    def batch(self, items: Ints, device: torch.device) -> Batch:
        """
        >>> one = Pixels(np.full((1, 2, 2), 255, np.uint8), size=4, mean=(0.5,) * 3, std=(0.25,) * 3)
        >>> pixels = one.batch(np.array([0]), torch.device("cpu"))["pixel_values"]
        >>> pixels.shape, pixels.unique()
        (torch.Size([1, 3, 4, 4]), tensor([2.]))
        """
        taken = torch.from_numpy(np.ascontiguousarray(self.images[items])).to(device)
        channels = taken[:, None] if taken.ndim == 3 else taken.permute(0, 3, 1, 2)
        square = F.interpolate(channels.float(), (self.size, self.size), mode="bilinear", antialias=True)
        mean, std = (torch.tensor(values, device=device)[:, None, None] for values in (self.mean, self.std))
        return {"pixel_values": (square / 255 - mean) / std}  # a grey image gets as many channels as the means are


@dataclass(frozen=True)
class Tokens:
    """Texts cut to the encoder's length, each batch padded to its longest."""

    tokens: Sequence[Sequence[int]]
    padding: int

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Any, length: int) -> Tokens:
        read = tokenizer(list(texts), truncation=True, max_length=length, return_attention_mask=False, verbose=False)
        padding = tokenizer.pad_token_id or 0
        return cls([ids or [padding] for ids in read["input_ids"]], padding)  # a text may be empty

    def __len__(self) -> int:
        return len(self.tokens)

    def order(self, items: Ints) -> Ints:
        """Positions in `items`, short texts first: a batch of similar lengths has little padding.

        >>> Tokens([[5, 6, 7], [5], [5, 6]], padding=0).order(np.array([0, 1, 2]))
        array([1, 2, 0])
        """
        return np.argsort([len(self.tokens[i]) for i in items], kind="stable")

    def batch(self, items: Ints, device: torch.device) -> Batch:
        """
        >>> Tokens([[5, 6], [7]], padding=0).batch(np.array([0, 1]), torch.device("cpu"))
        {'input_ids': tensor([[5, 6],
                [7, 0]]), 'attention_mask': tensor([[1, 1],
                [1, 0]])}
        """
        rows = [torch.tensor(self.tokens[i]) for i in items]
        masks = [torch.ones_like(row) for row in rows]
        pad = torch.nn.utils.rnn.pad_sequence
        return {
            "input_ids": pad(rows, batch_first=True, padding_value=self.padding).to(device),
            "attention_mask": pad(masks, batch_first=True).to(device),
        }


def pooled(output: Any, pooling: Pooling, mask: torch.Tensor | None = None) -> torch.Tensor:
    """(b, F) in 32 bits, from an encoder's output for every token or place; `mask` (b, T) is 0 where a text has ended.

    >>> from types import SimpleNamespace
    >>> output = SimpleNamespace(last_hidden_state=torch.tensor([[[1.0], [3.0], [9.0]]]))
    >>> pooled(output, "cls"), pooled(output, "mean", torch.tensor([[1, 1, 0]]))
    (tensor([[1.]]), tensor([[2.]]))
    """
    hidden: torch.Tensor = output.last_hidden_state.float()
    if pooling == "pooler":
        if getattr(output, "pooler_output", None) is None:
            raise ShortlistError("pooling: this encoder has no pooler of its own; use cls or mean")
        own: torch.Tensor = output.pooler_output.flatten(1).float()
        return own
    if hidden.ndim == 4:  # (b, F, h, w): convolutions have no first token
        return hidden.mean(dim=(2, 3))
    if pooling == "cls":
        return hidden[:, 0]
    if mask is None:
        return hidden.mean(dim=1)
    return (hidden * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


Rows: TypeAlias = Pixels | Tokens


@dataclass(frozen=True)
class Pretrained:
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

    def is_half(self, device: str) -> bool:
        return chosen(device).type == "cuda"

    @torch.no_grad()
    def encode(self, inputs: Any, batch: int, device: str, what: str) -> Features:
        """(n, F) by the module as it was pretrained."""
        rows, place = self.read(inputs), chosen(device)
        features = np.empty((len(rows), self.width(rows)), np.float32)
        vectors = self.vectors(self.module.to(place), rows, np.arange(len(rows)), batch, place)
        for at, part in track(vectors, total=ceil(len(rows) / batch), what=what):
            features[at] = part.cpu().numpy()
        self.module.to("cpu")  # room on the device
        return features

    def vectors(
        self, module: torch.nn.Module, rows: Rows, items: Ints, batch: int, device: torch.device
    ) -> Iterator[tuple[Ints, torch.Tensor]]:
        """Positions in `items` and their vectors (b, F), in the order in which they are best read."""
        order = rows.order(items)
        for block in blocks(len(items), batch):
            at = order[block]
            with precision(device):
                vectors = self.embed(module, rows.batch(items[at], device))
            yield at, vectors

    @torch.no_grad()
    def width(self, rows: Rows) -> int:
        """F, which configurations know by many names: that of the first item's vector."""
        first = rows.batch(np.array([0]), torch.device("cpu"))
        return self.embed(self.module, first).shape[1]


def load(name: str, kind: Kind, pooling: Pooling = "auto", size: int | None = None) -> Pretrained:
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
    return Pretrained(name, kind, module.eval(), read, pooling, _options(module, seen), made_of)


def check(name: str) -> None:
    """Refuses a name whose configuration `load` would not find; the weights are not read."""
    from transformers import AutoConfig

    source = located(name)
    with _loading(name):
        AutoConfig.from_pretrained(source)


# --- what transformers has ---------------------------------------------------------------------------------------


def _pretrained(name: str, source: str) -> tuple[Any, str, bool]:
    """The whole module, a digest of its weights, and whether they hold its pooler's, if it has one."""
    from transformers import AutoModel

    with _loading(name), seeded(0, torch.device("cpu")):
        module, loading = AutoModel.from_pretrained(source, dtype=torch.float32, output_loading_info=True)
    absent = set(loading["missing_keys"])  # drawn at random by transformers
    if untrained := sorted(key for key in absent if "pooler" not in key.split(".")):
        raise ShortlistError(
            f"encoder: {name!r} holds no weights for {untrained[0]} and {len(untrained) - 1} more; is it another model?"
        )
    state = module.state_dict()
    weights = [part for key in sorted(state) if key not in absent for part in (key, state[key].numpy())]
    return module, digest(weights), not absent


def _pixels(source: str, module: Any, size: int | None) -> tuple[Callable[[Any], Rows], dict[str, Any]]:
    """How images are read, and what that depends on."""
    processor = _json(source, "preprocessor_config.json")
    mean, std = processor.get("image_mean", IMAGENET[0]), processor.get("image_std", IMAGENET[1])
    if not processor.get("do_normalize", True):
        mean, std = [0.0] * len(mean), [1.0] * len(std)
    side = size or _side(processor) or _side({"size": getattr(module.config, "image_size", None)}) or 224
    return partial(Pixels, size=side, mean=tuple(mean), std=tuple(std)), {"size": side, "mean": mean, "std": std}


def _side(processor: dict[str, Any]) -> int | None:
    """Of the square that a processor cuts out of an image, or else resizes it to."""
    square = processor.get("crop_size") if processor.get("do_center_crop") else None
    square = processor.get("size") if square is None else square
    if isinstance(square, dict):
        square = square.get("height") or square.get("shortest_edge")
    if isinstance(square, list | tuple):
        square = square[0]
    return None if square is None else int(square)


def _tokens(name: str, source: str, module: Any, size: int | None) -> tuple[Callable[[Any], Rows], dict[str, Any]]:
    """How texts are read, and what that depends on."""
    from transformers import AutoTokenizer

    with _loading(name):
        tokenizer = AutoTokenizer.from_pretrained(source)
    positions = getattr(module.config, "max_position_embeddings", None) or 512
    longest = tokenizer.model_max_length  # a very large number where it was never set
    length = size or (min(longest, positions) if longest < 1e6 else positions - 2)  # RoBERTa counts from two
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
    """A ViT takes images of another size than its own if its positions are to be stretched."""
    stretches = "interpolate_pos_encoding" in signature(module.forward).parameters
    own = _side({"size": getattr(module.config, "image_size", None)})
    return {"interpolate_pos_encoding": True} if stretches and seen["size"] != own else {}


def _described(config: Any) -> dict[str, Any]:
    """A configuration without what two equal encoders may differ in."""
    settings: dict[str, Any] = json.loads(config.to_json_string())
    apart = ("_name_or_path", "transformers_version", "dtype")
    return {key: value for key, value in settings.items() if key not in apart}


def _json(source: str, file: str) -> dict[str, Any]:
    """A file beside the weights; empty where there is none."""
    from transformers.utils import cached_file

    try:
        path = cached_file(source, file)
    except OSError:
        return {}
    return dict(json.loads(Path(path).read_text("utf-8")))


@contextmanager
def _loading(name: str) -> Iterator[None]:
    """No reports of what was loaded, bars on a terminal only; what transformers cannot load is refused."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if not sys.stderr.isatty():
        logging.disable_progress_bar()
    try:
        yield
    except Exception as error:  # of transformers, its hub client, its tokenizers or its file format
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ShortlistError(
            f"encoder: {name!r} cannot be loaded: {reason}; give a folder with a saved model (config.json, weights, "
            "for texts a tokenizer), or a name on huggingface.co with a connection the first time"
        ) from error
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
