"""A real browser for tests: Chromium by Playwright, what a page does wrong, and axe-core's judgement of it.

Where there is none, tests are skipped and say why; with SHORTLIST_REQUIRE_BROWSER=1, as in CI, they fail instead.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOUND = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"  # the shell takes half the processor time
CHROMIUM = Path(os.environ.get("SHORTLIST_CHROMIUM", FOUND))
QUIET = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run")
TROUBLE = ("Content Security Policy", "Uncaught")

PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 740},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}


@contextmanager
def opened_browser() -> Iterator[Browser]:
    require_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=list(QUIET))
        yield browser
        browser.close()


def require_browser() -> None:
    require_module("playwright")
    if not CHROMIUM.exists():
        do_without(
            f"no browser at {CHROMIUM}: install Debian's chromium-headless-shell or chromium, or set SHORTLIST_CHROMIUM"
        )


def require_module(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        do_without(f"{name} is not installed")


def do_without(why: str) -> None:
    """Skip the test, unless a browser is required."""
    if os.environ.get("SHORTLIST_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{why} (SHORTLIST_REQUIRE_BROWSER is 1)", pytrace=False)
    pytest.skip(why)


def heed(page: Page, troubles: list[str]) -> None:
    """Write down what goes wrong in a page: errors, and scripts that its policy has stopped."""
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if _is_trouble(said.text) else None)


def _is_trouble(text: str) -> bool:
    return any(words in text for words in TROUBLE)


def overflow(page: Page) -> int:
    """By how many pixels a page is wider than its screen."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider


def faults(page: Page, *impacts: str) -> list[str]:
    """What axe-core finds wrong with a page, of these impacts: serious and critical, unless said otherwise."""
    require_module("axe_playwright_python")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{fault['impact']} {fault['id']}: {node['html'][:120]} {node['failureSummary'][:300]}"
        for fault in found
        if fault["impact"] in (impacts or ("serious", "critical"))
        for node in fault["nodes"]
    ]
