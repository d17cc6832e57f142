"""Names in a text file: of classes, or the keys of items."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.types import ShortlistError


@dataclass(frozen=True)
class NameFile:
    """What a file lists, one name a line or a JSON list, with a way to say where a name stands.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "classes.txt"
    ...     _ = path.write_text("cat\\ndog\\n\\n")
    ...     NameFile.read(path).classes()
    ('cat', 'dog')
    """

    path: Path
    names: tuple[str, ...]
    unit: str = "line"  # what is counted, from 1: an editor shows lines so

    @classmethod
    def read(cls, path: str | Path) -> NameFile:
        """Blanks around a name and empty lines at the end do not count."""
        place = Path(path)
        text = _text(place)
        if (listed := _json_list(place, text)) is not None:
            return cls(place, tuple(_entry(place, i, name) for i, name in enumerate(listed)), "entry")
        lines = [line.strip() for line in text.rstrip().split("\n")]
        return cls(place, tuple(lines) if lines != [""] else ())

    def at(self, index: int) -> str:
        return f"{self.path}, {self.unit} {index + 1}"

    def distinct(self, what: str) -> tuple[str, ...]:
        """The names, none of them empty and no two the same."""
        first: dict[str, int] = {}
        for index, name in enumerate(self.names):
            if not name:
                raise ShortlistError(f"{self.at(index)}: the {what} is empty")
            if any("\ud800" <= sign <= "\udfff" for sign in name):
                raise ShortlistError(f"{self.at(index)}: {name!a} is no text; write it anew")
            if name in first:
                twice = f"{self.unit} {first[name] + 1} and {self.unit} {index + 1}"
                raise ShortlistError(f"{self.path}: {twice} are both the {what} {name!r}")
            first[name] = index
        return self.names

    def classes(self) -> tuple[str, ...]:
        if not self.names:
            raise ShortlistError(f"{self.path}: there are no names in it; write one class a line")
        if len(self.distinct("class")) < 2:
            raise ShortlistError(f"{self.path}: there is only the class {self.names[0]!r}; at least 2 are needed")
        return self.names


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise ShortlistError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ShortlistError(f"{path}: cannot be read as text (UTF-8): {error}") from None


def _json_list(path: Path, text: str) -> list[Any] | None:
    """None where the file is plain lines, of which the first may well be "[other]"."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        if path.suffix == ".json":
            raise ShortlistError(f"{path}: cannot be read as JSON: {error}") from None
        return None
    if isinstance(found, list):
        return found
    if path.suffix == ".json":
        raise ShortlistError(f"{path}: a JSON list of names is wanted, not a {type(found).__name__}")
    return None


def _entry(path: Path, index: int, name: Any) -> str:
    if isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return str(name).strip()
    raise ShortlistError(f"{path}, entry {index + 1}: {name!r} is not a name")
