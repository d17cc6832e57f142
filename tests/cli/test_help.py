"""The command line teaches: every verb has an example, and README names every verb."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from shortlist import __version__
from shortlist.cli import app
from tests.cli.command import Command

VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
STARTED_BY_LABEL = {"work"}
README = Path(__file__).parents[2] / "README.md"


def test_the_first_page_names_every_verb(shortlist: Command) -> None:
    got = shortlist("--help")
    assert got.code == 0
    assert [line for verb in VERBS if not re.search(line := rf"^│ {verb} ", got.out, re.MULTILINE)] == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(shortlist: Command, verb: str) -> None:
    got = shortlist(verb, "--help")
    assert got.code == 0
    assert verb == "demo" or f"Example: shortlist {verb} " in got.out
    options = [option for option in VERBS[verb].params if option.name != "help"]
    assert [name for option in options for name in option.opts if name.startswith("-") and name not in got.out] == []
    said = sum((getattr(option, "help", "") or "").count("(Default:") for option in options)
    assert got.out.count("(Default:") == said  # square brackets would be taken for markup


def test_readme_names_every_verb() -> None:
    readme = README.read_text()
    assert [verb for verb in VERBS.keys() - STARTED_BY_LABEL if f"shortlist {verb}" not in readme] == []


def test_the_version(shortlist: Command) -> None:
    got = shortlist("--version")
    assert (got.code, got.out) == (0, f"shortlist {__version__}\n")


def test_help_and_import_load_nothing_heavy() -> None:
    code = """
import sys, shortlist
sys.argv = ["shortlist", "--help"]
try:
    from shortlist.cli import main; main()
except SystemExit:
    pass
heavy = {"scipy", "sklearn", "sqlalchemy", "torch", "transformers", "polars", "altair", "pyarrow"} & set(sys.modules)
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
