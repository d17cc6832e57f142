"""Every public name is there, and the list for type checkers says the same as the one that imports."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import shortlist

SOURCE = Path(shortlist.__file__ or "").read_text()


def typed_names() -> dict[str, str]:
    imports = [node for node in ast.walk(ast.parse(SOURCE)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if (node.module or "").startswith("shortlist.")]
    return {alias.name: (node.module or "").removeprefix("shortlist.") for node in ours for alias in node.names}


def test_both_lists_agree() -> None:
    assert typed_names() == {name: module for module, names in shortlist.HOMES.items() for name in names}


@pytest.mark.parametrize("name", shortlist.__all__)
def test_every_name_imports(name: str) -> None:
    assert getattr(shortlist, name).__module__.startswith("shortlist.")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        shortlist.Nonsense  # noqa: B018
