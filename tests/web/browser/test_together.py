"""Two people at once: the owner, and somebody who comes by an invitation."""

from __future__ import annotations

from tests.web.browser.campaigns import PASSWORD, add_person
from tests.web.browser.conftest import Sit
from tests.web.browser.labelling import Labelling
from tests.web.browser.seat import Seat
from tests.web.conftest import Picture

EACH = 8


def test_two_people_are_never_given_the_same_question(served_letters: Labelling, sit: Sit, picture: Picture) -> None:
    add_person(served_letters.folder, "olga", "owner")
    owner = sit(served_letters, "/people", "olga")
    owner.page.click("#invite-form [type=submit]")
    link = owner.page.wait_for_selector("#invite-link input")
    assert link is not None
    guest = sit(served_letters, link.input_value())
    join(guest, "gus")
    owner.page.goto("/")
    for _ in range(EACH):
        for seat in (guest, owner):  # both pages hold questions all the while, and send behind each other's back
            seat.next_item()
            seat.press("1")
    for seat in (guest, owner):
        seat.next_item()
        seat.saved()
    picture(guest.page, "two-people")
    assert not set(owner.seen) & set(guest.seen)
    assert not owner.had & guest.had
    rows = {name: served_letters.answers(name) for name in ("olga", "gus")}
    assert [row["key"] for row in rows["olga"]] == owner.seen[:EACH]
    assert [row["key"] for row in rows["gus"]] == guest.seen[:EACH]
    assert not {row["question"] for row in rows["olga"]} & {row["question"] for row in rows["gus"]}


def join(seat: Seat, name: str) -> None:
    seat.page.fill("#name", name)
    seat.page.fill("#password", PASSWORD)
    seat.page.fill("#again", PASSWORD)
    seat.page.keyboard.press("Enter")
    seat.page.wait_for_selector("#question")
