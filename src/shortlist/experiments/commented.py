"""TOML that explains itself: a comment above every setting."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shortlist.campaign.config import to_toml

WIDTH = 110


@dataclass(frozen=True)
class Setting:
    """A value and what it does; an `example` is written as a comment too, for whoever may want it."""

    key: str
    value: Any
    why: str
    example: bool = False

    def lines(self) -> str:
        written = to_toml({self.key: self.value})
        return comment(self.why) + (f"# {written}" if self.example else written)


def comment(text: str) -> str:
    """
    >>> print(comment("one"), end="")
    # one
    """
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, WIDTH))


def document(head: Sequence[str], settings: Sequence[Setting], tables: Mapping[str, Sequence[Setting]]) -> str:
    """
    >>> end = Setting("rounds", 9, "The end.", example=True)
    >>> print(document(["A try."], [Setting("seed", 0, "Any number.")], {"stop": [end]}))
    # A try.
    <BLANKLINE>
    # Any number.
    seed = 0
    <BLANKLINE>
    [stop]
    # The end.
    # rounds = 9
    <BLANKLINE>
    """
    plain = "\n".join(setting.lines() for setting in settings)
    below = [f"[{name}]\n" + "\n".join(s.lines() for s in table) for name, table in tables.items()]
    return "\n".join(["".join(map(comment, head)), plain, *below])
