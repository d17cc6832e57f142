"""How many items a small try takes."""

from __future__ import annotations

from shortlist.types import ShortlistError


def first(wanted: int | None, there: int, *, field: str) -> int:
    """All, or the first so many.

    >>> first(None, 50_000, field="cifar100: items"), first(200, 50_000, field="cifar100: items")
    (50000, 200)
    >>> first(0, 50_000, field="cifar100: items")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: cifar100: items is 0; it has to be from 1 to 50000, or left out for all
    """
    if wanted is None:
        return there
    if not 1 <= wanted <= there:
        raise ShortlistError(f"{field} is {wanted}; it has to be from 1 to {there}, or left out for all")
    return wanted
