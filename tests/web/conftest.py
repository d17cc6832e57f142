"""What the tests in a browser share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.chromium import opened_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Picture = Callable[..., None]


@pytest.fixture(scope="module")  # not longer: while it lives, nothing else in this process can run an event loop
def browser() -> Iterator[Browser]:
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def picture() -> Picture:
    """Keep a picture of what is on the screen in SHORTLIST_SCREENSHOTS; without that, none is taken."""
    folder = os.environ.get("SHORTLIST_SCREENSHOTS")

    def take(page: Page, name: str, *, whole: bool = False) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", full_page=whole)

    return take
