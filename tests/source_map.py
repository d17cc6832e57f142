"""The map in docs/ARCHITECTURE.md, made from the first sentence of every file.

`python -m tests.source_map` writes it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import shortlist

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
PLACES = ("src/shortlist", "benchmarks")
BLOCK = re.compile(r"(?<=<!-- map: begin -->\n).*?(?=<!-- map: end -->)", re.DOTALL)


def source_map() -> str:
    """A heading a folder with what the folder is for, and a line a file with its full path."""
    return "".join(_folder(folder) for place in PLACES for folder in _folders(ROOT / place))


def _folders(place: Path) -> list[Path]:
    return sorted({path.parent for path in place.rglob("*.py")})


def _folder(folder: Path) -> str:
    files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    if not files:
        return ""
    package = folder / "__init__.py"
    about = first_sentence(package) if package.exists() else ""
    lines = [f"- `{path.relative_to(ROOT)}`{_public(path)}: {first_sentence(path)}\n" for path in files]
    return f"\n**`{folder.relative_to(ROOT)}/`**{f': {about}' if about else ''}\n\n" + "".join(lines)


def _public(path: Path) -> str:
    """The names that users import from here."""
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts) if path.is_relative_to(ROOT / "src") else ""
    names = [name for name in shortlist.__all__ if shortlist.HOMES[name] == module]
    return f" ({', '.join(f'`{name}`' for name in names)})" if names else ""


def first_sentence(path: Path) -> str:
    """What a file says of itself, or else the first class or function in it that says something.

    >>> first_sentence(ROOT / "tests" / "source_map.py")[:30]
    'The map in docs/ARCHITECTURE.m'
    """
    tree = ast.parse(path.read_text("utf-8"))
    parts = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef))]
    said = next((text for part in parts if (text := ast.get_docstring(part))), "")
    return " ".join(said.split("\n\n")[0].split()).removesuffix(".")


def is_current(page: str) -> bool:
    """Whether the page's map is the one that would be made now."""
    found = BLOCK.search(page)
    return found is not None and found[0] == source_map()


if __name__ == "__main__":
    PAGE.write_text(BLOCK.sub(lambda _: source_map(), PAGE.read_text("utf-8")), "utf-8")
