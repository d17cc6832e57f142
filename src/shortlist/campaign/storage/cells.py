"""Which cell of a campaign's database only a hand, or a broken disk, can have written.

Looked for where reading has failed, and nowhere else: it reads everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any, TypeAlias, get_args

import sqlalchemy as sa

from shortlist.campaign.storage.database import Unwritable
from shortlist.types import AnswerKind, Purpose, Round

Fits: TypeAlias = Callable[[Any], bool]
COUNTED = ("items", "classes")  # tables whose rows others point to by their number


def wrong_cell(engine: Any) -> str | None:
    """Where it stands and what is in it; None if all cells are such as are written here.

    >>> engine = sa.create_engine("sqlite://")
    >>> with engine.connect() as c:
    ...     _ = c.exec_driver_sql("CREATE TABLE meta (key, value)")
    ...     _ = c.exec_driver_sql("INSERT INTO meta VALUES ('draws', 'many')")
    ...     next(wrong_in(c, "meta", {"value": lambda cell: cell.isdecimal()}))
    "meta: value is 'many'"
    """
    try:
        with engine.connect() as c:
            items, classes = (c.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar() for name in COUNTED)
            found = (wrong for table, fits in cells_of(items, classes).items() for wrong in wrong_in(c, table, fits))
            return next(found, None)
    except Unwritable as error:  # text that is no UTF-8
        return error.why


def wrong_in(c: sa.Connection, table: str, fits: Mapping[str, Fits]) -> Iterator[str]:
    for row in c.exec_driver_sql(f"SELECT {', '.join(fits)} FROM {table}"):  # as they are, not as SQLAlchemy reads them
        for (column, fit), cell in zip(fits.items(), row, strict=True):
            if not fit(cell):
                yield f"{table}: {column} is {cell!r:.60}"


def cells_of(n_items: int, n_classes: int) -> dict[str, dict[str, Fits]]:
    """By table and column, what may stand in a cell."""
    item, cls = _from(0, n_items - 1), _from(0, n_classes - 1)
    return {
        "meta": {"key": _is_text, "value": _is_text},
        "items": {"id": item, "key": _is_text, "added_in": _count, "unreadable": _or_null(_is_text)},
        "classes": {"id": cls, "name": _is_text, "active_since": _count},
        "rounds": {
            "number": _count,
            "state": {"calibrating", "asking", "done"}.__contains__,
            "alpha": _or_null(_number),
            "threshold": _or_null(_number),
            "trained_through": _or_null(_count),
            "result": _or_null(_json(_is_result)),
        },
        "questions": {
            "id": _count,
            "round": _count,
            "item": item,
            "purpose": set(get_args(Purpose)).__contains__,
            "classes": lambda cell: isinstance(cell, bytes) and len(cell) % 4 == 0,
            "cuts": _json(_list_of(_from(1, n_classes))),
            "size": _from(1, n_classes),
            "n_classes": _from(1, n_classes),
            "exhaustive": _from(0, 1),
            "rejected": _json(_list_of(cls)),
            "state": {"open", "reserved"}.__contains__,
            "wanted": _from(1, 2**31),
        },
        "answers": {
            "id": _count,
            "question": _count,
            "item": item,
            "person": _is_text,
            "kind": set(get_args(AnswerKind)).__contains__,
            "misses": _from(0, n_classes),
            "label": _or_null(cls),
            "cost": _number,
            "active_seconds": _or_null(_number),
            "wall_seconds": _or_null(_number),
            "supersedes": _or_null(_count),
            "at": _is_text,
            "stage_seconds": _or_null(_json(_list_of(_number))),
            "note": _or_null(_is_text),
            "final": _from(0, 1),
        },
        "events": {"round": _from(-1, 2**31), "step": _is_text, "detail": _is_text},
    }


# --- what a cell may hold --------------------------------------------------------------------------------------


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str)


def _number(cell: Any) -> bool:
    return isinstance(cell, int | float) and isfinite(cell)


def _from(least: int, most: int) -> Fits:
    return lambda cell: isinstance(cell, int) and least <= cell <= most


_count = _from(0, 2**53)


def _or_null(fits: Fits) -> Fits:
    return lambda cell: cell is None or fits(cell)


def _list_of(fits: Fits) -> Fits:
    return lambda cell: isinstance(cell, list) and all(map(fits, cell))


def _json(fits: Fits) -> Fits:
    def holds(cell: Any) -> bool:
        try:
            return fits(json.loads(cell))
        except (ValueError, TypeError, RecursionError):
            return False

    return holds


def _is_result(result: Any) -> bool:
    try:
        Round(**{name: value for name, value in {**result}.items() if name != "percent"})
    except TypeError:
        return False
    return all(isinstance(value, int | float | list | None) for value in result.values())
