"""The contract every acquisition function meets, and the two ways to meet it.

*Scored* methods give a gain g ≥ 0 per item and need one pass over a stream of predictions. *Sequential* methods
choose one item after another; what they choose changes the gains of the rest. Both turn gains into ranks or
draws through one hook, `Value`: the gain itself, or (1 + g)^d / price. That is all cost-awareness is.
"""

from __future__ import annotations

import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from shortlist.acquisition.scan import BESIDE, Take, scan
from shortlist.probabilities import as_array, as_rng, check_probs, first_true
from shortlist.rows import takes_batches
from shortlist.system.arrays import to_numpy
from shortlist.types import Array, Ints, Pool, Predictions, Price, Rng, ShortlistError

PER_ITEM = ("probs", "embeddings", "features", "losses", "samples")  # fields of Pool with a row per item
DIMENSIONS = {"losses": 1, "samples": 3}  # of a field's array; of all others: 2
ROUNDING = 1e-6  # how far below 0 a gain may come out that is 0
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

    def __call__(self, gains: Array, grades: Array = slice(None)) -> Array:
        """What gains[grades] (n,) are worth. Where few of them differ, each is raised to its power once.

        >>> Value(price=np.array([1.0, 2.0, 4.0]), d=1.0)(np.array([0.5, 2.0]), np.array([0, 1, 1]))
        array([1.5 , 1.5 , 0.75])
        """
        if self.price is None:
            return gains[grades]
        xp = array_namespace(gains)
        gains = xp.astype(gains, xp.float64)  # in float32, 1 + g makes small gains equal
        raised = ((1 + gains) ** self.d)[grades]  # eq. 6
        return raised / _like(self.price, raised)

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


class Selector(ABC):
    short: ClassVar[str] = ""  # what tables and figures call it, settings in braces; "": its class's name
    about: ClassVar[str] = ""  # a sentence for the glossary of a report

    @abstractmethod
    def _select(self, pool: Pool, n: int, rng: Rng, price: Price) -> Ints: ...

    def select(
        self,
        pool: Any,
        *,
        n: int,
        rng: Rng | int,
        price: Price = None,
        embeddings: Array | None = None,
        features: Array | None = None,
        labelled_embeddings: Array | None = None,
        labelled_features: Array | None = None,
        losses: Array | None = None,
        samples: Array | None = None,
    ) -> Ints:
        """Positions of the n best items of the pool, best first; all of them, with a warning, if there are fewer.

        Parameters
        ----------
        pool : (m, L) probabilities, `Logits`, a stream of `Predictions`, a `Pool`, or None where nothing reads them.
        n : how many items to choose.
        rng : what is drawn is drawn from here, or a whole number as its seed; the same seed gives the same items.
        price : (m,) or a function of probabilities, such as `query.price`; read by `CostAware` only.
        embeddings, features, labelled_embeddings, labelled_features, losses, samples : fields of `Pool`, by name.

        >>> from shortlist import Entropy
        >>> Entropy().select([[0.9, 0.1], [0.5, 0.5]], n=1, rng=np.random.default_rng(0))
        array([1])
        """
        arrays = {
            "embeddings": embeddings,
            "features": features,
            "labelled_embeddings": labelled_embeddings,
            "labelled_features": labelled_features,
            "losses": losses,
            "samples": samples,
        }
        return self._select(as_pool(pool, arrays), _count(n), as_rng(rng), price)


class Method(Selector):
    needs: ClassVar[frozenset[str]] = frozenset({"probs"})  # fields of Pool; labelled_* may be None: none labelled

    @property
    def name(self) -> str:
        return type(self).__name__

    def _select(self, pool: Pool, n: int, rng: Rng, price: Price) -> Ints:
        return self.choose(pool, n, rng, Value())

    @abstractmethod
    def choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        """Positions of the n items whose gains are worth most; `select` and `CostAware` differ in the value only.

        >>> from shortlist import Entropy
        >>> Entropy().choose(Pool(np.array([[0.9, 0.1], [0.5, 0.5]])), 1, np.random.default_rng(0), Value())
        array([1])
        """

    def _at_most(self, n: int, size: int) -> int:
        """n, or as many as there are, with a word about it."""
        if n < 0:
            raise ShortlistError(f"{self.name}: n must be at least 0, got {n}")
        if n > size:
            told = f"{self.name}: {n} picks are asked of a pool of {size} items; it picks all of them"
            warnings.warn(told, stacklevel=5)  # the line that called select
        return min(n, size)

    def _require(self, field: str, values: Array | None) -> Array:
        if values is None:
            raise ShortlistError(f"{self.name} needs {field}, and the pool has none: pass {field}=…")
        return values

    def _check_lengths(self, pool: Pool) -> int | None:
        """How many items the arrays of the pool are of; None without arrays."""
        arrays = {field: getattr(pool, field) for field in PER_ITEM}
        sizes = {field: int(a.shape[0]) for field, a in arrays.items() if is_array_api_obj(a) and a.ndim}
        if pool.size is not None:
            sizes["size"] = pool.size
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{k} {v}" for k, v in sizes.items())
            raise ShortlistError(f"{self.name}: fields of different lengths: {told}")
        return next(iter(sizes.values()), None)

    def _check_rows(self, field: str, rows: Array | None) -> None:
        if rows is None:
            return
        if field == "probs":
            check_probs(rows)
            return
        wanted = DIMENSIONS.get(field, 2)
        if not is_array_api_obj(rows) or rows.ndim != wanted:
            got = f"shape {tuple(rows.shape)}" if is_array_api_obj(rows) else type(rows).__name__
            raise ShortlistError(f"{self.name}: {field} must be an array of {wanted} dimensions, got {got}")
        xp = array_namespace(rows)
        if not xp.isdtype(rows.dtype, "real floating"):
            raise ShortlistError(f"{self.name}: {field} must be floating point numbers, got {rows.dtype}")
        # the extremes of an array are finite just if all of it is, and need no array of the same size
        if 0 in rows.shape or bool(xp.isfinite(xp.max(rows)) & xp.isfinite(xp.min(rows))):
            return
        finite = xp.all(xp.isfinite(xp.reshape(rows, (rows.shape[0], -1))), axis=1)
        raise ShortlistError(f"{self.name}: {field} row {first_true(~finite)} is not finite")


class Scored(Method):
    @abstractmethod
    def gains(self, batch: Predictions) -> Array:
        """(m,) how much each item of the batch would teach, at least 0.

        >>> from shortlist import LeastConfident
        >>> LeastConfident().gains(Predictions(np.array([[0.75, 0.25], [0.5, 0.5]])))
        array([0.25, 0.5 ])
        """

    def choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        if "samples" in self.needs and pool.samples is not None:
            self._check_rows("samples", pool.samples)
            self._check_lengths(pool)
            if pool.probs is None:  # what an ensemble predicts
                pool = replace(pool, probs=array_namespace(pool.samples).mean(pool.samples, axis=1))
        self._require("probs", pool.probs)
        gains, prices = scan(pool, self._gains, _pricer(value))
        n = self._at_most(n, 0 if gains is None else int(gains.shape[0]))
        if gains is None:
            return np.empty(0, np.int64)
        gains = self._at_least_0(gains)
        return best(self._finite(replace(value, price=_settled(value, prices, self.name, gains.shape[0]))(gains)), n)

    def _gains(self, batch: Predictions) -> Array:
        """What `gains` gives, if it is one number for each item of the batch."""
        gains = as_array(self.gains(batch), "gains")
        wanted = (batch.matrix.shape[0],)
        if is_array_api_obj(gains) and tuple(gains.shape) == wanted:
            return gains
        got = f"an array of shape {tuple(gains.shape)}" if is_array_api_obj(gains) else type(gains).__name__
        raise ShortlistError(
            f"{self.name}: gains has to give one number an item, an array of shape {wanted}, got {got}"
        )

    def _at_least_0(self, gains: Array) -> Array:
        """The gains, if none is below 0 but by rounding."""
        xp = array_namespace(gains)
        if bool(xp.any(gains < -ROUNDING)):
            row = first_true(gains < -ROUNDING)
            raise ShortlistError(
                f"{self.name}: gains have to be at least 0, and item {row} has {float(gains[row]):.6g}"
            )
        return xp.maximum(gains, xp.zeros_like(gains))

    def _finite(self, worth: Array) -> Array:
        xp = array_namespace(worth)
        if not bool(xp.all(xp.isfinite(worth))):
            row = first_true(~xp.isfinite(worth))
            read = " and ".join(sorted({"probs", *self.needs}))
            raise ShortlistError(f"{self.name}: item {row} has no finite score; look at its {read} and its price")
        return worth


class Sequential(Method):
    @abstractmethod
    def pick(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
        """Positions, best first. The pool holds whole arrays for every field in `needs`; 0 < n ≤ its size.

        >>> from shortlist import Saal
        >>> Saal().pick(Pool(losses=np.array([0.1, 2.0, 1.9])), 2, np.random.default_rng(0), Value())
        array([1, 2])
        """

    def choose(self, pool: Pool, n: int, rng: Rng, value: Value) -> Ints:
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
        beside = [name for name in BESIDE if name in self.needs and getattr(pool, name) is None]
        rows, prices, probs, *arrays = scan(
            pool,
            lambda batch: np.full(batch.matrix.shape[0], batch.matrix.shape[1]),  # how many rows, how wide
            pricer,
            (lambda batch: batch.probs) if "probs" in self.needs else None,
            *(partial(self._beside, name) for name in beside),
        )
        size = 0 if rows is None else int(rows.shape[0])
        n_classes = int(rows[0]) if pool.n_classes is None and rows is not None and size else pool.n_classes
        whole = dict(zip(beside, arrays, strict=True))
        return replace(pool, probs=probs, size=size, n_classes=n_classes, **whole), prices

    def _beside(self, name: str, batch: Predictions) -> Array:
        return self._require(name, getattr(batch, name))

    def _check_sizes(self, pool: Pool) -> int:
        """How many items there are, once every field that is needed is there, finite and of one length."""
        for field in sorted(self.needs & set(PER_ITEM)):
            self._require(field, getattr(pool, field))
        size = self._check_lengths(pool)
        if size is None:
            raise ShortlistError(f"{self.name}: an empty pool record; give at least probs or size")
        for field in sorted(self.needs):
            self._check_rows(field, getattr(pool, field))
        for field in sorted(self.needs & {"embeddings", "features"}):
            rows, labelled = getattr(pool, field), getattr(pool, f"labelled_{field}")
            if labelled is not None and labelled.shape[1:] != rows.shape[1:]:
                shapes = f"labelled_{field} {tuple(labelled.shape)} and {field} {tuple(rows.shape)}"
                raise ShortlistError(f"{self.name}: {shapes} must have as many columns as each other")
        return size


def _count(n: Any) -> int:
    """How many items are wanted, if that is a whole number."""
    try:
        return operator.index(n)
    except TypeError:
        share = "; of a share of the pool give round(share * len(pool))" if isinstance(n, float) and 0 < n < 1 else ""
        raise ShortlistError(f"n: need a whole number of items, got {n!r}{share}") from None


def as_pool(pool: Any, arrays: Mapping[str, Any]) -> Pool:
    """A Pool of arrays, from anything that `select` takes; the arrays given by name replace those of a record."""
    record: Pool = pool if isinstance(pool, Pool) else Pool(probs=pool)
    given = {name: getattr(record, name) if values is None else values for name, values in arrays.items()}
    listed = isinstance(record.probs, list | tuple)  # batches, or else an array
    is_stream = listed and (not record.probs or isinstance(record.probs[0], Predictions))
    given["probs"] = None if is_stream else record.probs
    made = {name: as_array(values, name) for name, values in given.items() if values is not None}
    for name in made:  # tensors beside NumPy arrays: all as the probabilities are, or labelled rows as the others
        beside = made.get("probs"), made.get(name.removeprefix("labelled_"))
        made[name] = next((_like(made[name], other) for other in beside if is_array_api_obj(other)), made[name])
    return replace(record, **made)


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


def _pricer(value: Value) -> Take | None:
    price = value.price
    if not callable(price):
        return None
    return price if takes_batches(price) else lambda batch: price(batch.probs)


def _settled(value: Value, prices: Array | None, name: str, size: int) -> Array | None:
    price = prices if callable(value.price) else as_array(value.price, "price")
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
    """Prices, or others, as an array of the gains' own kind, on the same device."""
    xp = array_namespace(gains)
    if not is_array_api_obj(price) or (array_namespace(price) is xp and device(price) == device(gains)):
        return price
    return xp.asarray(to_numpy(price), device=device(gains))
