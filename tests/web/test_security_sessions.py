"""What another site's page sends in somebody's name does nothing, and nobody is given a session that others know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shortlist.web.people.people import csrf_of
from shortlist.web.security import COOKIE
from tests.web.doors import CHANGES, NOT_KEPT, PASSWORD, Route, address, kept, routes
from tests.web.serving import Person, Served, served


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        made.client.follow_redirects = False
        yield made


# --- other sites' pages ----------------------------------------------------------------------------------------


def prepared(app: Served, route: Route) -> tuple[Person, str]:
    """An owner who may do it, and the address at which there is something to be done."""
    olga = app.sign_in("olga", "owner")
    app.sign_in("ben")
    app.people.invite("annotator", "olga")
    app.people.make_token("olga", "old")
    olga.questions(1)
    return olga, address(route[1], name="ben", id=1)


@pytest.mark.parametrize("route", CHANGES, ids=" ".join)
def test_another_sites_page_changes_nothing(app: Served, route: Route) -> None:
    olga, at = prepared(app, route)
    before, request = kept(app), CHANGES[route]
    cookie = {"Cookie": olga.headers["Cookie"]}
    csrf = olga.headers["X-CSRF-Token"]
    another = app.sign_in("ana").headers["X-CSRF-Token"]
    before = kept(app)
    tries = [
        cookie,
        *({**cookie, "X-CSRF-Token": wrong} for wrong in ("", "wrong", csrf[:-1], csrf.upper(), another)),
        *({**olga.headers, "Origin": origin} for origin in ORIGINS),
    ]
    for headers in tries:
        got = app.client.request(route[0], at, headers=headers, **request)
        assert got.status_code == 403, (headers, got.text)
    assert kept(app) == before
    done = app.client.request(route[0], at, headers={**olga.headers, "Origin": "http://testserver"}, **request)
    assert done.status_code == 200, done.text  # so it was that which was missing
    assert (kept(app) == before) == (route in NOT_KEPT)


ORIGINS = (
    "https://evil.example",
    "http://testserver.evil.example",
    "http://evil.example/testserver",
    "http://testserver:81",
    "null",
    "testserver",
)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_on_another_site_changes_nothing(app: Served, kind: str) -> None:
    olga = app.sign_in("olga", "owner")
    before = kept(app)
    headers = {"Cookie": olga.headers["Cookie"], "Content-Type": kind}
    got = app.client.post("/api/tokens", content='{"label": "evil"}', headers=headers)
    assert got.status_code == 403
    assert kept(app) == before


@pytest.mark.parametrize("origin", ORIGINS)
def test_another_sites_page_signs_nobody_in(app: Served, origin: str) -> None:
    app.sign_in("eve")
    invitation = app.people.invite("annotator", app.sign_in("olga", "owner").name)
    bodies: dict[str, dict[str, str]] = {
        "/api/sign-in": {"name": "eve", "password": PASSWORD},
        "/api/join": {"token": invitation, "name": "new", "password": PASSWORD},
    }
    for path, body in bodies.items():
        got = app.client.post(path, json=body, headers={"Origin": origin})
        assert (got.status_code, "set-cookie" in got.headers) == (403, False)
    assert app.people.person("new") is None


def test_another_sites_page_reads_nothing(app: Served) -> None:
    """No answer allows another origin to see it."""
    olga = app.sign_in("olga", "owner")
    for method, path in sorted(routes(app)):
        got = olga.ask(method, address(path), headers={"Origin": "https://evil.example"})
        assert not [name for name in got.headers if name.startswith("access-control")]
        assert got.headers["cross-origin-resource-policy"] == "same-origin"
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert app.client.options("/api/answers", headers=asked).status_code == 405


def test_a_program_needs_no_csrf_token(app: Served) -> None:
    token = app.people.make_token(app.sign_in("ana").name, "script")
    got = app.client.post("/api/tokens", json={"label": "more"}, headers={"Authorization": f"Bearer {token}"})
    assert got.status_code == 200


def doors(app: Served, scheme: str) -> Iterator[Any]:
    """Every answer that begins a session."""
    base = f"{scheme}://testserver"
    olga = app.sign_in("olga", "owner")
    yield app.client.post(f"{base}/api/sign-in", json={"name": "olga", "password": PASSWORD})
    joining = {"token": app.people.invite("annotator", "olga"), "name": "new", "password": PASSWORD}
    yield app.client.post(f"{base}/api/join", json=joining)
    yield app.client.get(f"{base}/start/{app.people.start_link('olga')}")
    yield olga.ask("POST", f"{base}/api/me/password", json={"old": PASSWORD, "new": "another password"})


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie_is_kept_from_scripts_and_from_other_sites(app: Served, scheme: str) -> None:
    for got in doors(app, scheme):
        assert got.status_code in (200, 303), got.text
        known, session = (sent.split("; ") for sent in got.headers.get_list("set-cookie"))
        assert re.fullmatch(rf"{app.people.cookie}=[\w-]{{43}}", session[0])
        assert known[0].startswith(f"{app.people.cookie}_known=")
        for _, *flags in (session, known):
            assert {flag.lower() for flag in flags if not flag.startswith("Max-Age")} == {
                *("httponly", "samesite=lax", "path=/"),
                *(["secure"] if scheme == "https" else []),
            }


# --- session fixation ------------------------------------------------------------------------------------------


def new_session(got: Any) -> str:
    return str(re.findall(r"shortlist_session_\w{8}=([\w-]+)", got.headers["set-cookie"])[0])


def name_of(app: Served, session: str) -> str | None:
    got = app.client.get("/api/me", headers={"Cookie": f"{COOKIE}={session}"})
    return str(got.json()["name"]) if got.status_code == 200 else None


def test_a_session_chosen_by_somebody_else_is_not_adopted(app: Served) -> None:
    app.sign_in("ana")
    planted = "a-session-that-eve-knows-and-has-put-there--"
    body = {"name": "ana", "password": PASSWORD}
    got = app.client.post("/api/sign-in", json=body, headers={"Cookie": f"{COOKIE}={planted}"})
    assert new_session(got) != planted
    assert (name_of(app, new_session(got)), name_of(app, planted)) == ("ana", None)


def test_a_session_of_eves_put_there_stays_eves(app: Served) -> None:
    app.sign_in("ana")
    eve = app.sign_in("eve")
    invitation = app.people.invite("annotator", app.sign_in("olga", "owner").name)
    headers = {"Cookie": eve.headers["Cookie"]}
    signed_in = app.client.post("/api/sign-in", json={"name": "ana", "password": PASSWORD}, headers=headers)
    joining = {"token": invitation, "name": "new", "password": PASSWORD}
    joined = app.client.post("/api/join", json=joining, headers=headers)
    started = app.client.get(f"/start/{app.people.start_link('olga')}", headers=headers)
    names = [name_of(app, new_session(got)) for got in (signed_in, joined, started)]
    assert names == ["ana", "new", "olga"]
    assert name_of(app, eve.token) == "eve"


def test_two_campaigns_on_one_machine_do_not_sign_each_other_out(app: Served, tmp_path: Path) -> None:
    """A browser sends the cookies of one port to every other."""
    with served(tmp_path / "other") as other:
        browser = dict[str, str]()
        for one in (app, other):
            one.sign_in("ana")
            one.client.cookies.clear()
            sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.items())} if browser else {}
            got = one.client.post("/api/sign-in", json={"name": "ana", "password": PASSWORD}, headers=sent)
            one.client.cookies.clear()
            browser |= dict(cookie.split("; ")[0].split("=", 1) for cookie in got.headers.get_list("set-cookie"))
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.items())}
        assert [one.client.get("/api/me", headers=headers).status_code for one in (app, other)] == [200, 200]
        csrf = {"X-CSRF-Token": csrf_of(browser[other.people.cookie])}
        assert other.client.post("/api/sign-out", headers={**headers, **csrf}).status_code == 200
        assert [one.client.get("/api/me", headers=headers).status_code for one in (app, other)] == [200, 401]


def test_every_sign_in_is_another_session(app: Served) -> None:
    app.sign_in("ana")
    body = {"name": "ana", "password": PASSWORD}
    assert len({new_session(app.client.post("/api/sign-in", json=body)) for _ in range(3)}) == 3


def test_signing_out_ends_the_session_on_the_server_and_only_that_one(app: Served) -> None:
    here, there = app.sign_in("ana"), app.sign_in("ana")
    got = here.ask("POST", "/api/sign-out")
    assert re.match(rf'{COOKIE}=""; .*Max-Age=0', got.headers["set-cookie"])
    assert (name_of(app, here.token), name_of(app, there.token)) == (None, "ana")


def test_a_new_password_ends_every_session_but_ones_own_which_is_a_new_one(app: Served) -> None:
    here, there, ben = app.sign_in("ana"), app.sign_in("ana"), app.sign_in("ben")
    assert [name_of(app, person.token) for person in (here, there)] == ["ana", "ana"]
    got = here.ask("POST", "/api/me/password", json={"old": PASSWORD, "new": "another password"})
    assert [name_of(app, person.token) for person in (here, there, ben)] == [None, None, "ben"]
    assert name_of(app, new_session(got)) == "ana"


def test_a_session_is_told_to_nobody(app: Served) -> None:
    olga = app.sign_in("olga", "owner")
    for method, path in sorted(routes(app)):
        if method == "GET":
            assert olga.token not in olga.ask("GET", address(path)).text, path
