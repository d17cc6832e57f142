"""A label that a file gives for an item, checked as far as the file alone allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shortlist.types import ShortlistError


class Given(NamedTuple):
    at: str  # "labels.csv: row 3"
    key: str
    label: str
    person: str | None
    seconds: float | None


def given(at: str, key: Any, label: Any, person: Any = None, seconds: Any = None) -> Given | None:
    """One row of a file; None if it has no label."""
    if _is_empty(label):
        return None
    if _is_empty(key):
        raise ShortlistError(f"{at}: there is a label ({label!r}) and no key that says of which item")
    who = None if _is_empty(person) else _text(at, "person", person)
    return Given(at, _text(at, "key", key), _text(at, "label", label), who, _seconds(at, seconds))


def check_columns(path: Path, names: Sequence[str]) -> None:
    for name in ("key", "label"):
        if name not in names:
            there = ", ".join(map(repr, names)) or "none"
            raise ShortlistError(f"{path}: there is no column {name!r}; the columns are {there}")


def _is_empty(value: Any) -> bool:
    return value is None or value == ""


def _text(at: str, what: str, value: Any) -> str:
    """A name; numbers are names too, as a column of them is read as numbers."""
    if isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ShortlistError(f"{at}: {what} is {value!r}, which is no text")


def _seconds(at: str, value: Any) -> float | None:
    if _is_empty(value):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, bool) or not math.isfinite(seconds) or seconds < 0:
        raise ShortlistError(f"{at}: seconds is {value!r}, which is no time")
    return seconds


def only(at: str, labels: Any) -> Any:
    """The one label of a list; None if it is empty."""
    if not isinstance(labels, list):
        return labels
    if len(labels) > 1:
        raise ShortlistError(f"{at}: {len(labels)} labels ({labels!r}); an item has one")
    return labels[0] if labels else None


def without_repeats(rows: Iterable[Given]) -> list[Given]:
    """Each item once; a file that says two things about one is refused."""
    first: dict[str, Given] = {}
    for row in rows:
        before = first.setdefault(row.key, row)
        if before.label != row.label:
            raise ShortlistError(
                f"{row.at} says that {row.key!r} is {row.label!r}, and {before.at} that it is {before.label!r}; "
                "keep one of them"
            )
    return list(first.values())
