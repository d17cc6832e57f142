"""Without a browser the tests that need one are skipped and say why; where one is required, they fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web import chromium


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright")
    monkeypatch.setattr(chromium, "CHROMIUM", Path("/nowhere/chromium"))
    monkeypatch.delenv("SHORTLIST_REQUIRE_BROWSER", raising=False)


@pytest.mark.usefixtures("no_browser")
def test_without_a_browser_it_is_skipped_and_says_why() -> None:
    with pytest.raises(pytest.skip.Exception, match="no browser at /nowhere/chromium: install Debian's chromium"):
        chromium.require_browser()


@pytest.mark.usefixtures("no_browser")
def test_a_browser_that_is_required_and_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="no browser at /nowhere/chromium"):
        chromium.require_browser()


def test_a_module_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHORTLIST_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no_such_module is not installed"):
        chromium.require_module("no_such_module")
