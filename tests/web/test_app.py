"""The app as people and programs use it, in one process: questions, answers, undo, the loop, teams, owners."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from shortlist import measures
from shortlist.campaign.questions.resolution import Overlap
from shortlist.queries.one_bit import OneBit
from shortlist.queries.top_k import TopK
from shortlist.rates import OF_ROUND
from shortlist.web.app import label_app
from shortlist.web.people.passwords import FREE_TRIES, Passwords
from shortlist.web.people.people import People
from tests.campaign.toys import campaign
from tests.web.serving import DATA, FAST, Person, Served, folder_of, path_to, served, truth


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        yield made


@pytest.fixture
def ana(app: Served) -> Person:
    return app.sign_in("ana")


def answer_all(person: Person) -> None:
    """Until nothing is open."""
    while asked := person.questions(5):
        for question in asked:
            person.answer(question, truth(question))


# --- one person ------------------------------------------------------------------------------------------------


def test_the_first_questions_show_everything_a_page_needs(ana: Person) -> None:
    got = ana.get("/api/questions?n=2")
    first, second = got["questions"]
    assert first["item"] == {"key": first["item"]["key"], "kind": "features", "values": [pytest.approx(_value(first))]}
    assert (first["classes"], first["cuts"], first["exhaustive"], first["answer"]) == ([], [], True, None)
    assert first["id"] != second["id"]
    assert ana.get("/api/classes") == {"names": ["c0", "c1", "c2", "c3", "c4"], "about": []}
    progress = got["progress"]
    assert (progress["round"], progress["done"], progress["open"], progress["unit"]) == (1, 0, 12, "bits")
    assert (progress["left"], progress["items"]) == (60, 60)  # of the dataset


def _value(question: dict[str, dict[str, str]]) -> float:
    return float(question["item"]["key"].removeprefix("item"))


def test_an_answer_brings_the_next_question_and_is_in_the_database(app: Served, ana: Person) -> None:
    first, *others = ana.questions(3)
    held = [q["id"] for q in others]
    got = ana.answer(first, truth(first), n=3, holding=held, wall_seconds=2.5, note="  blurred ")
    assert [q["id"] for q in got["questions"]] == [held[-1] + 1]
    assert got["progress"]["done"] == 1
    (kept,) = app.campaign.store.answers()
    assert (kept.id, kept.person, kept.active_seconds, kept.wall_seconds) == (got["answer"], "ana", 1.5, 2.5)
    assert (kept.stage_seconds, kept.note) == ([1.5], "blurred")
    assert ana.get("/api/answers")["answers"][0]["id"] == kept.id


def test_a_whole_campaign_through_the_api(app: Served, ana: Person) -> None:
    """Initial, calibration, query and ahead questions, "None of the above" among them, to the end."""
    for _ in range(10):
        answer_all(ana)
        app.work()
    assert {q.purpose for q in app.campaign.store.questions()} == {"initial", "calibration", "query", "ahead"}
    record = measures.read(app.campaign.folder.path)
    assert record.ending == "4 rounds done"
    labels = measures.labels(app.campaign.folder.path)
    assert labels == {key: f"c{DATA.labels[int(key.removeprefix('item'))]}" for key in labels}
    answered = app.campaign.store.answers()
    assert any(a.misses for a in answered)
    status = ana.get("/api/status")
    assert status["cost"] == pytest.approx(record.rounds[-1].cost, abs=0.06)
    assert status["saved"] > 0


def test_what_no_list_names_comes_in_the_order_that_the_model_has(app: Served, ana: Person) -> None:
    """In the dataset's numbers, and the same when one goes back; before a model nobody knows an order."""
    assert [q["order"] for q in ana.questions(3)] == [None] * 3
    answer_all(ana)
    app.work()
    for question in ana.questions(5):
        asked = app.campaign.view.asked(question["round"])
        probs = asked.probs[asked.keys.tolist().index(question["item"]["key"])]
        ranked = np.argsort(-probs[app.campaign.known.class_of], kind="stable").tolist()
        assert question["order"] == [cls for cls in ranked if cls not in question["classes"]]
        ana.answer(question, truth(question))
        assert ana.get(f"/api/questions/{question['id']}")["order"] == question["order"]


def test_going_back_and_saying_something_else(app: Served, ana: Person) -> None:
    first, second = ana.questions(2)
    given = [ana.answer(q, (truth(q) + 1) % 5)["answer"] for q in (first, second)]
    newest, oldest = ana.get("/api/answers")["answers"]
    assert ([newest["id"], oldest["id"]], oldest["question"]) == (given[::-1], first["id"])
    again = ana.get(f"/api/questions/{first['id']}")
    assert again["answer"]["id"] == given[0]
    ana.answer(again, truth(first), supersedes=given[0])
    ana.answer(second, truth(second), supersedes=given[1])
    kept = measures.labels(app.campaign.folder.path)
    assert kept == {q["item"]["key"]: f"c{truth(q)}" for q in (first, second)}
    refused = ana.ask("POST", "/api/answers", json={"question": first["id"], "kind": "skip", "supersedes": given[0]})
    assert refused.status_code == 400
    assert len(ana.get("/api/answers")["answers"]) == 2


def test_skip_not_any_class_and_unreadable(app: Served, ana: Person) -> None:
    a, b, c = ana.questions(3)
    ana.post("/api/answers", question=a["id"], kind="skip", path=[], stage_seconds=[0.5])
    ana.post("/api/answers", question=b["id"], kind="none", path=[-1], stage_seconds=[0.5])
    ana.post("/api/answers", question=c["id"], kind="unreadable", note="black")
    owner = app.sign_in("olga", "owner")
    listed = owner.get("/api/set-aside")["items"]
    assert {one["why"]: (one["item"]["key"], one["note"]) for one in listed} == {
        "none": (b["item"]["key"], None),
        "unreadable": (c["item"]["key"], "black"),
    }
    progress = ana.get("/api/status")  # the skip and what cannot be read have cost; "not any class" is on both sides
    assert (progress["items_done"], progress["items"]) == (2, 60)
    assert progress["saved"] == round(-2 * app.campaign.item_cost, 1)
    assert app.recounted() == progress
    owner.post("/api/decisions", question=c["id"], label=truth(c))
    assert [one["why"] for one in owner.get("/api/set-aside")["items"]] == ["none"]


def test_an_answer_that_is_sent_twice_is_kept_once_and_told_its_number_again(app: Served, ana: Person) -> None:
    question = ana.questions(1)[0]
    numbers = [ana.answer(question, truth(question))["answer"] for _ in range(3)]
    assert len(set(numbers)) == 1
    assert len(app.campaign.store.answers()) == 1
    other = ana.ask("POST", "/api/answers", json={"question": question["id"], "kind": "skip"})
    assert (other.status_code, other.json()["error"]) == (409, f"question {question['id']} has been answered")


def test_who_would_wait_gets_questions_ahead(app: Served, ana: Person) -> None:
    for question in ana.questions(12):
        ana.answer(question, truth(question))
    assert [q["purpose"] for q in ana.questions(3)] == ["ahead"] * 3
    app.work()
    purposes = {q["purpose"] for q in ana.questions(20)}
    assert purposes == {"ahead", "calibration"}


# --- several people --------------------------------------------------------------------------------------------


def test_two_people_never_get_the_same_question(app: Served, ana: Person) -> None:
    ben = app.sign_in("ben")
    mine, yours = ana.questions(6), ben.questions(6)
    assert not {q["id"] for q in mine} & {q["id"] for q in yours}
    stolen = ben.ask("POST", "/api/answers", json={"question": mine[0]["id"], "kind": "skip"})
    assert (stolen.status_code, stolen.json()["error"]) == (409, f"question {mine[0]['id']} is with another person now")
    assert [q["purpose"] for q in ben.questions(7, ",".join(str(q["id"]) for q in yours))] == []
    ana.post("/api/leases/release", questions=[mine[0]["id"]])
    got = ben.questions(7, ",".join(str(q["id"]) for q in yours))
    assert [q["id"] for q in got] == [mine[0]["id"]]


def test_a_question_in_somebody_elses_hands_is_not_shown(app: Served, ana: Person) -> None:
    ben, (mine,) = app.sign_in("ben"), ana.questions(1)
    assert ana.get(f"/api/questions/{mine['id']}")["id"] == mine["id"]
    peeked = ben.ask("GET", f"/api/questions/{mine['id']}")
    assert (peeked.status_code, peeked.json()["error"]) == (409, f"question {mine['id']} is not yours")
    ana.answer(mine, truth(mine))
    assert ben.ask("GET", f"/api/questions/{mine['id']}").status_code == 409


def test_an_abandoned_question_comes_back(tmp_path: Path) -> None:
    with served(tmp_path / "run", ahead=0) as app:
        app.service.leases.lease_seconds = 0.05
        ana, ben = app.sign_in("ana"), app.sign_in("ben")
        first = ana.questions(12)
        for _ in range(100):
            if got := ben.questions(1):
                break
        assert got[0]["id"] == first[0]["id"]


def test_who_is_shut_out_keeps_no_question(app: Served, ana: Person) -> None:
    owner, mine = app.sign_in("olga", "owner"), ana.questions(12)
    ben = app.sign_in("ben")
    owner.post("/api/people/ana", active=False)
    assert ben.questions(1)[0]["id"] == mine[0]["id"]


def test_leases_outlive_the_server(tmp_path: Path) -> None:
    with served(tmp_path / "run") as app:
        ana = app.sign_in("ana")
        mine = [q["id"] for q in ana.questions(4)]
        dropped = ana.questions(5, ",".join(map(str, mine)))[0]["id"]
        ana.post("/api/leases/release", questions=[dropped])
    with served(tmp_path / "run") as app:
        ben = app.sign_in("ben")
        got = {q["id"] for q in ben.questions(20)}
        assert dropped in got
        assert not set(mine) & got
        assert [q["id"] for q in app.sign_in("ana").questions(4)] == mine


def test_disputes_are_decided_by_the_owner(tmp_path: Path) -> None:
    with served(tmp_path / "run", overlap=Overlap(2, 1.0, "adjudication"), ahead=0) as app:
        ana, ben, owner = app.sign_in("ana"), app.sign_in("ben"), app.sign_in("olga", "owner")
        asked = ana.questions(12)
        odd = asked[3]
        for question in asked:
            ana.answer(question, truth(question))
        for question in ben.questions(12):
            ben.answer(question, (truth(question) + (question["id"] == odd["id"])) % 5)
        (dispute,) = owner.get("/api/disputes")["disputes"]
        assert (dispute["question"], dispute["item"]["key"]) == (odd["id"], odd["item"]["key"])
        assert [(v["person"], v["label"]) for v in dispute["votes"]] == [
            ("ana", truth(odd)),
            ("ben", (truth(odd) + 1) % 5),
        ]
        team = owner.get("/api/people")
        assert (team["kappa"]["kind"], team["kappa"]["items"]) == ("Cohen", 12)
        assert 0 < team["kappa"]["value"] < 1
        assert {p["name"]: p["agreement"] for p in team["people"]}["ana"] == {"n": 12, "share": pytest.approx(11 / 12)}
        owner.post("/api/decisions", question=odd["id"], label=truth(odd))
        owner.post("/api/decisions", question=odd["id"], kind="none")  # on second thoughts
        owner.post("/api/decisions", question=odd["id"], label=truth(odd), note="sure")
        assert owner.get("/api/disputes")["disputes"] == []
        labels = measures.labels(app.campaign.folder.path)
        assert labels[odd["item"]["key"]] == f"c{truth(odd)}"


def test_control_questions_come_with_lists_and_look_like_them(tmp_path: Path) -> None:
    with served(tmp_path / "run", control=1.0, query=TopK(2), ahead=0) as app:
        ana, owner = app.sign_in("ana"), app.sign_in("olga", "owner")
        app.hear("waiting")
        first = ana.questions(12)
        assert [q["id"] > 0 for q in first] == [True] * 12  # all classes are shown: a list would stand out
        for question in first:
            ana.answer(question, truth(question))
        app.work()
        app.hear("waiting")
        before = len(app.campaign.store.answers())
        control, ordinary = ana.questions(1)
        assert control["id"] < 0 < ordinary["id"]
        assert control.keys() == ordinary.keys()
        alike = ("round", "purpose", "cuts", "exhaustive", "rejected", "answer")
        assert [control[name] for name in alike] == [ordinary[name] for name in alike]
        assert len(control["classes"]) == len(ordinary["classes"]) == 2
        assert len(control["order"]) == len(ordinary["order"]) == 3  # which classes follow, as probable as they are
        for either in (control, ordinary):
            assert sorted([*either["classes"], *either["order"]]) == list(range(5))
        listed, other = control["classes"]
        ana.answer(control, listed)
        again = ana.get(f"/api/questions/{control['id']}")  # undo
        assert again["order"] == control["order"]
        assert again["answer"]["path"] == [listed]
        ana.answer(again, other, supersedes=again["answer"]["id"])  # taken, and the first answer counts
        assert [q["id"] for q in ana.questions(1)] == [ordinary["id"]]
        assert len(app.campaign.store.answers()) == before
        (person,) = (p for p in owner.get("/api/people")["people"] if p["name"] == "ana")
        held, right = truth(control) in control["classes"], listed == truth(control)
        counted = {"wrong_asked": not held, "wrong_accepted": not held, "right_asked": held, "right_correct": right}
        assert person["trust"] == {name: int(n) for name, n in counted.items()}


def test_an_owner_decides_also_what_a_one_bit_question_did_not_ask(tmp_path: Path) -> None:
    with served(tmp_path / "run", query=OneBit(), ahead=0) as app:
        ana, owner = app.sign_in("ana"), app.sign_in("olga", "owner")
        answer_all(ana)
        app.work()
        (asked,) = ana.questions(1)
        (shown,) = asked["classes"]
        other = (shown + 1) % 5
        owner.post("/api/decisions", question=asked["id"], label=other)
        assert measures.labels(app.campaign.folder.path)[asked["item"]["key"]] == f"c{other}"


# --- when the disk fails ---------------------------------------------------------------------------------------


def test_what_cannot_be_written_is_worth_sending_again(app: Served, ana: Person) -> None:
    """A page keeps an answer that gets a 503, and drops one that gets a 400."""
    question, may_write = ana.questions(1)[0], [False]

    @sa.event.listens_for(app.campaign.store.engine, "begin")
    def as_on_a_disk_gone_read_only(c: sa.Connection) -> None:
        c.exec_driver_sql(f"PRAGMA query_only={not may_write[0]}")

    body = {"question": question["id"], "kind": "label", "path": path_to(question, 1), "stage_seconds": [1.0]}
    refused = ana.ask("POST", "/api/answers", json=body)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "cannot be written (attempt to write a readonly database)" in refused.json()["error"]
    may_write[0] = True
    assert ana.answer(question, 1)["answer"] == 1


# --- owners and programs ---------------------------------------------------------------------------------------


def test_the_dashboard_has_what_the_figures_need(app: Served, ana: Person) -> None:
    for _ in range(12):
        answer_all(ana)
        app.work()
    got = app.sign_in("olga", "owner").get("/api/dashboard")
    assert [r["number"] for r in got["rounds"]] == [1, 2, 3, 4]
    rows = {q.id: q for q in app.campaign.store.questions()}
    said = [(rows[a.question], a) for a in app.campaign.store.answers() if rows[a.question].purpose != "calibration"]
    for number in (2, 3, 4):
        held = [a.misses == 0 for q, a in said if q.round == number and q.cuts]
        listed = got["rounds"][number - 1]
        assert (listed["lists"], listed["full"]) == (len(held), sum(q.round == number for q, _ in said) - len(held))
        assert listed["coverage"] == (pytest.approx(sum(held) / len(held)) if held else None)
    assert any(listed["coverage"] for listed in got["rounds"])
    assert got["fit"]["b"] == pytest.approx(0)  # every stage took the same time here
    assert {point["options"] for point in got["speed"]} >= {5}
    last = measures.read(app.campaign.folder.path).rounds[-1]
    assert got["saving"] == pytest.approx(measures.saving(last))
    assert got["times_floor"] == pytest.approx(last.cost / got["rounds"][-1]["floor"])
    rates = [listed[name] for listed in got["rounds"] for name in OF_ROUND if listed[name] is not None]
    assert rates
    assert all(0 <= rate <= 1 for rate in rates)
    described = app.sign_in("olga").get("/api/openapi.json")["paths"]["/api/dashboard"]["get"]["description"]
    assert "Rates are shares from 0 to 1" in described


def test_a_program_does_what_its_person_may(app: Served, ana: Person) -> None:
    token = ana.post("/api/tokens", label="script")["token"]
    headers = {"Authorization": f"Bearer {token}"}
    got = app.client.get("/api/questions?n=1", headers=headers)
    (question,) = got.json()["questions"]
    body = {"question": question["id"], "kind": "label", "path": path_to(question, 1)}
    assert app.client.post("/api/answers", headers=headers, json=body).status_code == 200
    assert app.client.get("/api/dashboard", headers=headers).status_code == 403
    (listed,) = ana.get("/api/tokens")["tokens"]
    assert "digest" not in listed
    assert token not in str(listed)
    ana.ask("DELETE", f"/api/tokens/{listed['id']}")
    assert app.client.get("/api/me", headers=headers).status_code == 401


def test_an_invitation_makes_one_account(app: Served) -> None:
    owner = app.sign_in("olga", "owner")
    link = owner.post("/api/invitations", role="annotator", hours=1)["link"]
    token = link.rsplit("/", 1)[1]
    body = {"token": token, "name": "ben", "password": "a good password"}
    joined = app.client.post("/api/join", json=body)
    assert joined.status_code == 200
    assert f"{app.people.cookie}=" in joined.headers["set-cookie"]
    again = app.client.post("/api/join", json={**body, "name": "eve"})
    assert again.status_code == 400
    assert app.people.person("eve") is None
    (listed,) = owner.get("/api/invitations")["invitations"]
    assert (listed["used_by"], token in str(listed)) == ("ben", False)


# --- the worker ------------------------------------------------------------------------------------------------


def test_the_app_starts_its_worker_and_passes_on_what_it_says(tmp_path: Path) -> None:
    says = 'import json; print(json.dumps({"state": "waiting", "words": "for you"}), flush=True); input()'
    with (
        campaign(folder_of(tmp_path / "run"), DATA) as going,
        closing(People(tmp_path / "run", passwords=Passwords(**FAST))) as people,
    ):
        going.advance()
        made = label_app(going, people, worker=[sys.executable, "-c", says])
        with TestClient(made) as client:
            until = time.monotonic() + 60
            while client.app.state.service.doing.words != "for you":  # type: ignore[attr-defined]
                assert time.monotonic() < until, "the worker was not heard"
                time.sleep(0.02)


# --- bounds of what may be asked -------------------------------------------------------------------------------


def test_no_more_is_asked_for_than_there_can_be(app: Served, ana: Person) -> None:
    for address, status in (
        ("/api/questions?n=20", 200),
        ("/api/questions?n=0", 200),
        ("/api/questions?n=21", 422),
        ("/api/questions?n=-1", 422),
        ("/api/questions?holding=1,", 422),
        (f"/api/questions?holding={'1,' * 399}1", 200),
        (f"/api/questions?holding={'1,' * 400}1", 422),
        (f"/api/questions/{2**53}", 409),
        (f"/api/questions/{2**53 + 1}", 404),
        (f"/api/questions/-{2**53 + 1}", 404),
        ("/api/answers?limit=1", 200),
        ("/api/answers?limit=1000", 200),
        ("/api/answers?limit=0", 422),
        ("/api/answers?limit=1001", 422),
    ):
        assert ana.ask("GET", address).status_code == status, address
    olga = app.sign_in("olga", "owner")
    for what in ("invitations", "tokens"):
        found = [olga.ask("DELETE", f"/api/{what}/{id}").status_code for id in (-1, 0, 2**53 - 1, 2**53)]
        assert found == [404, 400, 400, 404], what
    for body, status in (
        ({"hours": 24 * 90}, 200),
        ({"hours": 24 * 90 + 1}, 422),
        ({"hours": 0}, 422),
        ({"hours": 0.5, "role": "owner"}, 200),
        ({"role": "king"}, 422),
    ):
        assert olga.ask("POST", "/api/invitations", json=body).status_code == status, body
    assert olga.ask("POST", "/api/decisions", json={"question": -1, "label": 1}).status_code == 404
    assert olga.ask("POST", "/api/decisions", json={"question": 0, "label": 1}).status_code == 400


def test_what_changed_about_a_person_is_told(app: Served) -> None:
    olga = app.sign_in("olga", "owner")
    app.sign_in("ana")
    assert olga.post("/api/people/ana", role="owner")["role"] == "owner"
    assert olga.post("/api/people/ana", active=False)["active"] is False
    assert olga.post("/api/people/ana")["active"] is False
    assert olga.ask("POST", "/api/people/nobody", json={"active": True}).status_code == 404


def test_one_thing_is_exported_at_a_time(app: Served) -> None:
    olga = app.sign_in("olga", "owner")
    names = {"": "labels", "&all=true": "all", "&answers=true": "answers"}
    for more, name in names.items():
        got = olga.ask("GET", f"/api/export?format=csv{more}")
        assert (got.status_code, f'filename="{name}-' in got.headers["content-disposition"]) == (200, True)
    for more in ("&all=true&answers=true", "&all=true&as_given=true", "&as_given=true"):
        assert olga.ask("GET", f"/api/export?format=csv{more}").status_code == 400


def test_cookies_are_for_this_site_and_for_no_script(app: Served) -> None:
    app.sign_in("ana")
    got = app.client.post("/api/sign-in", json={"name": "ana", "password": "a long password"})
    cookies = got.headers.get_list("set-cookie")
    assert len(cookies) == 2  # the session, and the mark of a browser that is known
    for cookie in cookies:
        assert {part.strip().lower() for part in cookie.split(";")[1:]} >= {"httponly", "samesite=lax", "path=/"}


def test_guesses_at_a_password_to_be_changed_count_against_the_address(app: Served) -> None:
    """As those of signing in do: a page left open is no way to try more."""
    ana = app.sign_in("ana")
    body = {"old": "wrong guess", "new": "another password"}
    told = [ana.ask("POST", "/api/me/password", json=body).status_code for _ in range(FREE_TRIES + 1)]
    assert told[:-1] == [401] * (FREE_TRIES - 1) + [429]
    assert told[-1] == 429
    assert app.client.post("/api/sign-in", json={"name": "nobody", "password": "wrong guess"}).status_code == 429
