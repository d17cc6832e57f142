"""Where items come from: one file per source, built on the record in `arrays`; and the folders of official files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from shortlist.types import ShortlistError

VARIABLE = "SHORTLIST_DATA"

# The folder of each dataset that says itself what is missing, and where to get it.
OFFICIAL = {
    "cifar10": "cifar-10-batches-py",
    "cifar100": "cifar-100-python",
    "imagenet64": "imagenet64",
    "products10k": "products10k",
}

# Files of labels that recipes name, and where to get them.
CROWDS = {
    "cifar100n/human_labels.npz": "it is made of CIFAR-100_human.pt (CIFAR-100N, Wei et al. 2022, noisylabels.com, "
    'CC BY-NC 4.0): np.savez("cifar100n/human_labels.npz", noisy=...) of its array noisy_label; without it, run what '
    "needs none, such as --only noise=0.05",
}


def data_folder(name: str, given: str | Path | None = None) -> Path:
    """The folder of one dataset: in `given` (the command line's `--data`), or else in $SHORTLIST_DATA."""
    root, source = (given, "--data") if given is not None else (os.environ.get(VARIABLE), VARIABLE)
    if not root:
        without = "; --smoke tries a recipe without it" if name in OFFICIAL else ""
        raise ShortlistError(
            f"{name}: its folder is not known; give --data FOLDER or set {VARIABLE} to the folder that holds "
            f"{OFFICIAL.get(name, name)}/{without}"
        )
    if not Path(root).is_dir():
        raise ShortlistError(f"{name}: {root} (from {source}) is not a folder")
    folder = Path(root) / OFFICIAL.get(name, name)
    if not folder.is_dir() and name not in OFFICIAL:
        raise ShortlistError(f"{name}: there is no folder {name} in {root} (from {source})")
    return folder


def refuse_missing(name: str, paths: Iterable[Path], how: str) -> None:
    """Refuse a dataset of which a file or a folder is missing, with how to get it."""
    for path in paths:
        if not path.exists():
            raise ShortlistError(f"{name}: {path.as_posix()} is missing; {how}")
