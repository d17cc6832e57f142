"""What people can read and see of the classes: guidelines, descriptions, and example items."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from shortlist.campaign.view import View
from shortlist.datasets.classes import SHOWN, TEXTS
from shortlist.types import Dataset, ShortlistError
from shortlist.web import items
from shortlist.web.items import Unreadable, redrawn

LINE = 300  # characters of a description that stand beside a class
EXCERPT = 600  # characters of a text that is an example
LONGEST = 256 << 10  # bytes of guidelines
EDGE = 320  # pixels of a picture that is an example
KEPT = 200  # pictures


class Guide:
    """The guide of a campaign: `guidelines` are a file of text, what the dataset knows of its classes the rest."""

    def __init__(self, view: View, dataset: Dataset, guidelines: Path | None = None) -> None:
        self.view, self.dataset, self.path = view, dataset, guidelines
        self.descriptions = getattr(dataset, "descriptions", None) or {}
        self.examples = getattr(dataset, "examples", None) or {}
        self._drawing = threading.Lock()  # one at a time: a picture may be large
        self._drawn: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        if guidelines is not None:
            read_guidelines(guidelines, view.folder)  # a file that is not there is to be noticed at the start

    @cached_property
    def classes(self) -> dict[str, Any]:
        """The names, and beside each the beginning of its description; no list of them where there is none."""
        names = list(self.dataset.classes)
        lines = [first_line(self.descriptions.get(name, "")) for name in names] if self.descriptions else []
        return {"names": names, "about": lines}

    def page(self, classes: Sequence[int]) -> dict[str, Any]:
        """The guidelines, and of each of these classes its description and some examples."""
        wanted = [cls for cls in dict.fromkeys(classes) if 0 <= cls < len(self.dataset.classes)]
        labelled = self._labelled([cls for cls in wanted if self.dataset.classes[cls] not in self.examples])
        return {
            "guidelines": self._guidelines(),
            "classes": [{"cls": cls, **self._about(cls, labelled.get(cls, []))} for cls in wanted],
        }

    def _guidelines(self) -> dict[str, Any] | None:
        if self.path is None:
            return None
        try:
            text = read_guidelines(self.path, self.view.folder)
        except ShortlistError as error:
            return {"text": f"{error}.", "markdown": False}
        return {"text": text, "markdown": self.path.suffix.lower() == ".md"}

    def _about(self, cls: int, labelled: Sequence[int]) -> dict[str, Any]:
        name = self.dataset.classes[cls]
        given = [
            {"kind": "text", "text": example[:EXCERPT], "key": None}
            if isinstance(example, str)
            else {"kind": "image", "src": f"/api/classes/{cls}/examples/{n}", "key": None}
            for n, example in enumerate(self.examples.get(name, ()))
        ]
        seen = [_excerpt(items.view(self.dataset, position)) for position in labelled]
        return {"description": self.descriptions.get(name), "examples": given or seen, "labelled": not given}

    def _labelled(self, classes: Sequence[int]) -> dict[int, list[int]]:
        """Positions of items that somebody has given these classes: one more than is shown, as one may be asked now."""
        ids = self.view.ids
        own = {ids.own_class(cls): cls for cls in classes}
        found = self.view.items_labelled(own, SHOWN + 1)
        return {own[cls]: [int(ids.positions[item]) for item in items] for cls, items in found.items()}

    def picture(self, cls: int, n: int) -> bytes:
        """An example that is an image, as a small PNG."""
        if kept := self._drawn.get((cls, n)):
            return kept
        name = self.dataset.classes[cls] if 0 <= cls < len(self.dataset.classes) else None
        examples = self.examples.get(name, ())
        if not 0 <= n < len(examples) or isinstance(path := examples[n], str):
            raise Unreadable(f"class {cls}: there is no such picture")
        with self._drawing:
            drawn = self._drawn[cls, n] = small(path)
            while len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        return drawn


def first_line(description: str) -> str:
    """What stands beside a class.

    >>> first_line("A small cat.\\nWith stripes."), len(first_line("x" * 1000))
    ('A small cat. With stripes.', 300)
    """
    line = " ".join(description.split())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"


def _excerpt(view: dict[str, Any]) -> dict[str, Any]:
    return {**view, "text": view["text"][:EXCERPT]} if view["kind"] == "text" else view


def small(path: Path) -> bytes:
    """Drawn anew, so that nothing but a picture can be shown, and never what a link has come to lead to."""
    if path.resolve() != path or not path.is_file():
        raise Unreadable(f"{path.name}: it is no longer the file that it was")
    return redrawn(path, EDGE)


def read_guidelines(path: Path, home: Path) -> str:
    """The text of the file, if that is what it is: a campaign's folder that somebody sent may name any file."""
    file, known = path.resolve(), set(home.resolve().parts)
    hidden = any(part.startswith(".") for part in (path.name, *(part for part in file.parts if part not in known)))
    if path.suffix.lower() not in TEXTS or file.suffix.lower() not in TEXTS or hidden:
        raise ShortlistError(f"guidelines: {path} is no .md or .txt file that may be shown to people")
    try:
        if not file.is_file():
            raise ShortlistError(f"guidelines: there is no file {path}")
        if file.stat().st_size > LONGEST:
            raise ShortlistError(f"guidelines: {path} is larger than {LONGEST >> 10} KB, more than anybody reads")
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ShortlistError(f"guidelines: {path} cannot be read as text (UTF-8): {error}") from None
