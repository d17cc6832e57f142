"""One's own password and tokens."""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING

from tests.web.pages.conftest import Site, Visit
from tests.web.pages.team import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Page


def change(page: Page, old: str, new: str, again: str) -> None:
    for field, text in (("#old", old), ("#new", new), ("#again", again)):
        page.fill(field, text)
    page.keyboard.press("Enter")


def said(page: Page, id: str) -> str:
    return page.locator(f"#{id}:not(:empty)").inner_text()


def test_the_password_is_changed_and_the_page_goes_on_working(fresh: Site, visit: Visit) -> None:
    fresh.people.add("eve", "annotator", PASSWORD)
    page = visit(fresh, "/account", "eve")
    change(page, PASSWORD, "another password", "another one")
    assert "differ" in said(page, "password-message")
    change(page, "not the old one", "another password", "another password")
    page.wait_for_selector("#password-message:has-text('wrong')")
    assert page.evaluate("document.activeElement.id") == "old"
    change(page, PASSWORD, "another password", "another password")
    page.wait_for_selector("#password-message:has-text('is changed')")
    page.fill("#label", "afterwards")  # the new session's token is in the page
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-shown input")
    assert fresh.people.sign_in("eve", "another password", "elsewhere")


def test_who_came_by_the_start_link_chooses_a_first_password(fresh: Site, visit: Visit) -> None:
    fresh.people.add("root", "owner")
    page = visit(fresh, f"/start/{fresh.people.start_link('root')}", None)
    page.goto("/account")
    assert page.locator("#old").count() == 0
    page.fill("#new", "a first password")
    page.fill("#again", "a first password")
    page.keyboard.press("Enter")
    page.wait_for_selector("#password-message:has-text('is changed')")
    assert page.locator("#old").count() == 1


def test_a_token_is_shown_once_works_and_is_revoked(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/account", "ana", permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector("text=You have no tokens.")
    page.click("text=Make a token")
    assert said(page, "token-message") == "Say what the token is for."
    page.fill("#label", "<i>backup</i>")
    page.keyboard.press("Enter")
    page.wait_for_selector("#token-shown input")
    page.keyboard.press("Enter")  # the copy button has the focus
    page.wait_for_selector("text=Copied.")
    token = page.input_value("#token-shown input")
    assert page.evaluate("navigator.clipboard.readText()") == token
    assert whoever(fresh, token) == 200
    assert page.locator("#tokens tbody tr").inner_text().startswith("<i>backup</i>")
    page.click("text=Revoke")
    page.keyboard.press("Escape")
    assert page.locator("#tokens tbody tr").count() == 1
    assert page.evaluate("document.activeElement.textContent") == "Revoke"
    page.click("text=Revoke")
    page.click("dialog >> text=Revoke >> nth=-1")
    page.wait_for_selector("text=You have no tokens.")
    assert whoever(fresh, token) == 401


def whoever(site: Site, token: str) -> int:
    request = urllib.request.Request(f"{site.address}/api/me", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
