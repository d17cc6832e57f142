"""The study over HTTP: who is let in, what is kept, what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist.study.app import LONGEST, study_app
from shortlist.study.results import answers_csv, results_of
from shortlist.study.store import StudyStore, open_study
from tests.study.participant import Participant
from tests.study.studies import HOSTILE, image_folder, small_study, truths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_study(tmp_path)


@pytest.fixture
def app(folder: Path) -> Iterator[Any]:
    made = study_app(folder)
    yield made
    made.state.store.close()


@pytest.fixture
def participant(app: Any) -> Participant:
    return Participant(TestClient(app))


def token(app: Any) -> str:
    store: StudyStore = app.state.store
    return store.fact("token")


# --- a whole session -------------------------------------------------------------------------------------------


def test_a_session_from_the_first_page_to_the_last(app: Any, folder: Path) -> None:
    truth = truths(folder)
    ana = Participant(TestClient(app), lambda q: (truth[q["item"]], 2.0))
    assert "one after another" in ana.client.get("/").text
    ana.take_part("Ana")
    thanks = ana.client.get("/", follow_redirects=True)
    assert thanks.url.path == "/thanks"
    assert "8.0 s" in thanks.text
    assert "4 of 4" in thanks.text
    (session,) = app.state.store.sessions()
    assert session.seconds == (2.0,) * 4
    assert session.correct == 4


def test_practice_comes_first_and_does_not_count(participant: Participant, app: Any) -> None:
    participant.start()
    asked = participant.questions()
    assert [(q["practice"], q["number"], q["of"]) for q in asked] == [
        (True, 1, 1),
        *((False, i, 4) for i in (1, 2, 3, 4)),
    ]
    participant.answer(1)
    assert [q["number"] for q in participant.questions()] == [1, 2, 3, 4]
    assert len(app.state.store.rows()) == 0
    participant.answer()
    assert len(app.state.store.rows()) == 4


def test_everybody_sees_the_same_items_with_as_many_options_as_their_group_has(app: Any, folder: Path) -> None:
    truth, seen, sizes = truths(folder), [], []
    for _ in range(6):
        somebody = Participant(TestClient(app))
        somebody.start()
        asked = somebody.questions()
        assert all(truth[q["item"]] in [o["class"] for o in q["options"]] for q in asked)
        seen.append({q["item"] for q in asked})
        sizes.append({len(q["options"]) for q in asked})
    assert all(items == seen[0] for items in seen)
    assert sorted(map(sorted, sizes)) == [[2], [2], [4], [4], [8], [8]]


def test_pages_have_their_styles(participant: Participant) -> None:
    assert participant.client.get("/static/study/study.css").status_code == 200


def test_what_is_left_counts_down(participant: Participant) -> None:
    started = participant.client.post("/api/start", json={"consent": True}, headers=participant.headers)
    assert started.json() == {"left": 5}
    assert [participant.post(question).json() for question in participant.questions()] == [
        {"left": left} for left in (4, 3, 2, 1, 0)
    ]
    again = participant.client.post("/api/start", json={"consent": True}, headers={**participant.headers})
    assert again.json() == {"left": 0}


def test_the_truth_is_told_to_nobody(participant: Participant) -> None:
    participant.start()
    question = participant.questions()[0]
    assert set(question) == {"item", "src", "practice", "number", "of", "options"}
    assert all(set(option) == {"class", "name"} for option in question["options"])


def test_a_reload_goes_on_where_one_was(participant: Participant) -> None:
    participant.start()
    before = participant.questions()
    participant.answer(2)
    assert participant.questions() == before[2:]
    assert participant.client.get("/", follow_redirects=False).headers["location"] == "/question"
    participant.start("again")
    assert participant.questions() == before[2:]


def test_pictures_are_png_and_only_for_those_who_take_part(participant: Participant, app: Any) -> None:
    participant.start()
    reply = participant.client.get(participant.questions()[0]["src"])
    assert reply.headers["content-type"] == "image/png"
    assert reply.content.startswith(b"\x89PNG")
    assert participant.client.get("/api/items/999").status_code == 404
    assert TestClient(app).get("/api/items/0").status_code == 404


def test_somebody_else_can_take_part_on_the_same_computer(participant: Participant, app: Any) -> None:
    participant.take_part()
    assert participant.client.post("/api/leave", json={}, headers=participant.headers).status_code == 200
    participant.take_part()
    assert [session.person for session in app.state.store.sessions()] == [1, 2]


def test_who_gave_up_an_hour_ago_leaves_a_place(folder: Path) -> None:
    store = open_study(folder)
    now = datetime.now(UTC)
    gone = store.start("gone", None, now - timedelta(hours=2))
    groups = sorted(store.start(f"{i}", None, now).options for i in range(3))
    assert groups == [2, 4, 8]
    assert gone.options in groups
    told = results_of(store)
    assert (told.under_way, told.given_up, told.items, len(told.sessions)) == (3, 1, 4, 0)
    store.close()


# --- answers ---------------------------------------------------------------------------------------------------


def test_nothing_is_answered_twice(participant: Participant, app: Any) -> None:
    participant.start()
    practice, first, second = participant.questions()[:3]
    assert participant.post(practice).status_code == 200
    assert participant.post(first).status_code == 200
    again = participant.post(first)
    assert again.status_code == 409
    assert "answered already" in again.json()["error"]
    assert len(app.state.store.rows()) == 1
    assert participant.post(second).status_code == 200


def test_answers_come_in_turn_and_only_to_what_was_shown(participant: Participant, app: Any) -> None:
    participant.start()
    first, second = participant.questions()[:2]
    assert participant.post(second).status_code == 409
    shown = {option["class"] for option in first["options"]}
    participant.choose = lambda q: (next(c for c in range(10) if c not in shown), 1.0)
    assert participant.post(first).status_code == 422
    assert participant.post({**first, "item": 99}).status_code == 422
    assert len(app.state.store.rows()) == 0


def test_after_the_last_nothing_more_is_taken(participant: Participant) -> None:
    participant.start()
    last = participant.questions()[-1]
    participant.answer()
    assert participant.post(last).status_code == 409
    assert participant.questions() == []


@pytest.mark.parametrize(
    "change",
    [
        {"active_seconds": -1.0},
        {"active_seconds": "1"},
        {"wall_seconds": 1e12},
        {"item": -1},
        {"item": 2**40},
        {"chosen": 1.5},
        {"chosen": None},
        {"extra": 1},
    ],
)
def test_bad_answers_get_a_sentence(participant: Participant, change: dict[str, object]) -> None:
    participant.start()
    question = participant.questions()[0]
    body = {"item": question["item"], "chosen": question["options"][0]["class"]}
    body |= {"active_seconds": 1.0, "wall_seconds": 1.0} | change
    reply = participant.client.post("/api/answers", json=body, headers=participant.headers)
    assert reply.status_code == 422
    assert isinstance(reply.json()["error"], str)


@pytest.mark.parametrize("body", ["", "{", "[]", '{"item": NaN}', '{"item": 1e999}', "\x00", '"' + "x" * 100])
def test_what_is_no_json_gets_a_sentence(participant: Participant, body: str) -> None:
    participant.start()
    reply = participant.client.post("/api/answers", content=body, headers=participant.headers)
    assert reply.status_code in (400, 422)
    assert "error" in reply.json()


def test_infinite_seconds_are_refused(participant: Participant) -> None:
    participant.start()
    question = participant.questions()[0]
    body = json.dumps(
        {"item": question["item"], "chosen": 0, "active_seconds": float("inf"), "wall_seconds": float("nan")}
    )
    assert participant.client.post("/api/answers", content=body, headers=participant.headers).status_code == 422


# --- who is kept out -------------------------------------------------------------------------------------------


def test_one_has_to_agree(participant: Participant, app: Any) -> None:
    reply = participant.client.post("/api/start", json={"consent": False}, headers=participant.headers)
    assert reply.status_code == 422
    assert app.state.store.people() == []


@pytest.mark.parametrize("path", ["/api/start", "/api/answers", "/api/leave"])
def test_nothing_changes_without_the_token_of_the_page(participant: Participant, app: Any, path: str) -> None:
    participant.start()
    question = participant.questions()[0]
    body = {"item": question["item"], "chosen": question["options"][0]["class"], "active_seconds": 1, "wall_seconds": 1}
    body = {"/api/start": {"consent": True}, "/api/answers": body, "/api/leave": {}}[path]
    other = Participant(TestClient(app))
    for headers in ({}, {"X-CSRF-Token": "0" * 64}, {"X-CSRF-Token": "é".encode()}, other.headers):
        reply = participant.client.post(path, json=body, headers=headers)  # type: ignore[arg-type]
        assert reply.status_code == 403
    assert len(participant.questions()) == 5
    assert TestClient(app).post(path, json=body, headers=participant.headers).status_code == 403


def test_results_need_the_token_of_the_command(participant: Participant, app: Any) -> None:
    participant.take_part()
    for address in ("/results", "/results?token=", "/results?token=guess", "/results?token=%C3%A9"):
        assert participant.client.get(address).status_code == 404
    shown = participant.client.get(f"/results?token={token(app)}")
    assert shown.status_code == 200
    assert "1 person has finished" in shown.text


def test_strangers_are_sent_to_the_first_page(app: Any) -> None:
    stranger = TestClient(app)
    for path in ("/question", "/thanks"):
        assert stranger.get(path, follow_redirects=False).headers["location"] == "/"
    assert stranger.get("/api/questions").status_code == 403
    stranger.cookies["shortlist_study"] = "' OR 1=1 --"
    assert stranger.get("/", follow_redirects=False).status_code == 200
    assert stranger.get("/nowhere").status_code == 404


def test_pages_of_others_may_not_frame_or_script_it(participant: Participant, app: Any) -> None:
    for path in ("/", "/nowhere", "/api/questions", "/static/study/study.js", f"/results?token={token(app)}"):
        policy = participant.client.get(path).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
    cookie = TestClient(app).get("/").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


@pytest.mark.parametrize("told", [True, False])
def test_long_bodies_are_cut_off(participant: Participant, told: bool) -> None:
    participant.start()
    body = b'{"name": "' + b"x" * LONGEST + b'"}'
    content = body if told else iter([body[:3000], body[3000:]])
    reply = participant.client.post("/api/answers", content=content, headers=participant.headers)
    assert reply.status_code == 413
    assert reply.json()["error"] == "the body is larger than 4 KB"


def test_files_outside_are_out_of_reach(app: Any) -> None:
    for path in ("/static/../study_app.py", "/static/%2e%2e/study_app.py", "/static/..%2fstudy_app.py"):
        assert TestClient(app).get(path).status_code == 404


# --- names from outside ----------------------------------------------------------------------------------------


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    safe = [name.replace("/", "∕") for name in (HOSTILE, "b", "c")]
    images = image_folder(tmp_path / "images", names=safe)
    asked = {"items": 2, "groups": [2, 3], "practice": 0}
    open_study(tmp_path / "s", {"dataset": {"name": "image_folder", "folder": str(images)}, **asked}).close()
    app = study_app(tmp_path / "s")
    somebody = Participant(TestClient(app))
    somebody.take_part('<script>alert("me")</script>')
    shown = somebody.client.get(f"/results?token={token(app)}").text
    assert "<script>" not in shown  # its own has a source
    assert "onerror" not in shown
    app.state.store.close()


def test_names_hold_nothing_for_a_spreadsheet_to_run(participant: Participant, app: Any) -> None:
    participant.take_part('=HYPERLINK("x")\n')
    assert app.state.store.people()[0].name == 'HYPERLINK("x")'


# --- files -----------------------------------------------------------------------------------------------------


def test_every_answer_is_in_the_csv_and_it_is_the_same_twice(app: Any, folder: Path) -> None:
    import csv
    import io

    truth = truths(folder)
    for i in range(7):
        Participant(TestClient(app), lambda q, i=i: (truth[q["item"]], 1.0 + i)).take_part(f"p{i}")  # type: ignore[misc]
    half = Participant(TestClient(app))
    half.start()
    half.answer(3)
    first, second = answers_csv(app.state.store), answers_csv(app.state.store)
    assert first == second
    rows = list(csv.DictReader(io.StringIO(first)))
    assert len(rows) == 7 * 4 + 2
    assert {row["correct"] for row in rows if row["finished"] == "yes"} == {"yes"}
    assert all(row["truth"] in json.loads(row["classes"]) for row in rows)
    (left_out,) = {row["person"] for row in rows if row["left_out"] == "yes"}  # one group has three people
    told = results_of(app.state.store)
    assert (told.ruled.left_out, told.everybody.left_out) == ((int(left_out),), ())
    assert [sum(group.people for group in table.groups) for table in (told.ruled, told.everybody)] == [6, 7]
    assert sum(row["finished"] == "no" for row in rows) == 2


def test_a_refusal_says_what_is_wrong(participant: Participant) -> None:
    for address, status, words in (
        ("/nothing", 404, "There is no such page."),
        ("/results?token=x", 404, "There is no such page."),
        ("/api/questions", 403, "you have not started yet; open the first page"),
    ):
        got = participant.client.get(address)
        assert (got.status_code, words in got.text) == (status, True)
    got = participant.client.post("/", json={})
    assert (got.status_code, "Method Not Allowed" in got.text) == (405, True)


def test_a_page_that_is_not_for_now_leads_to_the_one_that_is(participant: Participant) -> None:
    def leads(address: str) -> tuple[int, str | None]:
        got = participant.client.get(address, follow_redirects=False)
        return got.status_code, got.headers.get("location")

    assert [leads(address) for address in ("/question", "/thanks")] == [(303, "/")] * 2
    participant.start()
    assert [leads(address) for address in ("/", "/thanks")] == [(303, "/question")] * 2
    participant.answer()
    assert [leads(address) for address in ("/", "/question")] == [(303, "/thanks")] * 2
