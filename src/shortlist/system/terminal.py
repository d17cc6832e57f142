"""What goes to a terminal: no name and no text that came from a file may move its cursor or change its title."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def plain(text: str) -> str:
    """The text with every control character written out, but for line breaks and tabs.

    >>> print(plain("cat\\x1b[31m\\ndog\\u202e"))
    cat\\x1b[31m
    dog\\u202e
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if sign in "\n\t" or not _steers(sign) else ascii(sign)[1:-1] for sign in text)


def _steers(sign: str) -> bool:
    """Control characters, those that turn the direction of writing, and halves of pairs, which are no text."""
    return unicodedata.category(sign) in ("Cc", "Cs") or unicodedata.bidirectional(sign) in _TURNS


_TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def say(text: object = "", *, error: bool = False, flush: bool = False) -> None:
    """A line to the terminal, or to stderr."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout, flush=flush)


def plain_console(**settings: Any) -> Console:
    """A console of rich, for tables and bars, that writes no control character but its own."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        def render(self, *asked: Any, **more: Any) -> Iterable[Segment]:
            for segment in super().render(*asked, **more):
                yield segment if segment.control else Segment(plain(segment.text), segment.style)

    return Plain(**settings)
