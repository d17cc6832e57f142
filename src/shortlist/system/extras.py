"""What an extra of the package brings, and the sentence that asks for it."""

from __future__ import annotations

from importlib.util import find_spec

from shortlist.types import ShortlistError


def require(*modules: str, extra: str) -> None:
    """Refuse by a sentence that says what to install.

    >>> require("numpy", extra="images")
    >>> require("no_such_module", extra="images")
    Traceback (most recent call last):
    ...
    shortlist.types.ShortlistError: no_such_module is not installed; run: pip install 'shortlist-al[images]'
    """
    for module in modules:
        if find_spec(module) is None:
            raise ShortlistError(f"{module} is not installed; run: pip install 'shortlist-al[{extra}]'")
