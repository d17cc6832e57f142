"""What an item is, for tools that show it: {"text": …}, {"image": …}, or nothing but its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, TypeAlias

from shortlist.types import Dataset

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".svg", ".avif"})
Describe: TypeAlias = Callable[[str], Mapping[str, Any]]  # of an item's key


def by_key(key: str) -> Mapping[str, Any]:
    """All that can be said without the dataset.

    >>> by_key("cat/1.png"), by_key("m1")
    ({'image': 'cat/1.png'}, {})
    """
    return {"image": key} if PurePath(key).suffix.lower() in IMAGES else {}


def by_dataset(dataset: Dataset) -> Describe:
    """
    >>> from shortlist.datasets.arrays import Arrays
    >>> by_dataset(Arrays(["hello", "win now"], ["ham", "spam"], keys=["m1", "m2"]))("m2")
    {'text': 'win now'}
    """
    if dataset.kind == "images":
        return lambda key: {"image": key}
    if dataset.kind == "features":
        return lambda key: {}
    at = {key: i for i, key in enumerate(dataset.keys)}
    return lambda key: {"text": str(dataset.inputs[at[key]])} if key in at else {}
