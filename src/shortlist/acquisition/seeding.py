"""K-means++ seeding, exact, without looking at every point for every seed.

D², the squared distance to the nearest seed, only ever falls. So a block of proposals is drawn by the D² of some
seeds ago, and each is taken with the share of its weight that is left: whatever is taken has exactly the weights of
now. Seeds taken this way are measured against all points together, by one matrix product a block instead of one
pass over the data a seed.

Under a price the weight is (1 + D²/whole)^d / price, and `whole`, ΣD² or max D², needs all points. Between blocks it
is known within bounds only: a few tracked points give the lower one, the last block the upper one. Nearly all shares
are settled by the bounds; where one is not, the block ends there and the exact value decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from shortlist.acquisition.method import Value, to_numpy
from shortlist.acquisition.points import Points, as_index, largest
from shortlist.types import Array, Floats, Ints, Rng

Scale: TypeAlias = Literal["sum", "max"]

PROPOSALS = 256  # a block: more need fewer passes over the data, and are refused more often
TRACKED = 512


def seeds(points: Points, n: int, rng: Rng, value: Value, scale: Scale = "sum", *, first: int | None = None) -> Ints:
    """n positions: the first is given or worth most, each next is drawn by what D² / ΣD² (or D² / max D²) is worth.

    >>> from shortlist.acquisition.points import Dense
    >>> line = Points.of(Dense(np.array([[8.0], [8.0], [9.0], [9.0]])))
    >>> seeds(line, 2, np.random.default_rng(0), Value()).tolist()
    [2, 1]
    """
    search = _Search(points, value, scale)
    if first is not None:
        search.take([first])
    while len(search.chosen) < n:
        whole = search.whole()
        if not whole > 0:  # everything left sits on a seed
            search.chosen += value.filler(search.open, rng).tolist()
        elif search.chosen:
            search.block(whole, n, rng)
        else:
            worth = value(search.nearest / whole)
            search.take([int(array_namespace(worth).argmax(worth))])
    return np.asarray(search.chosen[:n], np.int64)


def drawn(weights: Array, draws: Floats) -> Array:
    """Positions with probability in proportion to their weights; `draws` are uniform on [0, 1).

    >>> drawn(np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.24, 0.25, 0.99]))
    array([0, 0, 2, 2])
    """
    if is_numpy_array(weights):  # the same below, which for a few weights is mostly overhead
        reached = weights.cumsum(dtype=np.float64)
        found = reached.searchsorted(draws * reached[-1], side="right")
        return np.minimum(found, reached.searchsorted(reached[-1], side="left"))
    xp = array_namespace(weights)
    reached = xp.cumulative_sum(xp.astype(weights, xp.float64))
    uniform = xp.asarray(draws, dtype=xp.float64, device=device(weights))
    found = xp.searchsorted(reached, uniform * reached[-1], side="right")
    last = xp.searchsorted(reached, reached[-1:], side="left")  # rounding at the very end
    return xp.minimum(found, last)


@dataclass
class _Search:
    points: Points
    value: Value
    scale: Scale
    chosen: list[int] = field(default_factory=list)
    nearest: Array = field(init=False)  # (n,) D²; before the first seed, to the origin
    open: Array = field(init=False)  # (n,)

    def __post_init__(self) -> None:
        xp = array_namespace(self.points.norms)
        self.nearest = self.points.norms
        self.open = xp.ones(self.points.size, dtype=xp.bool, device=device(self.nearest))

    def whole(self) -> float:
        xp = array_namespace(self.nearest)
        return float(xp.sum(self.nearest) if self.scale == "sum" else xp.max(self.nearest))

    def take(self, positions: list[int]) -> None:
        xp = array_namespace(self.nearest)
        where = as_index(np.asarray(positions, np.int64), self.nearest)
        so_far = self.nearest if self.chosen else xp.full_like(self.nearest, xp.inf)  # the origin is no seed
        self.nearest = self.points.to_centres(so_far, where)
        self.nearest[where] = 0.0
        self.open[where] = False
        self.chosen += positions

    def block(self, whole: float, n: int, rng: Rng) -> None:
        """Some more seeds: n in all at most."""
        xp = array_namespace(self.nearest)
        bounds = (
            _Bounds.of(self.nearest, whole, self.scale, self.value.d)
            if self.value.price is not None
            else _Bounds.none()
        )
        caps = self.nearest / bounds.floor
        if bounds.tracked is not None:
            caps = xp.clip(caps, None, 1.0)  # no gain is above 1
        weights = self.value(caps)
        draws, shares = rng.random((2, min(PROPOSALS, self.points.size)))
        proposed = drawn(xp.where(self.open, weights, xp.zeros_like(weights)), draws)
        near = proposed if bounds.tracked is None else xp.concat([bounds.tracked, proposed])
        settle = _Block(
            self.value,
            bounds,
            positions=to_numpy(near),
            left=to_numpy(self.nearest[near]).astype(np.float64),
            caps=to_numpy(caps[proposed]).astype(np.float64),
            squared=to_numpy(self.points.between(near, proposed)),
        )
        taken = settle.take(shares, n - len(self.chosen))
        if len(self.chosen) + len(taken) == n:
            self.chosen += taken  # nobody will ask for distances to them
        elif taken:
            self.take(taken)
        if settle.unsettled is not None and len(self.chosen) < n:
            position, cap, share = settle.unsettled
            if share < self.value.share(float(self.nearest[position]) / self.whole(), cap):
                self.take([position])


@dataclass
class _Block:
    """One block of proposals, on the host."""

    value: Value
    bounds: _Bounds
    positions: Ints  # (k + m,) tracked points, then proposals
    left: Floats  # (k + m,) D² of each, as seeds are taken
    caps: Floats  # (m,) the gain by which each proposal was drawn
    squared: Any  # (k + m, m) squared distances to the proposals
    unsettled: tuple[int, float, float] | None = None  # position, cap and share of a proposal the bounds left open

    def take(self, shares: Floats, n: int) -> list[int]:
        tracked = len(self.positions) - len(shares)
        low, high = self.bounds.start
        taken: list[int] = []
        for i, (share, cap) in enumerate(zip(shares.tolist(), self.caps.tolist(), strict=True)):
            row = tracked + i
            position, left = int(self.positions[row]), float(self.left[row])
            if share >= self.value.share(left / low, cap) or position in taken:
                continue
            if share >= self.value.share(left / high, cap):
                self.unsettled = position, cap, share
                break
            taken.append(position)
            np.minimum(self.left, self.squared[:, i], out=self.left)
            self.left[self.positions == position] = 0.0
            if len(taken) == n:
                break
            if tracked:
                low, high = self.bounds.of_whole(self.left[:tracked])
                if low < self.bounds.floor:  # gains may now be above the caps they were drawn by
                    break
        return taken


@dataclass(frozen=True)
class _Bounds:
    """Between what the whole, ΣD² or max D², must lie, given D² of the tracked points: those with the largest."""

    tracked: Array | None  # (k,) positions
    start: tuple[float, float]
    floor: float  # the whole is not below it while a block lasts
    rest: float = 0.0  # the sum, or the largest, of what is not tracked, when the block began
    scale: Scale = "sum"

    @classmethod
    def none(cls) -> _Bounds:
        """Without a price the whole cancels out of every share."""
        return cls(None, (1.0, 1.0), 1.0)

    @classmethod
    def of(cls, nearest: Array, whole: float, scale: Scale, d: float) -> _Bounds:
        tracked, beyond = largest(nearest, TRACKED)
        left = to_numpy(nearest[tracked]).astype(np.float64)
        rest = max(0.0, whole - float(left.sum())) if scale == "sum" else beyond
        start = cls(tracked, (0.0, 0.0), 0.0, rest, scale).of_whole(left)
        return cls(tracked, start, start[0] * (1 - 1 / (2 + d)), rest, scale)  # so near that most shares stay large

    def of_whole(self, left: Floats) -> tuple[float, float]:
        """
        >>> _Bounds(None, (0.0, 0.0), 0.0, rest=5.0).of_whole(np.array([6.0, 7.0]))
        (13.0, 18.0)
        """
        if self.scale == "max":
            highest = float(left.max())
            return highest, max(highest, self.rest)
        total = float(left.sum())
        return total, total + self.rest
