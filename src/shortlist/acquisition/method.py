"""The contract every acquisition function meets, and the two ways to meet it.

*Scored* methods give a gain g ≥ 0 per item and need one pass over a stream of predictions. *Sequential* methods
choose one item after another; what they choose changes the gains of the rest. Both turn gains into ranks or
draws through one hook, `Value`: the gain itself, or (1 + g)^d / price. That is all cost-awareness is.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from shortlist.acquisition.scan import Take, scan
from shortlist.probabilities import check_probs
from shortlist.rows import takes_batches
from shortlist.types import Array, Ints, Pool, Predictions, Price, Rng, ShortlistError

PER_ITEM = ("probs", "embeddings", "features", "losses")  # fields of Pool with a row per item
FREE = 1e-6  # of the highest price: what an item that costs nothing is taken to cost


@dataclass(frozen=True)
class Value:
    """What a gain is worth.

    >>> Value()(np.array([0.5, 2.0]))
    array([0.5, 2. ])
    >>> Value(price=np.array([1.0, 4.0]), d=1.0)(np.array([0.5, 2.0]))
    array([1.5 , 0.75])
    """

    price: Price = None  # (n,); a function of probabilities until the pool has been seen
    d: float = 1.0

    def __call__(self, gains: Array) -> Array:
        if self.price is None:
            return gains
        raised = self._raised(gains)
        return raised / _like(self.price, raised)

    def graded(self, gains: Array, grades: Array) -> Array:
        """What gains[grades] (n,) are worth, where there are few different ones: each is raised to its power once.

        >>> Value(price=np.array([1.0, 2.0, 4.0]), d=1.0).graded(np.array([0.5, 2.0]), np.array([0, 1, 1]))
        array([1.5 , 1.5 , 0.75])
        """
        if self.price is None:
            return gains[grades]
        raised = self._raised(gains)[grades]
        return raised / _like(self.price, raised)

    def _raised(self, gains: Array) -> Array:
        xp = array_namespace(gains)
        gains = xp.astype(gains, xp.float64)  # in float32, 1 + g makes small gains equal
        return (1 + gains) ** self.d  # eq. 6

    def of(self, positions: Array) -> Value:
        """What gains of these items alone are worth, on the host."""
        price: Array = self.price
        return self if price is None else replace(self, price=to_numpy(price[positions]))

    def share(self, gain: float, cap: float) -> float:
        """How much of what an item would be worth at a gain of `cap` it is worth at a gain below that.

        >>> Value().share(0.5, 2.0), Value(np.ones(1), d=2.0).share(0.5, 2.0)
        (0.25, 0.25)
        """
        if self.price is None:
            return gain / cap if cap > 0 else 0.0
        return float(((1 + gain) / (1 + cap)) ** self.d)

    def filler(self, open_: Array, rng: Rng) -> Ints:
        """Positions where `open_` (n,) is true, for when no gain is left: at random, or cheapest first."""
        left = np.flatnonzero(to_numpy(open_))
        if self.price is None:
            return rng.permutation(left)
        return left[np.argsort(to_numpy(self.price)[left], kind="stable")]


class Method(ABC):
    needs: ClassVar[frozenset[str]] = frozenset({"probs"})  # fields of Pool; labelled_* may be None: none labelled

    @property
    def name(self) -> str:
        return type(self).__name__

    def select(self, pool: Any, *, n: int, rng: Rng, price: Price = None, **fields: Any) -> Ints:
        """Positions of the n best items of the pool, best first; all of them, with a warning, if there are fewer.

        `pool` is an (m, L) array, `Logits`, a stream of `Predictions`, or a `Pool`; `fields` are short for its fields.
        `price` (n,) or a function of probabilities matters to `CostAware` only.
        """
        return self.choose(as_pool(pool, fields), n, rng, Value())

    def choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        if n < 0:
            raise ShortlistError(f"{self.name}: n must be at least 0, got {n}")
        return self._choose(pool, n, rng, value)

    @abstractmethod
    def _choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints: ...

    def _at_most(self, n: int, size: int) -> int:
        """n, or as many as there are, with a word about it."""
        if n > size:
            told = f"{self.name}: {n} picks are asked of a pool of {size} items; it picks all of them"
            warnings.warn(told, stacklevel=5)  # whoever called select
        return min(n, size)

    def _require(self, field: str, found: Array | None) -> Array:
        if found is None:
            raise ShortlistError(f"{self.name} needs {field}, and the pool has none: pass {field}=…")
        return found


class Scored(Method):
    @abstractmethod
    def gains(self, batch: Predictions) -> Array:
        """(m,) how much each item of the batch would teach, at least 0."""

    def _choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        self._require("probs", pool.probs)
        gains, prices = scan(pool, self.gains, _pricer(value))
        n = self._at_most(n, 0 if gains is None else int(gains.shape[0]))
        if gains is None:
            return np.empty(0, np.int64)
        return best(self._finite(replace(value, price=_settled(value, prices, self.name, gains.shape[0]))(gains)), n)

    def _finite(self, worth: Array) -> Array:
        xp = array_namespace(worth)
        if not bool(xp.all(xp.isfinite(worth))):
            row = int(xp.argmax(xp.astype(~xp.isfinite(worth), xp.int64)))
            raise ShortlistError(f"{self.name}: item {row} has no finite score; look at its probabilities and price")
        return worth


class Sequential(Method):
    @abstractmethod
    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        """Positions, best first. The pool holds whole arrays for every field in `needs`; 0 < n ≤ its size."""

    def _choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        pool, prices = self._gathered(pool, _pricer(value))
        size = 0 if pool.size == 0 else self._check_sizes(pool)
        n = self._at_most(n, size)
        if n == 0:
            return np.empty(0, np.int64)
        price = _settled(value, prices, self.name, size)
        seen = sorted(PER_ITEM, key=lambda field: (field not in self.needs, field == "probs"))
        beside = next((a for a in (getattr(pool, field) for field in seen) if is_array_api_obj(a)), None)
        if price is not None and beside is not None:
            price = _like(price, beside)  # once, not with every pick
        return self.pick(replace(pool, size=size), n, rng, replace(value, price=price))

    def _gathered(self, pool: Pool, pricer: Take | None) -> tuple[Pool, Array | None]:
        """The pool with whole arrays for what the method needs, in one pass if it came as a stream."""
        if pricer is not None:
            self._require("probs", pool.probs)  # prices are made from them
        if pool.probs is None or is_array_api_obj(pool.probs):
            return pool, None if pricer is None else scan(pool, pricer)[0]
        probs, embeddings, rows, prices = scan(
            pool,
            (lambda batch: batch.probs) if "probs" in self.needs else None,
            (lambda batch: self._require("embeddings", batch.embeddings))
            if "embeddings" in self.needs and pool.embeddings is None
            else None,
            lambda batch: np.full(batch.matrix.shape[0], batch.matrix.shape[1]),  # how many rows, how wide
            pricer,
        )
        size = 0 if rows is None else int(rows.shape[0])
        given = pool.embeddings if embeddings is None else embeddings
        n_classes = int(rows[0]) if pool.n_classes is None and rows is not None and size else pool.n_classes
        return replace(pool, probs=probs, embeddings=given, size=size, n_classes=n_classes), prices

    def _check_sizes(self, pool: Pool) -> int:
        """How many items there are, once every field that is needed is there, finite and of one length."""
        found = {f: getattr(pool, f) for f in PER_ITEM}
        for field in sorted(self.needs & found.keys()):
            self._require(field, found[field])
        sizes = {f: int(a.shape[0]) for f, a in found.items() if a is not None and is_array_api_obj(a)}
        if pool.size is not None:
            sizes["size"] = pool.size
        if not sizes:
            raise ShortlistError(f"{self.name}: an empty pool record; give at least probs or size")
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{k} {v}" for k, v in sizes.items())
            raise ShortlistError(f"{self.name}: fields of different lengths: {told}")
        for field in sorted(self.needs):
            self._check_rows(field, getattr(pool, field))
        for field in sorted(self.needs & {"embeddings", "features"}):
            self._check_width(field, getattr(pool, field), getattr(pool, f"labelled_{field}"))
        return next(iter(sizes.values()))

    def _check_width(self, field: str, rows: Array, labelled: Array | None) -> None:
        if labelled is not None and labelled.shape[1:] != rows.shape[1:]:
            told = f"labelled_{field} {tuple(labelled.shape)} and {field} {tuple(rows.shape)}"
            raise ShortlistError(f"{self.name}: {told} must have as many columns as each other")

    def _check_rows(self, field: str, rows: Array | None) -> None:
        if rows is None:
            return
        if field == "probs":
            check_probs(rows)
            return
        wanted = 1 if field == "losses" else 2
        if not is_array_api_obj(rows) or rows.ndim != wanted:
            got = f"shape {tuple(rows.shape)}" if is_array_api_obj(rows) else type(rows).__name__
            raise ShortlistError(f"{self.name}: {field} must be an array of {wanted} dimensions, got {got}")
        xp = array_namespace(rows)
        if not xp.isdtype(rows.dtype, "real floating"):
            raise ShortlistError(f"{self.name}: {field} must be floating point numbers, got {rows.dtype}")
        # the extremes of an array are finite just if all of it is, and need no array of the same size
        if 0 in rows.shape or bool(xp.isfinite(xp.max(rows)) & xp.isfinite(xp.min(rows))):
            return
        finite = xp.isfinite(rows) if wanted == 1 else xp.all(xp.isfinite(rows), axis=1)
        row = int(xp.argmax(xp.astype(~finite, xp.int64)))
        raise ShortlistError(f"{self.name}: {field} row {row} is not finite")


def as_pool(pool: Any, fields: dict[str, Any]) -> Pool:
    """A Pool from whatever the caller had."""
    unknown = fields.keys() - Pool.__dataclass_fields__.keys()
    if unknown:
        known = ", ".join(Pool.__dataclass_fields__)
        raise ShortlistError(f"select: no field {sorted(unknown)[0]!r} in a pool; there are {known}")
    if isinstance(pool, Pool):
        return replace(pool, **fields) if fields else pool
    if pool is None:
        return Pool(**fields)
    if "probs" in fields:
        raise ShortlistError("select: probs are given twice, as the pool and by name")
    return Pool(probs=pool, **fields)


def best(worth: Array, n: int) -> Ints:
    """Positions of the n largest, ties to the lowest position.

    >>> best(np.array([1.0, 3.0, 2.0, 3.0]), 3)
    array([1, 3, 2])
    """
    xp = array_namespace(worth)
    size = int(worth.shape[0])
    among = xp.arange(size, device=device(worth))
    if 0 < n < size:  # sorting numbers is faster than sorting places: first leave out all that cannot be among them
        among = xp.nonzero(worth >= xp.sort(worth)[size - n])[0]
    return np.asarray(to_numpy(among[xp.argsort(-worth[among], stable=True)[:n]]), np.int64)


def race(weights: Array, n: int, rng: Rng) -> Ints:
    """n positions drawn without replacement with these weights, in the order drawn (an exponential race)."""
    arrival = rng.exponential(size=weights.shape[0])
    with np.errstate(divide="ignore"):
        finish = arrival / to_numpy(weights)
    return np.argsort(finish, kind="stable")[:n].astype(np.int64)


def to_numpy(array: Array) -> Any:
    """On the host, whatever it was: for results, which are small."""
    if isinstance(array, np.ndarray):
        return array
    there = array.detach().cpu()
    return np.asarray(there.float() if str(there.dtype) == "torch.bfloat16" else there)  # NumPy has no bfloat16


def _pricer(value: Value) -> Take | None:
    price = value.price
    if not callable(price):
        return None
    return price if takes_batches(price) else lambda batch: price(batch.probs)


def _settled(value: Value, prices: Array | None, name: str, size: int) -> Array | None:
    price = prices if callable(value.price) else value.price
    if price is None:
        return None
    if not is_array_api_obj(price) or tuple(price.shape) != (size,):
        got = f"shape {tuple(price.shape)}" if is_array_api_obj(price) else type(price).__name__
        raise ShortlistError(f"{name}: price must be an array of one number per item, ({size},), got {got}")
    xp = array_namespace(price)
    if not bool(xp.all(xp.isfinite(price) & (price >= 0))):
        raise ShortlistError(f"{name}: every price must be a finite number of at least 0")
    if size == 0 or bool(xp.min(price) > 0):
        return price
    highest = float(xp.max(price))
    return xp.clip(xp.astype(price, xp.float64), FREE * highest if highest > 0 else 1.0, None)


def _like(price: Array, gains: Array) -> Array:
    """Prices as an array of the gains' own kind, on the same device."""
    xp = array_namespace(gains)
    if is_array_api_obj(price) and array_namespace(price) is xp and device(price) == device(gains):
        return price
    return xp.asarray(to_numpy(price), device=device(gains))
