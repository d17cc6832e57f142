"""Everything a person can do with questions, and what is then in the database."""

from __future__ import annotations

from typing import Any

from tests.web.browser.campaigns import PASSWORD, add_person
from tests.web.browser.conftest import Sit
from tests.web.browser.labelling import Labelling, wait_until
from tests.web.browser.seat import READY, Seat
from tests.web.chromium import PHONE, faults, overflow
from tests.web.conftest import Picture


def given(served: Labelling, person: str, n: int) -> list[dict[str, Any]]:
    """A person's answers, once there are n of them."""
    wait_until(lambda: len(served.answers(person)) >= n)
    found = served.answers(person)
    assert len(found) == n
    return found


def not_listed(seat: Seat) -> str:
    """None of the above, and the first class that is then found."""
    seat.press("0")
    seat.page.wait_for_selector("#query:focus")
    name: str = seat.page.locator("#hits .hit-name").first.inner_text()
    return name


def test_undo_across_several_answers(served_letters: Labelling, sit: Sit) -> None:
    seat = sit(served_letters, person="una")
    for _ in range(3):
        seat.next_item()
        seat.press("1")
    fourth = seat.next_item()
    first, second, third = given(served_letters, "una", 3)
    assert [seat.back(), seat.back(), seat.back()] == seat.seen[2::-1]
    other = next(name for name in seat.options if name != first["class"])
    seat.press(seat.options[other])
    wait_until(lambda: seat.item == fourth)  # back to where one was
    changed = given(served_letters, "una", 4)[-1]
    assert (changed["question"], changed["supersedes"], changed["class"]) == (first["question"], first["id"], other)
    assert [seat.back(), seat.back()] == [seat.seen[0], seat.seen[2]]  # the newest first
    seat.press("Escape")
    assert len(served_letters.answers("una")) == 4
    assert [second["supersedes"], third["supersedes"]] == [None, None]


def test_skip_not_any_class_cannot_read_it_and_a_note(served_letters: Labelling, sit: Sit) -> None:
    seat = sit(served_letters, person="sam")
    for key in "sxu":
        seat.next_item()
        seat.press(key)
    seat.next_item()
    seat.press("n")
    seat.page.keyboard.type("is it 1 or <l>?")
    seat.page.keyboard.press("Control+Enter")
    seat.press("1")
    rows = given(served_letters, "sam", 4)
    assert [row["kind"] for row in rows] == ["skip", "none", "unreadable", "label"]
    assert [row["note"] for row in rows] == [None, None, None, "is it 1 or <l>?"]
    assert [row["key"] for row in rows] == seat.seen
    assert [len(row["stage_seconds"]) for row in rows] == [1, 1, 1, 1]
    assert all(row["wall_seconds"] > 0 for row in rows)


def test_a_hidden_tab_and_an_idle_person_do_not_count(served_letters: Labelling, sit: Sit) -> None:
    seat = sit(served_letters, "/static/shared/icon.svg", person="ida")
    seat.page.clock.install()
    seat.page.goto("/")
    seat.next_item()
    hide(seat, True)
    seat.page.clock.fast_forward(300_000)
    hide(seat, False)
    seat.press("1")
    seat.next_item()
    seat.page.clock.fast_forward(300_000)  # nobody touches anything
    seat.press("1")
    hidden, idle = given(served_letters, "ida", 2)
    assert hidden["active_seconds"] < 60 < 300 <= hidden["wall_seconds"]
    assert 30 <= idle["active_seconds"] < 90 < 300 <= idle["wall_seconds"]


def hide(seat: Seat, hidden: bool) -> None:
    seat.page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def test_by_touch_on_a_phone(served_letters: Labelling, sit: Sit, picture: Picture) -> None:
    seat = sit(served_letters, person="pia", **PHONE)
    page, wanted = seat.page, []
    seat.next_item()
    picture(page, "phone-list")
    assert (overflow(page), faults(page)) == (0, [])
    wanted.append(page.locator("#options .option-name").first.inner_text())
    page.locator("#options .option").first.tap()
    seat.next_item()
    page.tap("#none")
    page.wait_for_selector("#hits .hit")
    wanted.append(page.locator("#hits .hit-name").nth(2).inner_text())
    page.fill("#query", wanted[-1])
    picture(page, "phone-search")
    assert (overflow(page), faults(page)) == (0, [])
    page.locator("#hits .hit").first.tap()
    third = seat.next_item()
    page.tap("[data-action=undo]")
    page.wait_for_selector("#review:not([hidden])")
    page.wait_for_selector(READY)
    picture(page, "phone-undo")
    assert overflow(page) == 0
    wanted.append(page.locator("#options .option-name").first.inner_text())
    page.locator("#options .option").first.tap()
    wait_until(lambda: seat.item == third)
    page.tap("[data-action=nothing]")
    rows = given(served_letters, "pia", 4)
    assert [row["class"] for row in rows] == [*wanted, None]
    assert rows[2]["supersedes"] == rows[1]["id"]


def test_by_keyboard_alone_from_signing_in_to_signing_out(served_letters: Labelling, sit: Sit) -> None:
    add_person(served_letters.folder, "kim")
    seat = sit(served_letters, "/")
    page = seat.page
    page.wait_for_url("**/sign-in")
    page.wait_for_selector("#name:focus")
    for words, key in (("kim", "Tab"), (PASSWORD, "Enter")):
        page.keyboard.type(words)
        page.keyboard.press(key)
    first = seat.next_item()
    listed = next(iter(seat.options))
    seat.press("1")
    seat.next_item()
    other = not_listed(seat)
    page.keyboard.type(other)
    seat.press("Enter")
    third = seat.next_item()
    seat.saved()
    assert [seat.back(), seat.back()] == seat.seen[1::-1]
    assert seat.item == first
    seat.press("s")
    wait_until(lambda: seat.item == third)
    rows = given(served_letters, "kim", 3)
    assert [row["class"] for row in rows] == [listed, other, None]
    assert rows[2]["supersedes"] == rows[0]["id"]
    session = {"Cookie": "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())}
    tab_to(seat, "Sign out")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sign-in")
    assert page.request.get("/api/me").status == 401
    assert page.request.get("/api/me", headers=session).status == 401  # the session itself has ended
    page.goto("/")
    page.wait_for_url("**/sign-in")


def tab_to(seat: Seat, words: str) -> None:
    for _ in range(60):
        seat.page.keyboard.press("Shift+Tab")
        if seat.page.evaluate("document.activeElement.textContent.trim()") == words:
            return
    raise AssertionError(f"the keyboard does not reach {words}")
