"""What holds for every page: it fits a phone, is there in light and dark, and axe-core finds nothing serious."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.chromium import PHONE, faults, overflow
from tests.web.conftest import Picture
from tests.web.pages.conftest import Site, Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

READY = {
    "/dashboard": "#figures[aria-busy=false]",
    "/people": "#people table",
    "/decide": "#item-body img",
    "/files": "html.js",
    "/account": "#tokens > p:not(:text('moment')), #tokens table",
    "/api": ".route",
    "/sign-in": "html.js",
    "/join": "html.js",
}
SCREENS: dict[str, dict[str, Any]] = {"desktop": {}, "phone": PHONE}

Open = Callable[..., "Page"]


@pytest.fixture
def open_page(busy: Site, visit: Visit) -> Open:
    def opened(path: str, **context: Any) -> Page:
        is_door = path in ("/sign-in", "/join")
        address = f"/join/{busy.people.invite('annotator', 'ana')}" if path == "/join" else path
        page = visit(busy, address, None if is_door else "ana", **context)
        page.wait_for_selector(READY[path])
        return page

    return opened


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("path", READY)
def test_it_fits_and_axe_finds_nothing_serious(open_page: Open, path: str, screen: str, picture: Picture) -> None:
    page = open_page(path, **SCREENS[screen])
    assert overflow(page) == 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        picture(page, f"{path.strip('/')}-{screen}-{scheme}", whole=True)
    for closed in page.locator("details:not([open]) > summary").all()[:3]:
        closed.click()
    assert faults(page) == [], "in the dark"
    page.emulate_media(color_scheme="light")
    assert faults(page) == []


@pytest.mark.parametrize("path", READY)
def test_everything_that_can_be_pressed_has_a_visible_focus(open_page: Open, path: str) -> None:
    page = open_page(path)
    seen = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        outline, name = page.evaluate(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
            " return [s.outlineStyle + ' ' + s.outlineWidth, e.outerHTML.slice(0, 80)]; })()"
        )
        seen.add(name)
        assert name.startswith("<body") or outline.startswith(("solid", "auto")), name
    assert len(seen) > 2
