from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from shortlist.acquisition.method import Value, to_numpy
from shortlist.acquisition.points import Dense, Points, as_index
from shortlist.acquisition.seeding import drawn, seeds
from shortlist.acquisition.tiles import bands
from shortlist.types import Array, Floats, Ints, Rng

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
