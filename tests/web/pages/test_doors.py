"""Signing in, and joining by an invitation."""

from __future__ import annotations

import re
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People, Refused
from tests.web.pages.conftest import Site, Visit
from tests.web.pages.team import PASSWORD
from tests.web.serving import FAST

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOME = re.compile(r"/$")


def message(page: Page) -> str:
    return page.locator("#message:not(:empty)").inner_text()


def test_one_signs_in_by_keyboard_alone(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/sign-in", None)
    page.keyboard.type("ana")  # the name has the focus
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(HOME)
    assert page.request.get("/api/me").json()["name"] == "ana"


def test_password_managers_know_the_fields(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/sign-in", None)
    found = page.eval_on_selector_all("input", "all => all.map(one => one.autocomplete)")
    assert found == ["username", "current-password"]


def test_a_wrong_password_is_told_and_can_be_typed_again(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/sign-in", None)
    page.fill("#name", "ana")
    page.fill("#password", "not that one")
    page.keyboard.press("Enter")
    assert message(page) == "The name or the password is wrong."
    assert page.evaluate("document.activeElement.id") == "password"
    assert page.get_attribute("#password", "aria-invalid") == "true"
    page.fill("#password", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(HOME)


def test_empty_fields_are_not_sent(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/sign-in", None)
    page.click("text=Sign in >> nth=-1")
    assert message(page) == "Type your name."
    assert page.evaluate("document.activeElement.id") == "name"


def guess(site: Site, name: str, *, tries: int, apart: float = 60.0) -> None:
    """Wrong tries, the last one just now."""
    now = [0.0]
    with closing(People(site.folder, passwords=Passwords(**FAST), clock=lambda: now[0])) as people:
        for i in reversed(range(tries)):
            now[0] = time.time() - apart * i
            with pytest.raises(Refused):
                people.sign_in(name, "a guess or so", "elsewhere")


def test_who_guesses_waits_and_sees_how_long(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/sign-in", None)
    fresh.people.add("slow", "annotator", PASSWORD)
    page.fill("#name", "slow")
    page.fill("#password", PASSWORD)
    guess(fresh, "slow", tries=8)  # 8 seconds to wait
    page.keyboard.press("Enter")
    page.wait_for_selector("[type=submit]:disabled >> text=/^Try again in [0-9]+ s$/")
    assert "too many wrong tries" in message(page).lower()
    page.wait_for_selector("[type=submit]:enabled")
    page.focus("#password")
    page.keyboard.press("Enter")
    page.wait_for_url(HOME)


def test_who_is_signed_in_is_told_so(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/sign-in", "ana")
    assert "You are signed in as ana" in page.inner_text("main")


def test_an_invitation_makes_an_account(fresh: Site, visit: Visit) -> None:
    link = f"/join/{fresh.people.invite('annotator', 'ana')}"
    page = visit(fresh, link, None)
    assert "ana invites you as annotator" in page.inner_text("main")
    page.keyboard.type("cy")
    page.keyboard.press("Tab")
    page.keyboard.type("quite a password")
    page.keyboard.press("Tab")
    page.keyboard.type("quite a password")
    page.keyboard.press("Enter")
    page.wait_for_url(HOME)
    assert page.request.get("/api/me").json() == {"name": "cy", "role": "annotator", "has_password": True}
    again = visit(fresh, link, None)
    assert "does not work any more" in again.inner_text("h1")
    assert again.locator("form").count() == 0


def test_what_will_not_do_is_said_at_its_field(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, f"/join/{fresh.people.invite('owner', 'ana')}", None)
    assert "invites you as owner" in page.inner_text("main")

    def refused(name: str, password: str, again: str) -> tuple[str, str]:
        for field, text in (("#name", name), ("#password", password), ("#again", again)):
            page.fill(field, text)
        page.evaluate("document.getElementById('message').textContent = ''")
        page.click("text=Make my account")
        return message(page), page.evaluate("document.activeElement.id")

    assert refused("", "long enough", "long enough") == ("Type the name you want to be called by.", "name")
    assert refused("di", "short", "short") == ("Take at least 8 characters.", "password")
    assert refused("di", "long enough", "long enouhg") == (
        "The two passwords differ; type the same one twice.",
        "again",
    )
    assert refused("ANA", "long enough", "long enough") == ("ANA is taken; choose another name.", "name")


def test_a_link_that_never_was_says_so(fresh: Site, visit: Visit) -> None:
    assert "does not work any more" in visit(fresh, "/join/nonsense", None).inner_text("h1")


def test_an_annotator_is_told_that_a_page_is_not_for_them(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/dashboard", "bo")
    assert page.inner_text("h1") == "This page is not for you"
    assert "Only an owner of the campaign may do this." in page.inner_text("main")
    page.click("text=Go on to label")
    page.wait_for_url("**/")
