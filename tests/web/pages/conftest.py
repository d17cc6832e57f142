"""The real app, served in this process, and its pages in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shortlist.web.app import label_app
from shortlist.web.people.people import People
from tests.web.chromium import heed
from tests.web.pages.serving import serving
from tests.web.pages.team import PASSWORD, ask_controls, digits_campaign, team_of_two, work

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]


@dataclass(frozen=True)
class Site:
    """A campaign that is served, with its people."""

    address: str
    people: People
    folder: Path


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Four rounds done, the fifth open."""
    yield from _site(tmp_path_factory.mktemp("digits") / "digits", until=5)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Nothing has been answered."""
    yield from _site(tmp_path_factory.mktemp("fresh") / "fresh", until=1)


def _site(folder: Path, until: int) -> Iterator[Site]:
    with ExitStack() as stack:
        campaign = stack.enter_context(digits_campaign(folder))
        people = stack.enter_context(closing(team_of_two(folder)))
        work(campaign, until)
        if until > 1:
            ask_controls(people)
        address = stack.enter_context(serving(label_app(campaign, people)))
        yield Site(address, people, folder)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open a page, signed in as somebody or nobody; errors of the page fail the test."""
    troubles: list[str] = []
    with ExitStack() as stack:

        def open_page(site: Site, path: str, person: str | None = "ana", **context: Any) -> Page:
            window = browser.new_context(base_url=site.address, **context)
            stack.callback(window.close)
            if person is not None:
                token = site.people.sign_in(person, PASSWORD, "another address")
                window.add_cookies([{"name": "shortlist_session", "value": token, "url": site.address}])
            page = window.new_page()
            page.set_default_timeout(20_000)
            heed(page, troubles)
            page.goto(path)
            return page

        yield open_page
    assert troubles == []
