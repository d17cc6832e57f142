"""The service between people and a campaign: what is lent, written down and counted, at every moment."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlist.campaign.accounting.timing import Taken
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.storage.database import Damaged, Unwritable
from shortlist.campaign.storage.store import RoundRow
from shortlist.queries.one_bit import OneBit
from shortlist.queries.top_k import TopK
from shortlist.web.service import labelling
from shortlist.web.service.dashboard import set_aside
from shortlist.web.service.labelling import AT_ONCE, PRESENT, Doing
from tests.cases import in_turn
from tests.web.serving import DATA, Person, Served, served, truth
from tests.web.wire import Kept


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        yield made


@pytest.fixture
def ana(app: Served) -> Person:
    return app.sign_in("ana")


def call(app: Served, work: Any, *args: Any) -> Any:
    assert app.client.portal is not None
    return app.client.portal.call(work, *args)


# --- questions -------------------------------------------------------------------------------------------------


def test_a_page_keeps_so_many_questions_and_no_more(app: Served) -> None:
    service = app.service
    first = call(app, service.questions, "ana", 50)
    assert len(first) == 12  # all that are open
    held = [q["id"] for q in first]
    assert call(app, service.questions, "ana", 12, held) == []
    assert [q["id"] for q in call(app, service.questions, "ana", 50, held[:3])] == held[3:]
    assert [q["id"] for q in call(app, service.questions, "ana", 4, held[:3])] == held[3:4]
    assert [q["id"] for q in call(app, service.questions, "ana", 1)] == held[:1]


def test_at_most_so_many_at_once(tmp_path: Path) -> None:
    with served(tmp_path / "run", initial=30) as app:
        assert len(call(app, app.service.questions, "ana", 50)) == AT_ONCE
        assert len(call(app, app.service.questions, "ben", 50)) == 10
        assert call(app, app.service.questions, "ana", 50, list(range(1, AT_ONCE + 1))) == []


def test_two_who_would_wait_at_once_are_handed_out_one_lot(tmp_path: Path) -> None:
    """Ahead questions count in the next round's budget: no more of them are taken than people need."""
    with served(tmp_path / "run", ahead=40, budget=45) as app:
        service = app.service
        call(app, service.questions, "ana", 20)
        for person in ("ben", "cem"):
            call(app, service.questions, person, 0)  # they are there

        async def both() -> tuple[Any, Any]:
            return await asyncio.gather(service.questions("ben", 5), service.questions("cem", 5))

        asked = call(app, both)
        assert {q["purpose"] for part in asked for q in part} == {"ahead"}
        assert len({q["id"] for part in asked for q in part}) == 10
        assert len(app.campaign.view.asked_items(2, "ahead")) == labelling.AHEAD * 3  # ten for each of three at work


def test_who_holds_questions_gets_none_ahead(app: Served) -> None:
    held = [q["id"] for q in call(app, app.service.questions, "ana", 20)]
    assert call(app, app.service.questions, "ana", 20, held) == []
    assert app.campaign.view.asked_items(2, "ahead") == []


def test_what_others_have_opened_is_seen_where_questions_run_short(
    app: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's word may be lost: a page that is short of questions has the server look, but not at every call."""
    asked, looks = call(app, app.service.questions, "ana", 20), list[int]()
    look = app.service.look

    async def counted(*leases: Any) -> None:
        looks.append(1)
        await look(*leases)

    monkeypatch.setattr(app.service, "look", counted)
    held = [q["id"] for q in asked]
    call(app, app.service.questions, "ana", 13, held)
    assert looks == []  # just looked
    app.service._looked -= labelling.STALE + 1
    call(app, app.service.questions, "ana", 20, held[:8])
    assert looks == []  # 12 are open, and 12 are wanted
    call(app, app.service.questions, "ben", 20)
    assert looks == [1]


def test_present_is_who_was_heard_of_lately(app: Served, ana: Person) -> None:
    service = app.service
    assert service.progress()["people"] == 0
    ana.questions(1)
    app.sign_in("ben").questions(1)
    assert service.progress()["people"] == 2
    service._seen["ana"] -= PRESENT
    assert service.progress()["people"] == 1
    service._seen["ben"] -= PRESENT - 30
    assert service.progress()["people"] == 1


# --- leases ----------------------------------------------------------------------------------------------------


def test_leases_are_written_down_for_as_long_as_they_hold_and_until_they_are_given_back(app: Served) -> None:
    service, now = app.service, time.time()
    first, second = (q["id"] for q in call(app, service.questions, "ana", 2))
    service._save_leases()
    kept = {question: until for question, _, until in app.people.leases(now)}
    assert kept.keys() == {first, second}
    assert all(abs(until - now - service.leases.lease_seconds) < 60 for until in kept.values())
    service.release("ana", [first])
    service._save_leases()
    assert [row[:2] for row in app.people.leases(now)] == [(second, "ana")]


def test_leases_that_cannot_be_written_are_written_later(app: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    service = app.service
    first, second = (q["id"] for q in call(app, service.questions, "ana", 2))
    with monkeypatch.context() as patched:

        def full(rows: Any) -> None:
            service.release("ana", [first])  # meanwhile
            raise Unwritable(app.people.path, "disk full")

        patched.setattr(app.people, "save_leases", full)
        service._save_leases()
    service._save_leases()
    assert [row[:2] for row in app.people.leases(time.time())] == [(second, "ana")]


def test_what_is_lent_when_the_server_ends_is_lent_when_it_comes_back(tmp_path: Path) -> None:
    with served(tmp_path / "run") as app:
        app.service._save_leases()
        lent = [q["id"] for q in call(app, app.service.questions, "ana", 2)]
    with served(tmp_path / "run") as app:
        assert all(app.service.leases.is_with(id, "ana") for id in lent)
        assert [q["id"] for q in call(app, app.service.questions, "ben", 1)] == [max(lent) + 1]


# --- what is counted -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"holdout": 6}, {"query": TopK(2)}, {"query": OneBit()}])
def test_numbers_kept_up_are_those_that_are_counted(tmp_path: Path, settings: Any) -> None:
    """After answers, corrections and decisions of every kind, on conventional questions and lists."""
    with served(tmp_path / "run", **settings) as app:
        ana, olga = app.sign_in("ana"), app.sign_in("olga", "owner")
        for turn in range(4):
            for place, question in enumerate(ana.questions(6)):
                number = said(ana, question, place + turn)
                if place % 2:
                    said(ana, question, place + turn + 1 + place // 2, supersedes=number)
                if place == 4:
                    olga.post("/api/decisions", question=question["id"], label=truth(question))
                before = app.service.progress()
                assert app.recounted() == before, (turn, place)
            app.work()


def said(person: Person, question: dict[str, Any], turn: int, **more: Any) -> int:
    """An answer of one kind after another."""
    stages = len(question["cuts"]) + question["exhaustive"]
    kinds: list[dict[str, Any]] = [
        {"kind": "skip", "path": []},
        {"kind": "none", "path": [-1] * stages, "stage_seconds": [1.0] * stages},
        {"kind": "unreadable", "path": []},
    ]
    first = question["classes"][0] if question["classes"] else truth(question)
    body = kinds[turn % 4] if turn % 4 < 3 else {"kind": "label", "path": [first], "stage_seconds": [2.0]}
    number: int = person.post("/api/answers", question=question["id"], **body, **more)["answer"]
    return number


def test_what_is_saved_in_minutes(app: Served) -> None:
    """What as many answers with all classes took here, less what those with lists took; whatever the bits would say."""
    service = app.service
    service.totals.conventional, service.totals.cost = 700.0, 100.0
    for whole, listed, told in (
        (Taken(29, 290.0), Taken(500, 500.0), None),
        (Taken(500, 500.0), Taken(29, 290.0), None),
        (Taken(30, 300.0), Taken(60, 150.0), 7.5),
        (Taken(30, 60.0), Taken(60, 150.0), -0.5),  # shorter lists may take longer
    ):
        service.times.whole, service.times.listed = whole, listed
        progress = service.progress()
        assert (progress["saved"], progress["unit"], progress["saved_minutes"]) == (600.0, "bits", told)


@in_turn(
    ("doing", "round", "state"),
    [
        ("waiting", "asking", "asking"),
        ("waiting", "calibrating", "calibrating"),
        ("failed", "asking", "asking"),
        ("stopped", "calibrating", "calibrating"),
        ("working", "asking", "working"),
        ("starting", "calibrating", "working"),
        ("waiting", "done", "working"),
        ("over", "done", "over"),
        ("over", "asking", "over"),
    ],
)
def test_what_the_campaign_is_at(app: Served, doing: Any, round: str, state: str) -> None:
    service = app.service
    service.doing, service._round = Doing(doing, "words"), RoundRow(1, round, None, None, None, None)
    told = service.progress()
    assert (told["state"], told["doing"]) == (state, "words")
    assert told["ending"] == ("words" if doing == "over" else None)


# --- what others have written ----------------------------------------------------------------------------------


def test_nothing_is_counted_again_where_nothing_came(app: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelling, "NOTICED", 0.01)
    counted: list[int] = []

    async def recount() -> None:
        counted.append(1)

    monkeypatch.setattr(app.service, "recount", recount)

    async def watch(looks: int) -> None:
        before, watching = len(looked), asyncio.create_task(app.service.notice())
        while len(looked) < before + looks:
            await asyncio.sleep(0.01)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    looked, in_place = list[int](), app.service.in_place

    async def look() -> int:
        looked.append(await in_place())
        return looked[-1]

    monkeypatch.setattr(app.service, "in_place", look)
    call(app, watch, 3)
    assert counted == []
    app.service._last -= 1  # as if there were an answer more
    call(app, watch, 3)
    assert counted == [1]


# --- answers ---------------------------------------------------------------------------------------------------


def test_an_owner_decides_only_what_there_is(app: Served) -> None:
    olga, (question,) = app.sign_in("olga", "owner"), app.sign_in("ana").questions(1)
    for body, words in (
        ({"question": 999, "label": 1}, "question 999: there is none such"),
        ({"question": question["id"], "kind": "label"}, "a label is missing"),
    ):
        got = olga.ask("POST", "/api/decisions", json=body)
        assert got.status_code in (400, 422), got.text
        assert words in got.text or got.status_code == 422
    olga.post("/api/decisions", question=question["id"], label=1)
    olga.post("/api/decisions", question=question["id"], label=2)  # takes the place of the first
    ((kept, final),) = [(a.label, a.final) for a in app.campaign.view.standing()]
    assert (kept, final) == (2, True)


def test_ones_own_answers_newest_first_and_so_many(app: Served, ana: Person) -> None:
    numbers = [ana.answer(q, truth(q))["answer"] for q in ana.questions(3)]
    mine = call(app, app.service.mine, "ana", 2)
    assert [answer["id"] for answer in mine] == [numbers[2], numbers[1]]
    assert call(app, app.service.mine, "ben", 2) == []


# --- items set aside -------------------------------------------------------------------------------------------


def test_what_the_dataset_cannot_read_is_set_aside_until_somebody_labels_it(app: Served, ana: Person) -> None:
    first, second = ana.questions(2)
    number = {q.id: q.item for q in app.campaign.view.questions()}
    with app.campaign.store.writing() as w:
        w.set_unreadable({number[q["id"]]: "torn" for q in (first, second)})
    listed = [(one["item"], one["why"], one["note"], one["person"]) for one in set_aside(app.campaign)]
    positions = sorted(DATA.keys.index(q["item"]["key"]) for q in (first, second))
    assert listed == [(at, "unreadable", "torn", None) for at in positions]
    ana.answer(first, truth(first))
    assert [one["item"] for one in set_aside(app.campaign)] == [DATA.keys.index(second["item"]["key"])]
    ana.post("/api/answers", question=second["id"], kind="unreadable", note="black")
    assert [(one["why"], one["note"], one["person"]) for one in set_aside(app.campaign)] == [
        ("unreadable", "black", "ana")
    ]


def test_trouble_is_in_the_log_once_and_on_the_page_until_it_is_over(app: Served) -> None:
    service, path = app.service, app.campaign.store.path
    full, locked = Unwritable(path, "disk full"), Unwritable(path, "locked")
    log, kept = logging.getLogger("uvicorn.error"), Kept(logging.ERROR)
    log.addHandler(kept)
    for trouble in (full, Unwritable(path, "disk full"), locked):
        service._in_trouble(trouble)
    log.removeHandler(kept)
    assert [record.getMessage() for record in kept.records] == [str(full), str(locked)]
    assert (service.progress()["saves"], service.progress()["error"]) == (False, str(locked))
    call(app, service.in_place)
    assert (service.progress()["saves"], service.progress()["error"]) == (True, None)
    service._in_trouble(Damaged(path, "a torn page"))
    call(app, service.in_place)  # that it can be read in one place mends no other
    assert service.progress()["saves"] is False


def test_who_has_answered_a_shared_question_is_not_lent_it_again(tmp_path: Path) -> None:
    with served(tmp_path / "run", overlap=Overlap(2, 1.0), initial=3) as app:
        ana, ben = app.sign_in("ana"), app.sign_in("ben")
        first, second, third = ana.questions(3)
        ana.answer(first, truth(first))
        call(app, app.service.look)
        assert [q["id"] for q in ana.questions(3)] == [second["id"], third["id"]]
        assert [q["id"] for q in ben.questions(3)] == [q["id"] for q in (first, second, third)]


def test_there_is_no_question_0(app: Served, ana: Person) -> None:
    got = ana.ask("POST", "/api/answers", json={"question": 0, "kind": "skip"})
    assert (got.status_code, got.json()["error"]) == (409, "question 0 has been answered")
