"""The owner's last word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shortlist import measures
from shortlist.web.app import label_app
from tests.web.pages.conftest import Site, Visit
from tests.web.pages.serving import serving
from tests.web.pages.team import NOTE, digits_campaign, team_of_two, work

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def disputed(tmp_path: Path) -> Iterator[Site]:
    """Its own campaign: what is decided stays decided."""
    with ExitStack() as stack:
        campaign = stack.enter_context(digits_campaign(tmp_path / "digits"))
        people = stack.enter_context(closing(team_of_two(tmp_path / "digits")))
        work(campaign, until=4)
        yield Site(stack.enter_context(serving(label_app(campaign, people))), people, tmp_path / "digits")


def key_of(page: Page, place: int) -> str:
    """The key of an option: its digit, as the classes are digits."""
    return page.locator("#options kbd").nth(place - 1).inner_text()


def disputes(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.request.get("/api/disputes").json()["disputes"]
    return found


def aside(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.request.get("/api/set-aside").json()["items"]
    return found


def open_decide(visit: Visit, site: Site) -> Page:
    page = visit(site, "/decide")
    page.wait_for_selector("#item-body img")
    return page


def decided(page: Page, words: str) -> None:
    page.wait_for_selector(f"#message:has-text('{words}')")


def test_votes_are_shown_with_names_and_notes_as_text(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    shown = page.locator("#votes li").all_inner_texts()
    assert sorted(words.split("\n")[0] for words in shown) == ["ana", "bo"]
    assert NOTE in page.inner_text("#votes")
    assert page.locator("#options .option").count() == 2
    assert page.locator("#votes q b").count() == 0


def test_one_key_decides_and_the_next_case_comes(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    all_ = disputes(page)
    assert len(all_) >= 3
    key, label = all_[0]["item"]["key"], page.locator("#options .option-name").first.inner_text()
    page.keyboard.press(key_of(page, 1))
    decided(page, f"Decided: {key} is {label}.")
    assert [one["question"] for one in disputes(page)] == [one["question"] for one in all_[1:]]
    assert page.inner_text("#item-key") == all_[1]["item"]["key"]
    assert page.evaluate("document.activeElement.id") == "case-title"
    assert measures.labels(disputed.folder)[key] == label


def test_a_decision_can_be_changed(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    key = disputes(page)[0]["item"]["key"]
    second = page.locator("#options .option-name").nth(1).inner_text()
    page.keyboard.press(key_of(page, 1))
    decided(page, "Decided")
    page.keyboard.press("Backspace")
    assert page.inner_text("#item-key") == key
    page.keyboard.press(key_of(page, 2))
    decided(page, f"Decided: {key} is {second}.")
    assert measures.labels(disputed.folder)[key] == second


def test_another_class_is_found_by_typing_and_the_note_is_kept(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    key = disputes(page)[0]["item"]["key"]
    page.keyboard.press("n")
    page.keyboard.type("0 or 9? it is 9")  # keys do not answer while one writes
    page.locator("#note").blur()
    page.keyboard.press("/")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    decided(page, f"Decided: {key} is 9.")
    assert measures.labels(disputed.folder)[key] == "9"
    mine = page.request.get("/api/answers?limit=1").json()["answers"][0]
    assert mine["note"] == "0 or 9? it is 9"


def test_escape_leaves_the_search(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    assert page.is_hidden("#search")
    assert page.evaluate("document.activeElement.id") == "another"


def test_what_is_no_class_is_set_aside_and_can_be_labelled_after_all(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    before = len(aside(page))
    key = disputes(page)[0]["item"]["key"]
    page.keyboard.press("x")  # as on the labelling page
    decided(page, f"Decided: {key} is not any class.")
    assert len(aside(page)) == before + 1
    page.get_by_label(f"Label it after all: {key}", exact=True).click()
    assert page.inner_text("#item-key") == key
    assert "not any class" in page.inner_text("#votes")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("4")
    page.keyboard.press("Enter")
    decided(page, f"Decided: {key} is 4.")
    assert len(aside(page)) == before
    assert measures.labels(disputed.folder)[key] == "4"


def test_later_comes_back_at_the_end(disputed: Site, visit: Visit) -> None:
    page = open_decide(visit, disputed)
    keys = [one["item"]["key"] for one in disputes(page)]
    page.keyboard.press("s")
    assert page.inner_text("#item-key") == keys[1]
    for _ in keys[1:]:
        page.wait_for_selector("#item-body img")
        before = page.inner_text("#left")
        page.keyboard.press("u")
        page.wait_for_selector(f"#left:not(:text-is('{before}'))")
    assert page.inner_text("#item-key") == keys[0]
    page.keyboard.press(key_of(page, 1))
    decided(page, "That was the last one.")
    assert page.inner_text("#idle-title") == "Nothing to decide"
    assert page.evaluate("document.activeElement.id") == "idle-title"


def test_a_refusal_is_told_and_nothing_moves(disputed: Site, visit: Visit) -> None:
    disputed.people.set_role("bo", "owner")
    page, other = open_decide(visit, disputed), visit(disputed, "/people", "bo")
    key = page.inner_text("#item-key")
    token = {"X-CSRF-Token": other.get_attribute('meta[name="csrf"]', "content") or ""}
    assert other.request.post("/api/people/ana", data={"role": "annotator"}, headers=token).ok
    page.bring_to_front()
    with page.expect_response("**/api/decisions") as refusal:
        page.keyboard.press(key_of(page, 1))
    assert refusal.value.status == 401
    page.wait_for_selector("#message.error:has-text('ign in')")
    assert page.inner_text("#item-key") == key


def test_where_there_is_nothing_it_says_so(fresh: Site, visit: Visit) -> None:
    page = visit(fresh, "/decide")
    page.wait_for_selector("#nothing-left:not([hidden])")
    assert page.inner_text("#aside-none") == "There are none."
