"""A page that is loaded again, and a server that dies and comes back: what was answered is there, and once."""

from __future__ import annotations

from tests.web.browser.conftest import Sit
from tests.web.browser.labelling import Labelling, wait_until
from tests.web.conftest import Picture


def test_answers_given_while_the_server_is_dead_are_saved_when_it_is_back(
    served_letters: Labelling, sit: Sit, picture: Picture
) -> None:
    seat = sit(served_letters, person="rob")
    seat.next_item()
    seat.press("1")
    seat.next_item()
    seat.saved()
    seat.page.reload()
    seat.seen.pop()  # it may be asked again, as it was not answered
    seat.next_item()
    seat.page.wait_for_load_state("networkidle")  # the pictures of the next ones are there too
    served_letters.kill()
    try:
        for _ in range(3):
            seat.press("1")
            seat.next_item()
        seat.page.wait_for_selector("#saving-words:has-text('Offline: 3 answers waiting.')")
        picture(seat.page, "server-gone")
        assert len(served_letters.answers("rob")) == 1
    finally:
        served_letters.start()
    seat.saved()
    seat.press("1")
    wait_until(lambda: len(served_letters.answers("rob")) >= 5)
    rows = served_letters.answers("rob")
    assert [row["key"] for row in rows] == seat.seen[:5]
    assert len({row["question"] for row in rows}) == 5
    assert all(row["supersedes"] is None for row in rows)
