"""Every public name is there, in the module that `__init__.pyi` says."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from tests.cases import in_turn


@in_turn("name", shortlist.__all__)
def test_every_name_imports(name: str) -> None:
    assert getattr(shortlist, name).__module__ == shortlist.HOMES[name]


def test_every_name_is_listed_once() -> None:
    stub = Path(shortlist.__file__ or "").with_suffix(".pyi").read_text()
    assert len(shortlist.__all__) == stub.count("\nfrom shortlist") > 40


def test_a_name_that_is_not_there() -> None:
    name = "Nonsense"
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        getattr(shortlist, name)
