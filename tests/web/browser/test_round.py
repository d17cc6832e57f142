"""A campaign from its first question into its third round, through the page alone; the worker does the rest."""

from __future__ import annotations

from pathlib import Path

from tests.web.browser.campaigns import CLASSES, SMALL_ROUNDS, truths, written
from tests.web.browser.conftest import Sit
from tests.web.browser.labelling import Labelling, wait_until
from tests.web.browser.seat import Seat
from tests.web.conftest import Picture

FEW = 20  # so many classes are shown as buttons rather than searched


def test_rounds_follow_each_other_by_themselves(tmp_path: Path, sit: Sit, picture: Picture) -> None:
    with Labelling(written(tmp_path / "letters", SMALL_ROUNDS)) as served:
        seat = sit(served, served.start_link)
        for _ in range(6):  # without a model: all classes, found by typing
            key = seat.next_item()
            assert seat.searches
            seat.say(truths()[key])
        wait_until(lambda: is_training(seat))
        with served.held_worker():
            answer_ahead(seat, picture)
            seat.page.wait_for_selector("#waiting:not([hidden]) >> text=The model is learning")
            picture(seat.page, "waiting-for-the-model")
        missed = answer_until_a_list_lacks_the_class(served, seat, picture)
        given = served.answers()
    assert {row["purpose"] for row in given} >= {"initial", "ahead", "calibration", "query"}
    assert len({row["question"] for row in given}) == len(given)
    (wrong_list,) = [row for row in given if row["key"] == missed]
    assert (wrong_list["misses"], len(wrong_list["stage_seconds"])) == (1, 2)
    assert wrong_list["class"] == truths()[missed]


def is_training(seat: Seat) -> bool:
    status = seat.page.request.get("/api/status").json()
    return status["state"] == "working" and str(status["doing"]).startswith("training on 6 labels")


def answer_ahead(seat: Seat, picture: Picture) -> None:
    """What there is to answer while the model trains: two questions of the next round."""
    for _ in range(2):
        key = seat.next_item()
        seat.doing("You are answering ahead while the model trains.")
        picture(seat.page, "ahead")
        seat.say(truths()[key])
    seat.saved()


def answer_until_a_list_lacks_the_class(served: Labelling, seat: Seat, picture: Picture) -> str:
    """Answers as they are, to the third round at least; the item whose list lacked its class."""
    missed = ""
    while served.rounds().get(3) is None or not missed:
        key = seat.next_item()
        if not missed and 0 < len(seat.options) < CLASSES - FEW and truths()[key] not in seat.options:
            missed = key
            seat.press("0")
            seat.page.wait_for_selector("#query:focus")
            picture(seat.page, "none-then-search")
        seat.say(truths()[key])
    seat.next_item()
    seat.doing(f"Round {max(served.rounds())}")
    picture(seat.page, "round-3")
    return missed
