"""K-means, and its k-means++ start: exact seeds without looking at every point for every seed.

D², the squared distance to the nearest seed, only ever falls. So a block of proposals is drawn by the D² of some
seeds ago, and each is taken with the share of its weight that is left: whatever is taken has exactly the weights of
now. Seeds taken this way are measured against all points together, by one matrix product a block instead of one
pass over the data a seed.

Under a price the weight is (1 + D²/whole)^d / price, and `whole`, ΣD² or max D², needs all points. Between blocks it
is known within bounds only: a few tracked points give the lower one, the last block the upper one. Nearly all shares
are settled by the bounds; where one is not, the block ends there and the exact value decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.acquisition.geometry.points import Chosen, Dense, Points, bands, largest
from shortlist.acquisition.method import Value
from shortlist.system.arrays import as_index, to_numpy
from shortlist.types import Array, Floats, Ints, Rng

# --- k-means++ seeds ---------------------------------------------------------------------------------------------

Scale: TypeAlias = Literal["sum", "max"]

PROPOSALS = 256  # a block: more need fewer passes over the data, and are refused more often
TRACKED = 512


def seeds(points: Points, n: int, rng: Rng, value: Value, scale: Scale = "sum", *, first: int | None = None) -> Ints:
    """n positions: the first is given or has the largest norm, each next is drawn by its D² / ΣD² (D² / max D²).

    >>> from shortlist.acquisition.geometry.points import Dense
    >>> line = Points.of(Dense(np.array([[8.0], [8.0], [9.0], [9.0]])))
    >>> seeds(line, 2, np.random.default_rng(0), Value()).tolist()
    [2, 1]
    """
    xp = array_namespace(points.norms)
    search = _Search(points, points.norms, value, scale)  # as if the origin were a seed
    if first is None and search.whole() > 0:
        largest = xp.max(search.nearest)
        worth = value(search.nearest / search.whole())  # of several that are as large, the one worth most
        first = int(xp.argmax(xp.where(search.nearest == largest, worth, xp.full_like(worth, -xp.inf))))
    if first is not None:
        search.nearest = xp.full_like(points.norms, xp.inf)
        search.take([first], n)
    while len(search.chosen) < n:
        whole = search.whole()
        if whole > 0:
            search.block(whole, n, rng)
        else:  # everything left sits on a seed
            search.chosen += value.filler(search.open, rng).tolist()
    return np.asarray(search.chosen[:n], np.int64)


def drawn(weights: Array, draws: Floats) -> Array:
    """Positions with probability in proportion to their weights; `draws` are uniform on [0, 1).

    >>> drawn(np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.24, 0.25, 0.99]))
    array([0, 0, 2, 2])
    """
    xp = array_namespace(weights)
    reached = xp.cumulative_sum(weights, dtype=xp.float64)
    uniform = xp.asarray(draws, dtype=xp.float64, device=device(weights))
    found = xp.searchsorted(reached, uniform * reached[-1], side="right")
    last = xp.searchsorted(reached, reached[-1:], side="left")  # rounding at the very end
    return xp.minimum(found, last)


@dataclass
class _Search(Chosen):
    value: Value
    scale: Scale

    def whole(self) -> float:
        xp = array_namespace(self.nearest)
        return float(xp.sum(self.nearest) if self.scale == "sum" else xp.max(self.nearest))

    def block(self, whole: float, n: int, rng: Rng) -> None:
        """Some more seeds: n in all at most."""
        xp = array_namespace(self.nearest)
        bounds = _Bounds()  # without a price the whole cancels out of every share
        if self.value.price is not None:
            bounds = _Bounds.of(self.nearest, whole, self.scale, self.value.d)
        caps = self.nearest / bounds.floor
        if bounds.tracked is not None:
            caps = xp.clip(caps, None, 1.0)  # no gain is above 1
        weights = self.value(caps)
        draws, shares = rng.random((2, min(PROPOSALS, self.points.size)))
        proposed = drawn(xp.where(self.open, weights, xp.zeros_like(weights)), draws)
        near = proposed if bounds.tracked is None else xp.concat([bounds.tracked, proposed])
        left, gains = (to_numpy(a).astype(np.float64) for a in (self.nearest[near], caps[proposed]))
        squared = to_numpy(self.points.between(near, proposed))
        most = n - len(self.chosen)
        taken, unsettled = _settled(self.value, bounds, to_numpy(near), left, squared, gains, shares, most)
        if taken:
            self.take(taken, n)
        if unsettled is not None and len(self.chosen) < n:
            position, cap, share = unsettled
            if share < self.value.share(float(self.nearest[position]) / self.whole(), cap):
                self.take([position], n)


def _settled(
    value: Value,
    bounds: _Bounds,
    positions: Ints,  # (k + m,) tracked points, then proposals
    left: Floats,  # (k + m,) D² of each, as seeds are taken
    squared: Any,  # (k + m, m) squared distances to the proposals
    caps: Floats,  # (m,) the gain by which each proposal was drawn
    shares: Floats,  # (m,) of it, below which a proposal is taken
    n: int,
) -> tuple[list[int], tuple[int, float, float] | None]:
    """The proposals taken, n at most; and position, cap and share of one that the bounds leave open."""
    tracked = len(positions) - len(shares)
    low, high = bounds.start
    taken: list[int] = []
    for i, (share, cap) in enumerate(zip(shares.tolist(), caps.tolist(), strict=True)):
        position, now = int(positions[tracked + i]), float(left[tracked + i])
        if share >= value.share(now / low, cap) or position in taken:
            continue
        if share >= value.share(now / high, cap):
            return taken, (position, cap, share)
        taken.append(position)
        np.minimum(left, squared[:, i], out=left)
        left[positions == position] = 0.0
        if len(taken) == n:
            break
        if tracked:
            low, high = bounds.of_whole(left[:tracked])
            if low < bounds.floor:  # gains may now be above the caps they were drawn by
                break
    return taken, None


@dataclass(frozen=True)
class _Bounds:
    """Between what the whole, ΣD² or max D², must lie, given D² of the tracked points: those with the largest."""

    tracked: Array | None = None  # (k,) positions
    start: tuple[float, float] = (1.0, 1.0)
    floor: float = 1.0  # the whole is not below it while a block lasts
    rest: float = 0.0  # the sum, or the largest, of what is not tracked, when the block began
    scale: Scale = "sum"

    @classmethod
    def of(cls, nearest: Array, whole: float, scale: Scale, d: float) -> _Bounds:
        tracked, beyond = largest(nearest, TRACKED)
        left = to_numpy(nearest[tracked]).astype(np.float64)
        rest = max(0.0, whole - float(left.sum())) if scale == "sum" else beyond
        start = cls(rest=rest, scale=scale).of_whole(left)
        return cls(tracked, start, start[0] * (1 - 1 / (2 + d)), rest, scale)  # so near that most shares stay large

    def of_whole(self, left: Floats) -> tuple[float, float]:
        """
        >>> _Bounds(rest=5.0).of_whole(np.array([6.0, 7.0]))
        (13.0, 18.0)
        """
        if self.scale == "max":
            highest = float(left.max())
            return highest, max(highest, self.rest)
        total = float(left.sum())
        return total, total + self.rest


# --- k-means -----------------------------------------------------------------------------------------------------

SPARE = 2  # candidates drawn for every centre to start from
SAMPLE = 8  # items drawn for every candidate, to choose it from
MANY = 2048  # centres for which there are no candidates to spare: all distances between them are made


def k_means(x: Array, k: int, rng: Rng, iterations: int = 25, moving: float = 0.0) -> tuple[Array, Array]:
    """Lloyd's k-means from a greedy k-means++ start: (n,) labels, and the (k, D) centres, the means of their items.

    It ends when no item changes its label, or no more than a share of them (`moving`), or after so many iterations.
    There are never more centres than items; a centre that has no item, or loses its last one, stays where it is. The
    arithmetic is in 32 bits, about the mean of all.

    >>> x = np.array([[0.0], [9.0], [1.0], [10.0], [0.5]])
    >>> labels, centres = k_means(x, 2, np.random.default_rng(0))
    >>> bool(labels[0] == labels[2] == labels[4] != labels[1] == labels[3]), np.sort(centres[:, 0]).round(3)
    (True, array([0.5, 9.5]))
    """
    xp = array_namespace(x)
    middle = xp.mean(x, axis=0)  # squared norms far from 0 would drown small distances
    z = xp.astype(x - middle, xp.float32)
    centres = _start(z, k, rng)
    k = int(centres.shape[0])
    labels = xp.full(z.shape[0], k, dtype=xp.int64, device=device(z))  # at first all in one that is not counted
    sums = xp.zeros((k + 1, z.shape[1]), dtype=z.dtype, device=device(z))
    counts = xp.zeros(k + 1, dtype=z.dtype, device=device(z))
    for _ in range(iterations):
        old, labels = labels, _nearest(z, centres)
        moved = xp.nonzero(labels != old)[0]
        _move(z, moved, old, labels, sums, counts)
        means = sums[:k, :] / xp.clip(counts[:k, None], 1, None)
        centres = xp.where(counts[:k, None] > 0, means, centres)
        if moved.shape[0] <= moving * z.shape[0]:
            break
    return labels, xp.astype(centres, x.dtype) + middle


def _nearest(z: Array, centres: Array) -> Array:
    """(n,) the nearest centre of every item."""
    xp = array_namespace(z)
    half = xp.vecdot(centres, centres)[None, :] / 2
    nearest = []
    for band in bands(z, centres.shape[0]):
        products = z[band, :] @ centres.T
        products -= half  # ‖x − c‖² = ‖x‖² − 2(x·c − ‖c‖²/2)
        nearest.append(xp.argmax(products, axis=1))
    return xp.concat(nearest)


def _move(z: Array, moved: Array, old: Array, new: Array, sums: Array, counts: Array) -> None:
    """Sums (k, D) and counts (k,) of clusters after some items went from one to another, in place.

    By products with a matrix of −1 and 1: single additions side by side would round differently every time.
    """
    xp = array_namespace(z)
    for band in bands(moved, max(sums.shape)):
        items = moved[band]
        each = xp.arange(items.shape[0], device=device(z))
        steps = xp.zeros((items.shape[0], counts.shape[0]), dtype=z.dtype, device=device(z))
        steps[each, old[items]] = -1
        steps[each, new[items]] = 1
        sums += steps.T @ z[items, :]
        counts += xp.sum(steps, axis=0)


# --- where to start --------------------------------------------------------------------------------------------


def _start(z: Array, k: int, rng: Rng) -> Array:
    """(k, D) items to start from: of a sample, k-means++ candidates; of these the ones with many items near them."""
    n, wanted = int(z.shape[0]), k if k > MANY else SPARE * k
    if n > SAMPLE * wanted:
        z = z[as_index(rng.choice(n, SAMPLE * wanted, replace=False, shuffle=False), z), :]
    points = Points.of(Dense(z))
    candidates = as_index(seeds(points, min(wanted, points.size), rng, Value()), z)
    if candidates.shape[0] <= k:
        return z[candidates, :]
    weights = np.bincount(to_numpy(_nearest(z, z[candidates, :])), minlength=candidates.shape[0])
    best = _greedy(to_numpy(points.between(candidates, candidates)), weights.astype(np.float64), k, rng)
    return z[candidates[as_index(best, z)], :]


def _greedy(squared: Any, weights: Floats, k: int, rng: Rng) -> Ints:
    """k of m weighted points (m, m) apart: k-means++ that draws a few and keeps the one leaving least to cover."""
    tries = 2 + int(np.log(k))
    nearest = np.ones(len(weights))
    chosen = np.empty(k, np.int64)
    for i in range(k):
        drafts = drawn(weights * nearest, rng.random(tries))
        left = squared[drafts] if i == 0 else np.minimum(nearest, squared[drafts])
        best = int((left @ weights).argmin())
        chosen[i], nearest = drafts[best], left[best]
    return chosen
