"""A study in a real browser: a whole session by keyboard, on a phone, and with a server that dies under it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from shortlist.study.app import standalone
from shortlist.study.results import results_of
from shortlist.study.store import DEMO, StudyStore, open_study
from tests.study.participant import Participant
from tests.study.studies import HOSTILE, image_folder, small_study, truths
from tests.study.study_server import Server, free_port
from tests.web.chromium import PHONE, faults, heed, overflow
from tests.web.conftest import Picture

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Visit = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open a page; what goes wrong in it fails the test."""
    troubles: list[str] = []
    windows: list[Any] = []

    def go(address: str, **context: Any) -> Page:
        windows.append(browser.new_context(**context))
        page: Page = windows[-1].new_page()
        page.set_default_timeout(20_000)
        heed(page, troubles)
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.goto(address)
        return page

    yield go
    for window in windows:
        window.close()
    assert troubles == []


def begin(page: Page, name: str = "") -> None:
    """Through the first page by keyboard alone."""
    page.keyboard.press("Tab")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/question")


def shown(page: Page, *before: int | None) -> int:
    """The item that can be answered now, once it is none of those before."""
    found = page.wait_for_function(
        "before => { const at = document.getElementById('question').dataset.item;"
        " return at !== undefined && !before.includes(Number(at)) ? at : null }",
        arg=[item for item in before if item is not None],
    )
    return int(found.json_value())


def key_of(page: Page, label: int) -> str:
    return page.locator(f'#options button[data-class="{label}"] kbd').inner_text()


def answer_all(page: Page, truth: dict[int, int], n: int, before: int | None = None) -> int:
    for _ in range(n):
        before = shown(page, before)
        page.keyboard.press(key_of(page, truth[before]))
    assert before is not None
    return before


def rows(folder: Path) -> list[Any]:
    store = StudyStore(folder / "study.db")
    found = list(store.rows())
    store.close()
    return found


def test_a_whole_session_by_keyboard(tmp_path: Path, visit: Visit, picture: Picture) -> None:
    folder = tmp_path / "study"
    open_study(folder, {"dataset": DEMO, "groups": [32], "items": 5}).close()
    truth = truths(folder)
    with Server(folder, free_port()) as server:
        page = visit(server.address)
        picture(page, "study-welcome")
        begin(page, "Ana")
        first = shown(page)
        assert page.locator("#options button").count() == 32
        picture(page, "study-question")
        page.keyboard.press("0")  # the key of nothing
        page.keyboard.press("Control+1")
        assert shown(page) == first
        last = answer_all(page, truth, 3)
        page.get_by_role("button", name="Go on").wait_for()
        picture(page, "study-between")
        page.keyboard.press("1")  # nothing to answer here
        page.keyboard.press("Enter")
        slow = shown(page, last)
        began = time.monotonic()
        time.sleep(1.0)
        page.keyboard.press(key_of(page, truth[slow]))
        waited = time.monotonic() - began
        last = answer_all(page, truth, 1, slow)
        with page.expect_response("**/api/answers"):
            answer_all(page, truth, 1, last)
        page.reload()
        left: list[str] = []  # a second start for the last page would abort the first
        page.on("request", lambda request: left.append(request.url) if request.url.endswith("/thanks") else None)
        answer_all(page, truth, 2, None)
        page.wait_for_url("**/thanks")
        assert len(left) == 1
        assert page.get_by_text("5 of 5").is_visible()
        picture(page, "study-thanks")
        page.goto(server.results)
        assert page.get_by_text("1 person has finished").is_visible()
        picture(page, "study-results")
    given = rows(folder)
    assert [row.chosen == row.truth for row in given] == [True] * 5
    assert 1.0 <= given[0].active_seconds <= waited + 0.2
    assert all(0 < row.active_seconds <= row.wall_seconds < 10 for row in given)
    assert {row.name for row in given} == {"Ana"}


def test_time_starts_when_the_picture_is_there(tmp_path: Path, visit: Visit) -> None:
    folder = small_study(tmp_path, practice=0)
    with Server(folder, free_port()) as server:
        page = visit(server.address)

        waits = iter([None, 0.7])  # the first try fails, the second is slow

        def late(route: Any) -> None:
            wait = next(waits, 0)
            if wait is None:
                route.abort()
                return
            time.sleep(wait)
            route.continue_()

        page.route("**/api/items/*", late)
        begin(page)
        page.keyboard.press("1")  # too early: there is nothing to see yet
        first = shown(page)
        with page.expect_response("**/api/answers"):
            page.keyboard.press("1")
    (row,) = rows(folder)
    assert row.item == first
    assert row.active_seconds < 0.7


def test_a_server_that_dies_and_comes_back_costs_no_answer(tmp_path: Path, visit: Visit, picture: Picture) -> None:
    folder, port = small_study(tmp_path, practice=0), free_port()
    truth = truths(folder)
    with Server(folder, port) as server:
        page = visit(server.address)
        begin(page)
        last = answer_all(page, truth, 1)
        shown(page, last)
        page.wait_for_load_state("networkidle")  # the pictures of the next two are loaded as well
    last = answer_all(page, truth, 2, last)
    page.get_by_text("not saved yet").wait_for()
    picture(page, "study-server-gone")
    with Server(folder, port):
        page.wait_for_function("() => document.getElementById('notice').textContent === ''")
        answer_all(page, truth, 1, last)
        page.wait_for_url("**/thanks")
    assert [row.chosen == row.truth for row in rows(folder)] == [True] * 4


def test_an_answer_that_waits_goes_with_the_next_visit(tmp_path: Path, visit: Visit) -> None:
    folder, port = small_study(tmp_path, practice=0), free_port()
    truth = truths(folder)
    with Server(folder, port) as server:
        page = visit(server.address)
        begin(page)
        first = shown(page)
    page.keyboard.press(key_of(page, truth[first]))
    page.get_by_text("not saved yet").wait_for()
    page.close()
    with Server(folder, port) as server:
        again = page.context.new_page()
        again.goto(server.address)
        second = shown(again, first)
        assert again.locator("#where").inner_text() == "2 of 4"
        answer_all(again, truth, 1)
        answer_all(again, truth, 2, second)
        again.wait_for_url("**/thanks")
    assert [row.chosen == row.truth for row in rows(folder)] == [True] * 4


def test_the_written_results_need_no_server(tmp_path: Path, visit: Visit, picture: Picture) -> None:
    folder = small_study(tmp_path)
    store = open_study(folder)
    for number in range(9):
        for question in store.questions(store.start(f"cookie {number}", None)):
            store.answer(f"cookie {number}", question.item, question.classes[0], 1.0 + number, 20.0)
    (folder / "study.html").write_text(standalone(results_of(store), "signs"), encoding="utf-8")
    store.close()
    page = visit((folder / "study.html").as_uri())
    page.locator("#figure svg circle").first.wait_for()
    assert page.locator("#figure .plot circle").count() == 9 + 3 + 4  # people, means of groups, means of the paper's
    assert "Left out by the rule" in page.locator("#figure .legend").inner_text()
    assert faults(page) == []
    picture(page, "study-written", whole=True)


def test_two_tabs_answer_nothing_twice(tmp_path: Path, visit: Visit) -> None:
    folder = small_study(tmp_path, practice=0)
    truth = truths(folder)
    with Server(folder, free_port()) as server:
        one = visit(server.address)
        begin(one)
        shown(one)
        two = one.context.new_page()
        two.goto(server.address)
        shown(two)
        last = answer_all(one, truth, 2)
        one.wait_for_function("() => Object.keys(localStorage).length === 0")  # the server has both answers
        first = shown(two)
        two.keyboard.press("1")  # answered in the other tab already: this one catches up
        third = shown(two, first, last)
        assert two.locator("#where").inner_text() == "3 of 4"
        two.keyboard.press(key_of(two, truth[third]))
        answer_all(two, truth, 1, third)
        two.wait_for_url("**/thanks")
    assert [row.chosen == row.truth for row in rows(folder)] == [True] * 4


def test_on_a_phone_by_touch_with_hostile_names(tmp_path: Path, visit: Visit, picture: Picture) -> None:
    names = [HOSTILE.replace("/", "∕"), *(f"a rather long name of a class, number {i}" for i in range(31))]
    images = image_folder(tmp_path / "images", names=names)
    asked = {"items": 2, "groups": [32], "practice": 0}
    dataset = {"name": "image_folder", "folder": str(images)}
    open_study(tmp_path / "study", {"dataset": dataset, **asked}).close()
    truth, before = truths(tmp_path / "study"), None
    with Server(tmp_path / "study", free_port()) as server:
        page = visit(server.address, **PHONE)
        picture(page, "study-phone-welcome")
        page.locator("#consent").tap()
        page.locator("#begin").tap()
        page.wait_for_url("**/question")
        for _ in range(2):
            before = shown(page, before)
            assert page.get_by_role("button", name=names[0]).is_visible()
            assert overflow(page) == 0
            picture(page, "study-phone-question")
            page.locator(f'#options button[data-class="{truth[before]}"]').tap()
        page.wait_for_url("**/thanks")
    assert [row.chosen == row.truth for row in rows(tmp_path / "study")] == [True] * 2


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_axe_finds_nothing_serious(tmp_path: Path, visit: Visit, picture: Picture, screen: str) -> None:
    folder = small_study(tmp_path, practice=1, items=1, groups=[2])
    truth = truths(folder)
    with Server(folder, free_port()) as server:
        page, seen = visit(server.address, **(PHONE if screen == "phone" else {})), {}

        def look(at: str) -> None:
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                seen[at, scheme] = faults(page)
                picture(page, f"study-{at}-{screen}-{scheme}", whole=at == "results")

        look("welcome")
        begin(page)
        last = shown(page)
        look("question")
        answer_all(page, truth, 1)
        page.get_by_role("button", name="Go on").click()
        answer_all(page, truth, 1, last)
        page.wait_for_url("**/thanks")
        look("thanks")
        page.goto(server.results)
        look("results")
    assert {at: found for at, found in seen.items() if found} == {}


def test_results_follow_by_themselves(tmp_path: Path, visit: Visit) -> None:
    folder = small_study(tmp_path, practice=0, items=1, groups=[2])
    with Server(folder, free_port()) as server:
        results = visit(server.results)
        results.clock.install()
        results.reload()
        assert results.get_by_text("0 people have finished").is_visible()
        with httpx2.Client(base_url=server.address) as client:
            Participant(client).take_part()
        results.clock.fast_forward(31_000)
        results.get_by_text("1 person has finished").wait_for()
