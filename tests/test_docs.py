"""Pages stay true: the map names every file, the changelog every public name."""

from __future__ import annotations

import re

import typer

import shortlist
from shortlist.cli import app
from tests.cases import in_turn
from tests.source_map import PAGE, ROOT, first_sentence, is_current

VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_the_map_names_every_file_by_its_path_as_it_describes_itself() -> None:
    assert is_current(PAGE.read_text()), "write it again: python -m tests.source_map"


def test_every_file_says_what_it_is() -> None:
    assert [str(path) for path in (ROOT / "src").rglob("*.py") if not first_sentence(path)] == []


@in_turn("name", [n for n in shortlist.__all__ if n[0].isupper()])
def test_every_public_part_is_in_a_page(name: str) -> None:
    pages = "".join((ROOT / page).read_text() for page in ("README.md", "CHANGELOG.md"))
    assert name in pages


PAGES = ("README.md", "docs/LABELLING.md", "CONTRIBUTING.md")
SHOWN = sorted(
    {found for page in PAGES for found in re.findall(r"shortlist (\w+)([^`\n#]*)", (ROOT / page).read_text())}
)


@in_turn(("verb", "rest"), [pair for pair in SHOWN if pair[0] in VERBS])
def test_every_option_that_a_page_shows_is_there(verb: str, rest: str) -> None:
    known = {name for option in VERBS[verb].params for name in (*option.opts, *option.secondary_opts)}
    assert set(re.findall(r"(?<!\S)--[a-z][\w-]*", rest)) <= known


def test_the_pages_show_every_verb() -> None:
    shown = {verb for verb, _ in SHOWN}
    assert VERBS.keys() - shown == {"work"}  # label starts it


def test_the_map_and_readme_lead_to_every_page() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"docs/{page.name}" not in readme] == []
