"""What a matrix of probabilities must be, what is taken for one, and what is done to one everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array

from shortlist.types import Array, Rng, ShortlistError

# --- what is taken for an array --------------------------------------------------------------------------------


def as_array(values: Any, name: str = "values") -> Any:
    """Lists, and frames and series of pandas or polars, as NumPy arrays; arrays and anything else as they are.

    >>> as_array([[0.5, 0.5]])
    array([[0.5, 0.5]])
    """
    if is_array_api_obj(values):
        return values.detach() if getattr(values, "requires_grad", False) else values
    if hasattr(values, "to_numpy"):  # what pandas, polars and pyarrow have in common
        values = values.to_numpy()
    elif not isinstance(values, list | tuple) and not hasattr(values, "__array__"):
        return values
    try:
        return np.asarray(values, order="C")  # sums along rows round as they do of any other array
    except (TypeError, ValueError) as error:
        raise ShortlistError(f"{name}: the rows do not make an array: {error}") from None


def as_rng(rng: Any) -> Rng:
    """A generator as it is, or the one that a whole number seeds.

    >>> int(as_rng(0).integers(100)) == int(np.random.default_rng(0).integers(100))
    True
    """
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    if not isinstance(rng, np.random.Generator):
        raise ShortlistError(f"rng: need np.random.default_rng(seed), or a whole number as its seed, got {rng!r}")
    return rng


# --- probabilities and labels ----------------------------------------------------------------------------------

TOLERANCE = 1e-3  # how far a row's sum may be from 1: room for float16 softmax and for files rounded to 4 digits


def check_probs(probs: Array, name: str = "probs", *, first: int = 0) -> Array:
    """The probabilities as an array, or a sentence saying which row is wrong and how. Rows count from `first`.

    >>> import numpy as np
    >>> check_probs(np.array([[0.5, 0.5], [0.5, np.nan]]))
    Traceback (most recent call last):
        ...
    shortlist.types.ShortlistError: probs: row 1 holds NaN; every probability must be a number from 0 to 1
    """
    probs = check_matrix(probs, name)
    xp = array_namespace(probs)
    if probs.shape[0] == 0:
        return probs
    # NaN fails every comparison, so two reductions find every fault; the rest runs only to name the row
    sums = _row_sums(probs)
    right = xp.abs(sums - 1) <= max(TOLERANCE, float(xp.finfo(probs.dtype).eps))
    if bool(xp.all(right)) and bool(xp.min(probs) >= -1e-6):
        return probs
    nan = xp.any(xp.isnan(probs), axis=1)
    if bool(xp.any(nan)):
        raise ShortlistError(
            f"{name}: row {first + first_true(nan)} holds NaN; every probability must be a number from 0 to 1"
        )
    negative = xp.min(probs, axis=1) < -1e-6
    if bool(xp.any(negative)):
        row = first + first_true(negative)
        raise ShortlistError(f"{name}: row {row} holds a negative number; give probabilities, not logits")
    row = first_true(~right)
    total = f"{float(sums[row]):.6g}"
    raise ShortlistError(
        f"{name}: row {first + row} sums to {total}, not 1; divide rounded numbers and counts by the row sums "
        "(probs / probs.sum(axis=1, keepdims=True)), and give the softmax of logits"
    )


def check_matrix(probs: Array, name: str = "probs") -> Array:
    """The probabilities as an array, if they look like some from far away: a matrix of floating point numbers."""
    probs = as_array(probs, name)
    if not is_array_api_obj(probs) or probs.ndim != 2 or probs.shape[1] < 1:
        raise ShortlistError(f"{name}: need a matrix (items, classes), got {_shape(probs)}")
    if not array_namespace(probs).isdtype(probs.dtype, "real floating"):
        raise ShortlistError(f"{name}: need floating point numbers, got {probs.dtype}; give {name}.astype(float)")
    return probs


def _row_sums(probs: Array) -> Array:
    xp = array_namespace(probs)
    if probs.dtype.itemsize < 4:
        return xp.sum(probs, axis=1, dtype=xp.float32)  # 16 bits can not count to 1,000 classes
    # NumPy's sum along short rows takes four times as long as its einsum
    return np.einsum("ij->i", probs) if is_numpy_array(probs) else xp.sum(probs, axis=1)


def first_true(wrong: Array) -> int:
    """The first place where it is."""
    xp = array_namespace(wrong)
    return int(xp.argmax(xp.astype(wrong, xp.int64)))


def check_labels(labels: Array, n: int, n_classes: int, name: str = "labels") -> Array:
    """Labels as an array: one whole number per row, each a column of the probabilities."""
    labels = np.empty(0, np.int64) if isinstance(labels, list | tuple) and not labels else as_array(labels, name)
    if not is_array_api_obj(labels) or tuple(labels.shape) != (n,):
        raise ShortlistError(f"{name}: need {n} labels, one per row of the probabilities, got {_shape(labels)}")
    xp = array_namespace(labels)
    if not xp.isdtype(labels.dtype, "integral"):
        how = "of class names give the columns: [classes.index(label) for label in labels]"
        if xp.isdtype(labels.dtype, ("numeric", "bool")):
            how = f"leave out rows without a label, and give {name}.astype(int)"
        raise ShortlistError(f"{name}: need whole numbers from 0 to {n_classes - 1}, got {labels.dtype}; {how}")
    wrong = (labels < 0) | (labels >= n_classes)
    if n and bool(xp.any(wrong)):
        row = first_true(wrong)
        raise ShortlistError(
            f"{name}: row {row} names class {int(labels[row])}; there are {n_classes} (0 to {n_classes - 1})"
        )
    return labels


def check_labelled(name: str, probs: Array, labels: Array) -> tuple[Array, Array]:
    """What a query learns from, checked: at least one item, each with its label, beside its probabilities."""
    probs = check_probs(probs)
    labels = check_labels(labels, probs.shape[0], probs.shape[1])
    if probs.shape[0] == 0:
        raise ShortlistError(f"{name}: no labelled item to calibrate on")
    return probs, array_namespace(probs).asarray(labels, device=device(probs))


def _shape(thing: Array) -> object:
    return tuple(thing.shape) if is_array_api_obj(thing) else type(thing).__name__


def count_true(mask: Array) -> Array:
    """(n,) how many are true in each row."""
    xp = array_namespace(mask)
    if not is_numpy_array(mask):
        return xp.count_nonzero(mask, axis=1)
    # NumPy counts along rows in 64 bits; in 16 it is twice as fast for 100 classes, four times for 1,000
    narrow = np.uint16 if mask.shape[1] < 1 << 16 else np.int64
    return np.add.reduce(mask.view(np.uint8), axis=1, dtype=narrow).astype(np.int64)


def ranking(probs: Array) -> Array:
    """(n, L) classes, most probable first, ties by class index.

    >>> import numpy as np
    >>> ranking(np.array([[0.2, 0.4, 0.4]]))
    array([[1, 2, 0]])
    """
    xp = array_namespace(probs)
    return xp.argsort(-probs, axis=1, stable=True)


def before(probs: Array, classes: Array) -> Array:
    """(n, L) which classes of each item stand before one of them in `ranking`: the more probable, ties by index.

    >>> import numpy as np
    >>> before(np.array([[0.2, 0.4, 0.4]]), np.array([2]))
    array([[False,  True, False]])
    """
    xp = array_namespace(probs)
    classes = xp.asarray(classes, dtype=xp.int64, device=device(probs))[:, None]
    own = xp.take_along_axis(probs, classes, axis=1)
    index = xp.arange(probs.shape[1], device=device(probs))[None, :]
    return (probs > own) | ((probs == own) & (index < classes))


def align(probs: Array, present: Iterable[Any], classes: Iterable[Any]) -> Array:
    """(n, L) probabilities with a column for each of `classes`, in their order; 0 for those not `present`.

    An estimator has columns for the classes it has learnt from alone, in an order of its own: those of `classes_`.

    Parameters
    ----------
    probs : (n, k) what the estimator gives.
    present : (k,) the class of each of its columns, as `estimator.classes_` says.
    classes : (L,) all classes, in the order of the labels.

    >>> align([[0.75, 0.25]], ["dog", "cat"], ["cat", "cow", "dog"])
    array([[0.25, 0.  , 0.75]])
    """
    probs = check_matrix(probs)
    names, columns = (listed.tolist() if hasattr(listed, "tolist") else list(listed) for listed in (classes, present))
    place = {name: column for column, name in enumerate(names)}
    for field, those in (("classes", names), ("present", columns)):
        if len(set(those)) < len(those):
            twice = next(name for name in those if those.count(name) > 1)
            raise ShortlistError(f"align: {field} has {twice!r} twice")
    if len(columns) != probs.shape[1]:
        raise ShortlistError(f"align: probs has {probs.shape[1]} columns, and present names {len(columns)} classes")
    if lost := [name for name in columns if name not in place]:
        raise ShortlistError(f"align: {lost[0]!r} is present and not among classes ({', '.join(map(repr, names[:5]))})")
    xp = array_namespace(probs)
    whole = xp.zeros((probs.shape[0], len(names)), dtype=probs.dtype, device=device(probs))
    whole[:, xp.asarray([place[name] for name in columns], dtype=xp.int64, device=device(probs))] = probs
    return whole


def without(probs: Array, rejected: Array) -> Array:
    """Probabilities with the rejected classes taken out and the rest renormalised (uniform if no mass is left).

    >>> import numpy as np
    >>> without(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]), np.array([[True, False, False]] * 2))
    array([[0. , 0.5, 0.5],
           [0. , 0.5, 0.5]])
    """
    xp = array_namespace(probs)
    closed = xp.all(rejected, axis=1)
    if bool(xp.any(closed)):
        raise ShortlistError(
            f"rejected: row {first_true(closed)} rules every class out; an item needs one that may be true"
        )
    kept = xp.where(rejected, xp.zeros_like(probs), probs)
    total = xp.sum(kept, axis=1, keepdims=True)
    open_ = xp.astype(~rejected, probs.dtype)
    uniform = open_ / xp.sum(open_, axis=1, keepdims=True)
    return xp.where(total > 0, kept / xp.where(total > 0, total, xp.ones_like(total)), uniform)


def tempered(probs: Array, temperature: float) -> Array:
    """p^(1/T)/Z, in the kind of number that it came in."""
    if temperature == 1:
        return probs
    xp = array_namespace(probs)
    raised = xp.clip(probs / xp.max(probs, axis=1, keepdims=True), 0.0, None) ** (1 / temperature)
    return raised / xp.sum(raised, axis=1, keepdims=True)
