"""A short name that says what something was made from."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

BLOCK = 1 << 26  # bytes of an array read at once: it may be mapped from a file larger than memory


def digest(*parts: Any) -> str:
    """32 hexadecimal digits that differ where the parts do: texts, numbers, None, arrays, sparse matrices, and
    sequences of these.

    >>> digest("mean", 224, np.arange(3)) == digest("mean", 224, np.arange(3))
    True
    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    hashed = hashlib.sha256()
    for part in parts:
        _add(hashed, part)
    return hashed.hexdigest()[:32]


def _add(hashed: Any, part: Any) -> None:
    # Each part says first what it is and how long, so that no two lists of parts read the same.
    if isinstance(part, str | int | float | None):
        raw = str(part).encode("utf-8", "surrogatepass")
        kind = "text" if isinstance(part, str) else type(part).__name__
        hashed.update(f"{kind} {len(raw)};".encode() + raw)
    elif hasattr(part, "tocsr"):
        rows = part.tocsr()
        _add(hashed, ["sparse", *map(int, rows.shape), rows.data, rows.indices, rows.indptr])
    elif isinstance(part, np.ndarray) and part.dtype.kind not in "OUT":
        _add_array(hashed, part)
    else:
        hashed.update(f"sequence {len(part)};".encode())
        for member in part:
            _add(hashed, member)


def _add_array(hashed: Any, array: np.ndarray[Any, Any]) -> None:
    hashed.update(f"array {array.dtype.str} {array.shape};".encode())
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, BLOCK * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        hashed.update(np.ascontiguousarray(rows[start : start + step]))
