"""Script in class names, texts, notes and names of people is shown as it is written, and never runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.browser.campaigns import add_person
from tests.web.browser.conftest import Sit
from tests.web.browser.labelling import Labelling, shortlist, wait_until
from tests.web.browser.seat import Seat
from tests.web.conftest import Picture

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCRIPT = "<script>window.ran=1</script>"
IMAGE = '"><img src=x onerror="window.ran=1">'
OWNER, PERSON = f"olga{IMAGE}", f"{SCRIPT}pat"
NOTE = f"a note {IMAGE}{SCRIPT}"
CLASSES = (f"spam {IMAGE}", f"ham {SCRIPT}", "eggs ${window.ran=1} {{ran}}")
OVERLAP = '\n[overlap]\nanswers = 2\nshare = 1.0\nrule = "adjudication"\n'


@pytest.fixture
def hostile(browser: Browser, tmp_path: Path) -> Path:
    """A table of texts, every one of them asked of two people."""
    table, campaign = tmp_path / "mails.csv", tmp_path / "mails"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "mail", "kind"])
        rows.writerows((f"{i}{IMAGE}", f"text {i} {SCRIPT}{IMAGE}", CLASSES[i % 3]) for i in range(12))
    shortlist("init", campaign, "--table", table, "--text", "mail", "--key", "id", "--label", "kind")
    with (campaign / "campaign.toml").open("a") as settings:
        settings.write(OVERLAP)
    return campaign


def test_it_is_only_text_on_every_page(hostile: Path, sit: Sit, picture: Picture) -> None:
    add_person(hostile, OWNER, "owner")
    with Labelling(hostile) as served:
        owner, other = sit(served, person=OWNER), sit(served, person=PERSON)
        for seat, key in ((owner, "1"), (other, "2")):
            item = seat.next_item()
            assert SCRIPT in seat.page.inner_text("#item-body")
            assert item.endswith(IMAGE)
            assert set(seat.options) == set(CLASSES)
            write_note(seat)
            seat.press(key)
            seat.next_item()
            seat.press("x")
        picture(owner.page, "hostile-label")
        wait_until(lambda: len(served.answers()) == 4)
        shown = {
            "/dashboard": ("#figures[aria-busy=false]", ()),
            "/people": ("#people table", (OWNER, PERSON)),
            "/decide": ("#options .option", (SCRIPT, IMAGE, NOTE, OWNER, PERSON)),
            "/account": ("#tokens", (OWNER,)),
            "/files": ("html.js", ()),
        }
        for path, (ready, words) in shown.items():
            owner.page.goto(path)
            owner.page.wait_for_selector(ready)
            assert [one for one in words if one not in owner.page.inner_text("main")] == []
            picture(owner.page, f"hostile{path.replace('/', '-')}", whole=True)
            check_nothing_ran(owner)
        check_nothing_ran(other)


def write_note(seat: Seat) -> None:
    seat.press("n")
    seat.page.keyboard.type(NOTE)
    seat.page.keyboard.press("Control+Enter")


def check_nothing_ran(seat: Seat) -> None:
    assert seat.page.evaluate("window.ran") is None
    assert seat.page.locator("main script, img[src=x]").count() == 0
