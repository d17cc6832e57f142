"""Campaigns to try the page with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.web.page.stub import Json, World

ANIMALS = (
    "ant", "ape", "badger", "bat", "bear", "beaver", "bee", "bison", "boar", "butterfly", "camel", "cat", "chamois",
    "cow", "crab", "crow", "deer", "dog", "dolphin", "donkey", "dove", "duck", "eagle", "eel", "elephant", "falcon",
    "ferret", "fox", "frog", "giraffe", "goat", "goose", "hamster", "hare", "hedgehog", "heron", "horse", "jackal",
    "jaguar", "kangaroo", "koala", "lion", "llama", "lobster", "lynx", "magpie", "mole", "mouse", "otter", "owl",
    "panda", "pig", "puma", "rabbit", "red fox", "seal", "snow leopard", "swan", "tiger", "Übersee-Möwe", "zebra",
)  # fmt: skip


def question(number: int, **changes: Any) -> Json:
    """A picture with three likely classes; what differs is said."""
    return {
        "id": number,
        "round": 2,
        "purpose": "query",
        "item": {"key": f"photos/{number:04d}.png", "kind": "image", "src": f"/api/items/{number}"},
        "classes": [11, 17, 27],
        "cuts": [3],
        "exhaustive": True,
        "rejected": [],
        "order": None,
        "answer": None,
        **changes,
    }


def animals(n: int = 8, **changes: Any) -> World:
    return World(names=ANIMALS, questions=[question(i) for i in range(1, n + 1)], **changes)


def conventional(names: Sequence[str], n: int = 4) -> World:
    return World(names=names, questions=[question(i, classes=[], cuts=[]) for i in range(1, n + 1)])


def text_item(key: str, text: str) -> Json:
    return {"key": key, "kind": "text", "text": text}


def features_item(key: str, values: Sequence[float]) -> Json:
    return {"key": key, "kind": "features", "values": list(values)}
