"""Pages stay true: the map names every file, the changelog every public name."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
FILES = sorted(p for p in (ROOT / "src" / "shortlist").rglob("*.py") if p.name != "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_the_map_names_every_file(path: Path) -> None:
    assert path.name in MAP


def test_the_map_names_no_file_that_is_not_there() -> None:
    there = {p.name for p in ROOT.rglob("*.py") if ".venv" not in p.parts}
    named = {word.strip("`,:").split("/")[-1] for word in MAP.split() if word.strip("`,:.").endswith(".py")}
    assert named <= there


@pytest.mark.parametrize("name", [n for n in shortlist.__all__ if n[0].isupper()])
def test_every_public_part_is_in_a_page(name: str) -> None:
    pages = "".join((ROOT / page).read_text() for page in ("README.md", "CHANGELOG.md", "docs/ARCHITECTURE.md"))
    assert name in pages
