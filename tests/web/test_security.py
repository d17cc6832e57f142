"""Every page and route refuses who should not see it, and whoever has lost the right to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlist.web import security
from shortlist.web.people.people import IDLE, OLDEST
from shortlist.web.security import COOKIE, REMEMBERED, SessionCache
from tests.web.doors import CHANGES, FOR_ANNOTATORS, PUBLIC, address, for_owners, kept, later, routes
from tests.web.serving import Person, Served, served


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        made.client.follow_redirects = False
        yield made


def is_refused(got: Any) -> bool:
    return got.status_code == 401 or (got.status_code, got.headers.get("location")) == (303, "/sign-in")


def expect_refused(app: Served, headers: dict[str, str]) -> None:
    """At every door but the public ones, and nothing but the refusal is said."""
    for method, path in sorted(routes(app) - PUBLIC):
        got = app.client.request(method, address(path), headers=headers, **CHANGES.get((method, path), {}))
        assert is_refused(got), (method, path, got.status_code)
        assert got.text in ("", '{"error":"sign in first"}'), (method, path)


# --- every page and route --------------------------------------------------------------------------------------


def test_the_lists_above_name_routes_that_there_are(app: Served) -> None:
    assert routes(app) >= PUBLIC | FOR_ANNOTATORS
    assert len(for_owners(app)) > 10
    assert {route for route in routes(app) - PUBLIC if route[0] != "GET"} == CHANGES.keys()


def test_who_is_not_signed_in_is_refused_everywhere(app: Served) -> None:
    expect_refused(app, {})


def test_a_page_leads_to_the_sign_in_page_and_the_api_does_not(app: Served) -> None:
    assert app.client.get("/dashboard").headers["location"] == "/sign-in"
    assert app.client.get("/api/dashboard").status_code == 401


@pytest.mark.parametrize("by", ["session", "token"])
def test_an_annotator_is_refused_at_every_owners_door(app: Served, by: str) -> None:
    ana = app.sign_in("ana")
    headers = ana.headers if by == "session" else {"Authorization": f"Bearer {app.people.make_token('ana', 'x')}"}
    before = kept(app)
    for method, path in sorted(for_owners(app)):
        got = app.client.request(method, address(path), headers=headers, **CHANGES.get((method, path), {}))
        assert (got.status_code, got.json()) == (403, {"error": "only an owner of the campaign may do this"}), path
    assert kept(app) == before


def test_a_browser_is_shown_a_page_that_says_so(app: Served) -> None:
    got = app.sign_in("ana").ask("GET", "/dashboard", headers={"Accept": "text/html"})
    assert got.status_code == 403
    assert got.headers["content-type"].startswith("text/html")
    assert "nly an owner of the campaign may do this" in got.text
    assert app.client.get("/dashboard", headers={"Accept": "text/html"}).headers["location"] == "/sign-in"


def test_an_annotator_is_let_in_at_the_others(app: Served) -> None:
    ana = app.sign_in("ana")
    for method, path in sorted(FOR_ANNOTATORS - {("POST", "/api/sign-out")}):
        got = ana.ask(method, address(path), json={})
        assert got.status_code not in (401, 403), (method, path, got.text)


def test_an_owner_is_let_in_everywhere(app: Served) -> None:
    olga = app.sign_in("olga", "owner")
    for method, path in sorted(routes(app) - PUBLIC - {("POST", "/api/sign-out")}):
        got = olga.ask(method, address(path), json={})
        assert got.status_code not in (303, 401, 403), (method, path, got.text)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE"])
def test_other_methods_are_no_way_round(app: Served, method: str) -> None:
    olga = app.sign_in("olga", "owner")
    before = kept(app)
    for path in sorted({path for _, path in routes(app)} - {"/static"}):
        assert olga.ask(method, address(path)).status_code == 405, path
    assert kept(app) == before


@pytest.mark.parametrize("slash", ["/dashboard/", "//dashboard", "/./dashboard", "/Dashboard", "/api/dashboard/"])
def test_another_spelling_is_no_way_round(app: Served, slash: str) -> None:
    got = app.client.get(slash)
    assert got.status_code in (307, 401, 404) or is_refused(got)
    if got.status_code == 307:
        assert is_refused(app.client.get(got.headers["location"]))


def test_one_person_does_not_reach_anothers_things(app: Served) -> None:
    ana, ben = app.sign_in("ana"), app.sign_in("ben")
    question = ana.questions(1)[0]
    given = ana.answer(question, 1, note="mine")["answer"]
    ana.post("/api/tokens", label="mine")
    (token,) = ana.get("/api/tokens")["tokens"]
    assert ben.ask("DELETE", f"/api/tokens/{token['id']}").status_code == 400
    assert ben.get("/api/tokens")["tokens"] == []
    assert ben.get("/api/answers")["answers"] == []
    assert ben.ask("GET", f"/api/questions/{question['id']}").status_code == 409
    over = {"question": question["id"], "kind": "label", "path": [2], "supersedes": given}
    assert ben.ask("POST", "/api/answers", json=over).status_code in (400, 409)
    assert [(a.person, a.label) for a in app.campaign.store.answers()] == [("ana", 1)]
    assert len(ana.get("/api/tokens")["tokens"]) == 1


@pytest.mark.parametrize("more", [{"person": "olga"}, {"final": True}, {"active_seconds": 0.0}, {"at": "1999"}])
def test_an_answer_cannot_be_given_in_anothers_name_or_as_a_decision(app: Served, more: dict[str, object]) -> None:
    ana = app.sign_in("ana")
    question = ana.questions(1)[0]["id"]
    assert ana.ask("POST", "/api/answers", json={"question": question, "kind": "skip", **more}).status_code == 422
    assert app.campaign.store.answers() == []


# --- sessions and tokens that do not count any more ------------------------------------------------------------


HERE: dict[str, Callable[[Served, Person], object]] = {
    "signed out": lambda app, ana: ana.ask("POST", "/api/sign-out"),
    "shut out": lambda app, ana: app.sign_in("olga", "owner").post("/api/people/ana", active=False),
    "another role": lambda app, ana: app.sign_in("olga", "owner").post("/api/people/ana", role="owner"),
}
ELSEWHERE: dict[str, Callable[[Served], None]] = {
    "not used for long": lambda app: later(app, IDLE + 1),
    "too old": lambda app: later(app, OLDEST + 1),
    "shut out": lambda app: app.people.set_active("ana", False),
    "another password": lambda app: app.people.set_password("ana", "another password"),
}


@pytest.mark.parametrize("ending", HERE)
def test_a_session_that_was_ended_here_opens_nothing(app: Served, ending: str) -> None:
    ana = app.sign_in("ana")
    assert ana.get("/api/me")["name"] == "ana"  # and is remembered for a moment
    HERE[ending](app, ana)
    expect_refused(app, ana.headers)


@pytest.mark.parametrize("ending", ELSEWHERE)
def test_a_session_that_was_ended_elsewhere_opens_nothing_a_moment_later(app: Served, ending: str) -> None:
    ana = app.sign_in("ana")
    assert ana.get("/api/me")["name"] == "ana"
    ELSEWHERE[ending](app)
    later(app, 0)
    expect_refused(app, ana.headers)


def test_an_owner_who_is_made_an_annotator_is_one_at_once(app: Served) -> None:
    olga, otto = app.sign_in("olga", "owner"), app.sign_in("otto", "owner")
    token = {"Authorization": f"Bearer {otto.post('/api/tokens', label='x')['token']}"}
    assert otto.ask("GET", "/api/dashboard").status_code == 200
    olga.post("/api/people/otto", role="annotator")
    assert otto.ask("GET", "/api/dashboard").status_code == 401
    assert app.client.get("/api/dashboard", headers=token).status_code == 403


TOKEN_ENDINGS: dict[str, Callable[[Served, Person], Any]] = {
    "taken back": lambda app, ana: ana.ask("DELETE", f"/api/tokens/{app.people.tokens('ana')[0].id}"),
    "shut out": lambda app, ana: app.sign_in("olga", "owner").post("/api/people/ana", active=False),
    "shut out elsewhere": lambda app, ana: app.people.set_active("ana", False),
}


@pytest.mark.parametrize("ending", TOKEN_ENDINGS)
def test_a_token_that_was_taken_back_opens_nothing(app: Served, ending: str) -> None:
    ana = app.sign_in("ana")
    token = ana.post("/api/tokens", label="script")["token"]
    assert app.client.get("/api/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    TOKEN_ENDINGS[ending](app, ana)
    expect_refused(app, {"Authorization": f"Bearer {token}"})


def test_what_is_no_session_and_no_token(app: Served) -> None:
    ana = app.sign_in("ana")
    token = app.people.make_token("ana", "script")
    csrf = ana.headers["X-CSRF-Token"]
    for wrong in ("", "ana", ana.token[:-1], ana.token.swapcase(), token, csrf):
        expect_refused(app, {"Cookie": f"{COOKIE}={wrong}", "X-CSRF-Token": csrf})
    for wrong in ("", "sl_", token[3:], token[:-1], token.swapcase(), ana.token, csrf):
        expect_refused(app, {"Authorization": f"Bearer {wrong}"})
    expect_refused(app, {"Authorization": f"Basic {token}"})
    expect_refused(app, {"X-CSRF-Token": csrf})


def test_a_wrong_token_is_not_made_good_by_a_cookie(app: Served) -> None:
    expect_refused(app, {**app.sign_in("ana").headers, "Authorization": "Bearer sl_wrong"})


# --- what is remembered of sessions ----------------------------------------------------------------------------


def test_a_session_is_looked_up_again_after_a_moment_and_no_sooner(app: Served) -> None:
    now = [100.0]
    cache = SessionCache(app.people, lambda: now[0])
    token = app.sign_in("ana").token
    assert cache.session(token) is not None
    app.people.sign_out(token)
    now[0] += REMEMBERED - 0.01
    assert cache.session(token) is not None
    now[0] += 0.01
    assert cache.session(token) is None
    assert SessionCache(app.people, lambda: now[0]).session("nobody's") is None


def test_memory_of_sessions_has_an_end(app: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MOST_REMEMBERED", 3)
    cache, ana = SessionCache(app.people), app.sign_in("ana")
    sizes = []
    for token in [ana.token, *(app.people.new_session("ana") for _ in range(9))]:
        assert cache.session(token) is not None
        sizes.append(len(cache._known))
    assert max(sizes) == 4
    assert sizes[:6] == [1, 2, 3, 4, 1, 2]
