"""Every batch of a training run, dealt before it is played: the same on every device and in every process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shortlist.models.network.training import Training
from shortlist.types import Ints, Rng

DEALT = 1 << 18  # images dealt together


@dataclass(frozen=True)
class Hands:
    """Some batches (s of b images each)."""

    items: Ints  # (s, b)
    moves: npt.NDArray[np.float32]  # (s, b, 4)
    shares: npt.NDArray[np.float32]  # (s,) of mix-up; 1: none


@dataclass(frozen=True)
class Deck:
    """Epochs of shuffled items one after the other, cut into batches: every batch is full.

    >>> deck = Deck(np.array([3, 5, 8]), Training(batch=2, epochs=2, min_steps=0))
    >>> [hands] = deck.deal(np.random.default_rng(0))
    >>> hands.items.tolist(), hands.moves.shape, hands.shares[:2].tolist()
    ([[8, 3], [5, 8], [5, 3]], (3, 2, 4), [1.0, 1.0])
    """

    items: Ints  # (n,)
    training: Training

    @property
    def steps(self) -> int:
        return self.training.steps(len(self.items))

    def deal(self, rng: Rng) -> Iterator[Hands]:
        batch, every = self.training.batch, self.training.mix_up
        together = max(1, DEALT // batch)
        shuffled = _Shuffled(self.items, rng)
        for start in range(0, self.steps, together):
            n = min(together, self.steps - start)
            mixed = (np.arange(start, start + n) % every == every - 1) if every else np.zeros(n, np.bool_)
            yield Hands(
                shuffled.take(n * batch).reshape(n, batch),
                self.training.augmentation.draw(rng, (n, batch)),
                np.where(mixed, rng.random(n), 1).astype(np.float32),  # Beta(1, 1) is uniform
            )


class _Shuffled:
    """Items in one random order after the other."""

    def __init__(self, items: Ints, rng: Rng) -> None:
        self.items, self.rng = items, rng
        self.left = items[:0]

    def take(self, n: int) -> Ints:
        parts = [self.left]
        there = len(self.left)
        while there < n:
            parts.append(self.rng.permutation(self.items))
            there += len(self.items)
        row = np.concatenate(parts)
        self.left = row[n:]
        return row[:n]
