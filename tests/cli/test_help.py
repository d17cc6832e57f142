"""The command line teaches: every verb has an example, and README names every verb."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shortlist import __version__
from tests.cli.command import Command

VERBS = ["demo", "run", "report", "results", "compare", "sets", "export"]
README = Path(__file__).parents[2] / "README.md"


def test_the_first_page_names_every_verb(shortlist: Command) -> None:
    got = shortlist("--help")
    assert got.code == 0
    assert all(verb in got.out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(shortlist: Command, verb: str) -> None:
    got = shortlist(verb, "--help")
    assert got.code == 0
    assert verb == "demo" or "Example: shortlist" in got.out
    assert verb not in ("run", "report", "sets") or "(Default: " in got.out  # square brackets would be taken for markup


@pytest.mark.parametrize("verb", VERBS)
def test_readme_names_every_verb(verb: str) -> None:
    assert f"shortlist {verb}" in README.read_text()


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
