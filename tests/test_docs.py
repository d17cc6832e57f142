"""Pages stay true: the map names every file, the changelog every public name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

import shortlist
from shortlist.cli import app

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
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


PAGES = ("README.md", "docs/LABELLING.md", "CONTRIBUTING.md")
SHOWN = sorted(
    {found for page in PAGES for found in re.findall(r"shortlist (\w+)([^`\n#]*)", (ROOT / page).read_text())}
)


@pytest.mark.parametrize(("verb", "rest"), [pair for pair in SHOWN if pair[0] in VERBS])
def test_every_option_that_a_page_shows_is_there(verb: str, rest: str) -> None:
    known = {name for option in VERBS[verb].params for name in (*option.opts, *option.secondary_opts)}
    assert set(re.findall(r"(?<!\S)--[a-z][\w-]*", rest)) <= known


def test_the_pages_show_every_verb() -> None:
    shown = {verb for verb, _ in SHOWN}
    assert VERBS.keys() - shown == {"work"}  # label starts it


def test_the_map_and_readme_lead_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in readme] == []
