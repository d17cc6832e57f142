"""The labelling page before a server that only knows the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.chromium import heed
from tests.web.page.stub import World, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Serve a world and open its page; errors of the page fail the test."""
    troubles: list[str] = []
    with ExitStack() as stack:

        def open_page(world: World, wait_for: str = "#question[data-ready=true]", **context: Any) -> Page:
            address = stack.enter_context(serving(world))
            window = browser.new_context(**context)
            stack.callback(window.close)
            page = window.new_page()
            page.set_default_timeout(20_000)
            heed(page, troubles)
            page.goto(address)
            if wait_for:
                page.wait_for_selector(wait_for)
            return page

        yield open_page
    assert troubles == []
