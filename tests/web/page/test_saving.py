"""An answer that was given is never silently lost, never doubled, and arrives in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.web.chromium import faults
from tests.web.page.conftest import Visit
from tests.web.page.stub import World
from tests.web.page.test_page import CAT, DOG, FOX, press, said, until
from tests.web.page.worlds import ANIMALS, animals, question

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOREVER = 10**6


def waiting(page: Page) -> int:
    """Answers kept in the browser."""
    kept: int = page.evaluate("Object.keys(localStorage).filter((k) => k.startsWith('shortlist:answer:')).length")
    return kept


def test_answers_wait_while_the_server_fails_and_arrive_in_order(visit: Visit) -> None:
    world = animals(failing=FOREVER)
    page = visit(world)
    press(page, *"123")
    page.wait_for_selector("text=The server has trouble: 3 answers waiting.")
    assert waiting(page) == 3
    world.failing = 0
    page.click("#save-now")
    until(lambda: said(world) == [(1, "label", [CAT]), (2, "label", [DOG]), (3, "label", [FOX])])
    page.wait_for_selector("#saving[data-phase=saved]")
    assert waiting(page) == 0


def test_it_tries_again_by_itself(visit: Visit) -> None:
    world = animals(failing=2)
    page = visit(world)
    page.keyboard.press("1")
    until(lambda: said(world) == [(1, "label", [CAT])])
    page.wait_for_selector("#saving[data-phase=saved]")


def test_without_a_network_all_in_hand_can_be_answered(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    press(page, *"1231")
    page.wait_for_selector("text=Offline: 4 answers waiting.")
    page.wait_for_selector("#waiting >> text=4 answers are kept in this browser")
    page.context.set_offline(False)
    until(lambda: len(world.answers) == 4, 15)
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0005.png")


def test_what_waits_outlives_a_reload_and_its_questions_are_not_asked_again(visit: Visit) -> None:
    world = animals(failing=FOREVER)
    page = visit(world)
    page.on("dialog", lambda dialog: dialog.accept())  # "leave the page?"
    press(page, *"12")
    page.wait_for_selector("#saving[data-phase=offline]")
    page.reload()
    page.wait_for_selector("#question[data-ready=true] >> text=photos/0003.png")
    world.failing = 0
    until(lambda: said(world) == [(1, "label", [CAT]), (2, "label", [DOG])], 15)


def test_a_lost_acknowledgement_doubles_nothing(visit: Visit) -> None:
    world = animals(losing=2)
    page = visit(world)
    press(page, *"123")
    until(lambda: len(world.answers) == 3, 10)
    page.wait_for_selector("#saving[data-phase=saved]")
    assert said(world) == [(1, "label", [CAT]), (2, "label", [DOG]), (3, "label", [FOX])]
    assert page.locator(".notice").count() == 0


def test_an_undo_before_a_reload_still_supersedes(visit: Visit) -> None:
    world = animals(failing=FOREVER)
    page = visit(world)
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("1")
    page.keyboard.press("Backspace")
    page.wait_for_selector("#review:not([hidden])")
    page.wait_for_selector("#question[data-ready=true]")
    page.keyboard.press("2")
    page.wait_for_selector("#saving[data-phase=offline]")
    page.reload()
    world.failing = 0
    until(lambda: [(a["path"], a["supersedes"]) for a in world.answers] == [([CAT], None), ([DOG], 100)], 15)


def test_an_answer_that_is_refused_is_told_and_work_goes_on(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    world.closed.add(1)  # somebody else was quicker
    page.keyboard.press("1")
    page.wait_for_selector("text=One answer was not taken: question 1 is closed.")
    press(page, "2")
    until(lambda: said(world) == [(2, "label", [DOG])])
    page.wait_for_selector("#saving[data-phase=saved]")
    assert waiting(page) == 0


def test_signed_out_answers_wait_until_one_signs_in(visit: Visit) -> None:
    world = animals()
    page = visit(world)
    world.refuse_all = 401
    page.keyboard.press("1")
    page.wait_for_selector("text=Signed out: 1 answer waiting.")
    assert page.is_visible("#sign-in")
    assert waiting(page) == 1
    world.refuse_all = 0
    page.evaluate("document.getElementById('sign-in').click()")  # it may hide, if the page sends again first
    until(lambda: said(world) == [(1, "label", [CAT])], 10)


def test_signing_out_right_after_an_answer_waits_until_it_is_saved(visit: Visit) -> None:
    """By keyboard, the key comes before the acknowledgement now and then."""
    world = animals(delay=0.5)
    page = visit(world)
    page.keyboard.press("1")
    page.focus("text=Sign out")
    with page.expect_request("**/api/sign-out"):
        page.keyboard.press("Enter")
        assert page.get_attribute("#saving", "data-phase") == "saving"
    assert said(world) == [(1, "label", [CAT])]
    page.wait_for_url("**/")


def test_no_update_takes_the_focus_from_the_menu(visit: Visit) -> None:
    """The next question, and the end."""
    world = animals(3)
    page = visit(world)
    page.focus("text=Sign out")
    for number in (1, 2, 3):
        page.wait_for_selector(f"#question[data-ready=true] >> text=photos/{number:04d}.png", state="attached")
        world.state = "over" if number == 3 else "asking"
        page.evaluate("document.querySelector('#options .option').click()")  # which moves no focus
    page.wait_for_selector("#ending:not([hidden])")
    assert page.evaluate("document.activeElement.textContent") == "Sign out"


def test_who_cannot_be_signed_out_is_told(visit: Visit) -> None:
    page = visit(animals())
    page.route("**/api/sign-out", lambda route: route.abort())
    page.click("text=Sign out")
    page.wait_for_selector("text=The server does not answer: you are still signed in.")
    assert faults(page) == []


def test_signing_out_waits_for_answers(visit: Visit) -> None:
    world = animals(failing=FOREVER)
    page = visit(world)
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("1")
    page.wait_for_selector("#saving[data-phase=offline]")
    page.click("text=Sign out")
    page.wait_for_selector("text=Some answers are not saved yet.")
    world.failing = 0
    until(lambda: len(world.answers) == 1, 15)


def test_the_waiting_screen_tells_of_a_lost_connection_and_recovers(visit: Visit) -> None:
    world = animals(0)
    page = visit(world, "#waiting:not([hidden])")
    world.refuse_all = 503
    page.wait_for_selector("#waiting >> text=The server has trouble")
    world.refuse_all = 0
    page.wait_for_selector("#waiting >> text=Nothing to answer just now")


def test_a_first_start_without_a_server_recovers(visit: Visit) -> None:
    world = animals(refuse_all=503)
    page = visit(world, "#waiting >> text=The server has trouble")
    world.refuse_all = 0
    page.wait_for_selector("#question[data-ready=true]")


def test_two_tabs_never_send_an_answer_twice(visit: Visit) -> None:
    world = animals(failing=FOREVER)
    page = visit(world)
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("1")
    page.wait_for_selector("#saving[data-phase=offline]")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#question[data-ready=true]")
    world.failing = 0
    page.wait_for_selector("#saving[data-phase=saved]", timeout=15_000)
    other.wait_for_selector("#saving[data-phase=saved]", timeout=15_000)
    assert said(world) == [(1, "label", [CAT])]


def test_a_long_trouble_piles_up_no_more_than_the_server_takes_back(visit: Visit) -> None:
    """Posts fail while everything else works: answers wait, new questions stop coming, and in the end all are saved."""
    world = World(
        names=ANIMALS, questions=[question(i, classes=[0, 1], cuts=[2]) for i in range(1, 60)], failing=10_000
    )
    page = visit(world)
    for _ in range(100):
        if page.locator("#question[data-ready=true]").count():
            page.keyboard.press("1")
        page.wait_for_timeout(150)
        if world.fetched and world.fetched[-1][0] == 20 and page.is_visible("#waiting"):
            break
    n = waiting(page)
    assert 16 <= n <= 20
    assert all(asked <= 20 and len(held) <= 40 for asked, held in world.fetched)
    world.failing = 0
    page.click("#save-now")
    until(lambda: len(world.answers) >= n, seconds=20)
    assert len({answer["question"] for answer in world.answers}) == len(world.answers)
