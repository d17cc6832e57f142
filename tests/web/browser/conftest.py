"""The real command, and people who come to it with a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from shortlist.web.security import COOKIE
from tests.web.browser.campaigns import add_person, letters
from tests.web.browser.labelling import PATIENCE, Labelling
from tests.web.browser.seat import Seat
from tests.web.chromium import heed, require_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Sit = Callable[..., Seat]


@pytest.fixture
def sit(browser: Browser) -> Iterator[Sit]:
    """Open a page of a served campaign in a window of its own, as somebody or nobody; errors in it fail the test."""
    troubles: list[str] = []
    with ExitStack() as stack:

        def opened(served: Labelling, path: str = "/", person: str | None = None, **context: Any) -> Seat:
            window = browser.new_context(base_url=served.address, **context)
            stack.callback(window.close)
            if person is not None:
                token = add_person(served.folder, person)
                window.add_cookies([{"name": COOKIE, "value": token, "url": served.address}])
            page = window.new_page()
            page.set_default_timeout(1000 * PATIENCE)
            page.on("dialog", lambda dialog: troubles.append(dialog.message))
            heed(page, troubles)
            seat = Seat(page)
            page.goto(path)
            return seat

        yield opened
    assert troubles == []


@pytest.fixture(scope="package")  # a process of its own: nothing of it runs in this one
def served_letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labelling]:
    """A campaign in its third round, with lists, for tests that need some questions each."""
    require_browser()  # it is made before the browser is looked for
    with Labelling(letters(tmp_path_factory.mktemp("letters") / "letters")) as served:
        yield served
