"""Who labels, and who may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shortlist.web.people.people import Refused
from tests.web.pages.conftest import Site, Visit
from tests.web.pages.team import PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def row(page: Page, name: str) -> Locator:
    return page.locator("#people tbody tr", has=page.locator(f".person-name:text-is('{name}')"))


def cells(page: Page, name: str) -> dict[str, str]:
    found = row(page, name).locator("td").all()
    return {cell.get_attribute("data-label") or "": cell.inner_text() for cell in found}


def test_everybody_is_listed_with_their_numbers(busy: Site, visit: Visit) -> None:
    page = visit(busy, "/people")
    page.wait_for_selector("#people table")
    ana, bo = cells(page, "ana (you)"), cells(page, "bo")
    assert ana["Took a wrong list"].split("\n") == ["0 %", "0 of 6"]
    assert bo["Took a wrong list"].split("\n") == ["50 %", "3 of 6"]
    assert bo["Right list, right answer"].split("\n") == ["100 %", "6 of 6"]
    assert float(bo["Median"].split()[0]) > float(ana["Median"].split()[0])
    assert "items" in ana["Agreement"]
    assert page.inner_text("#kappa-kind") == "Cohen’s kappa"
    assert 0.5 < float(page.inner_text("#kappa-value")) <= 1
    assert "labelled independently" in page.inner_text("#kappa-words")


def test_a_role_is_changed_after_a_question(busy: Site, visit: Visit) -> None:
    busy.people.add("cy", "annotator", PASSWORD)
    page = visit(busy, "/people")
    row(page, "cy").get_by_text("Make owner").click()
    assert "sees and changes everything" in page.inner_text("dialog")
    page.keyboard.press("Enter")  # Cancel has the focus
    assert busy.people.person("cy").role == "annotator"  # type: ignore[union-attr]
    row(page, "cy").get_by_text("Make owner").click()
    page.click("dialog >> text=Make owner")
    page.wait_for_selector("#message:has-text('cy is owner now.')")
    assert busy.people.person("cy").role == "owner"  # type: ignore[union-attr]
    row(page, "cy").get_by_text("Make annotator").click()
    page.click("dialog >> text=Make annotator")
    page.wait_for_selector("#message:has-text('cy is annotator now.')")


def test_who_is_deactivated_cannot_sign_in_until_reactivated(busy: Site, visit: Visit) -> None:
    busy.people.add("<b>di</b>", "annotator", PASSWORD)
    page = visit(busy, "/people")
    assert page.locator("#people b").count() == 0
    row(page, "dan").count()
    page.get_by_label("Deactivate: <b>di</b>").click()
    page.click("dialog >> text=Deactivate >> nth=-1")
    page.wait_for_selector("#message:has-text('cannot sign in any more')")
    with pytest.raises(Refused):
        busy.people.sign_in("<b>di</b>", PASSWORD, "elsewhere")
    page.get_by_label("Reactivate: <b>di</b>").click()
    page.wait_for_selector("#message:has-text('can sign in again')")
    assert busy.people.sign_in("<b>di</b>", PASSWORD, "elsewhere again")


def test_the_last_owner_stays_one(busy: Site, visit: Visit) -> None:
    page = visit(busy, "/people")
    row(page, "ana (you)").get_by_text("Make annotator").click()
    assert "You are signed out at once." in page.inner_text("dialog")
    page.click("dialog >> text=Make annotator >> nth=-1")
    page.wait_for_selector("#message.error:has-text('ana is the only active owner')")


def test_an_invitation_is_made_copied_and_taken_back(busy: Site, visit: Visit) -> None:
    page = visit(busy, "/people", permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector("text=No invitation has been made yet.")
    page.select_option("#role", "annotator")
    page.select_option("#hours", "24")
    page.click("text=Make a link")
    page.wait_for_selector("#invite-link input")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{busy.address}/join/")
    token = link.rsplit("/", 1)[1]
    assert busy.people.invitation(token) is not None
    assert "open until" in page.inner_text("#invitations")
    page.click("text=Take back")
    page.wait_for_selector("#invite-message:has-text('was taken back')")
    assert busy.people.invitation(token) is None
    assert "taken back" in page.inner_text("#invitations tbody")


def test_without_overlap_there_is_nothing_to_compare(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/people")
    page.wait_for_selector("#kappa-words:has-text('No item has been labelled by two people yet')")
    assert page.inner_text("#kappa-value") == "–"
