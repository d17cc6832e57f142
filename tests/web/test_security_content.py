"""What people write is text wherever it goes: no page runs it, no database obeys it, and every answer forbids it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from fastapi.testclient import TestClient

from shortlist.datasets.arrays import Arrays
from shortlist.web.security import HEADERS, LOCAL, LONGEST_BODY, Guard
from tests.web.doors import PASSWORD, address, routes
from tests.web.serving import Person, Served, served

SCRIPT = "<script>alert(1)</script>"
BREAKOUT = "\"'--></title></textarea><svg onload=alert(1)>"
NAME = "\"'><img src=x onerror=alert(1)>"  # also of a folder: without a slash
TEMPLATE = "{{7*7}}{% raw %}${7*7}"


def texts(*, classes: list[str], text: str, key: str) -> Arrays:
    return Arrays(
        [f"{text} {i}" for i in range(30)], np.arange(30) % 3, classes=classes, keys=[f"{key}{i}" for i in range(30)]
    )


EVIL = texts(classes=[SCRIPT, BREAKOUT, TEMPLATE], text=SCRIPT + BREAKOUT, key=NAME)
HARMLESS = texts(classes=["a", "b", "c"], text="text", key="key")


@pytest.fixture
def evil(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / NAME, dataset=EVIL) as made:
        yield made


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        made.client.follow_redirects = False
        yield made


# --- script ----------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and where it loads scripts from."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.scripts: list[str] = []
        self.person = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))
        self.person = dict(attrs).get("data-person") or self.person
        if tag == "script":
            self.scripts.append(dict(attrs).get("src") or "written into the page")


def pages(app: Served, owner: str) -> dict[str, str]:
    """Every page there is, as an owner of this name sees it."""
    olga = app.sign_in(owner, "owner")
    values = {"token": app.people.invite("annotator", owner)}
    found = {}
    for method, path in routes(app):
        if method == "GET" and not path.startswith(("/api/", "/static", "/start")):
            got = olga.ask("GET", address(path, **values))
            assert (got.status_code, got.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
            found[path] = got.text
    assert len(found) >= 9
    return found


def test_names_on_a_page_are_text(tmp_path: Path, evil: Served) -> None:
    """The pages of an evil campaign consist of the same elements as those of a harmless one."""
    with served(tmp_path / "harmless", dataset=HARMLESS) as app:
        expected = {path: Elements(page).found for path, page in pages(app, "olga").items()}
    found = pages(evil, SCRIPT)
    assert {path: Elements(page).found for path, page in found.items()} == expected
    for page in found.values():
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "&gt;&lt;img src=x onerror=alert(1)&gt;" in page  # the folder's name


@pytest.mark.parametrize("name", [SCRIPT, BREAKOUT, TEMPLATE, NAME])
def test_a_person_is_called_on_a_page_what_they_are_called(app: Served, name: str) -> None:
    for path, page in pages(app, name).items():
        if path != "/join/{token}":  # a page for somebody who has no name yet
            assert Elements(page).person == name, path


def test_scripts_come_from_files_of_ours_only(evil: Served) -> None:
    for path, page in pages(evil, SCRIPT).items():
        read = Elements(page)
        assert read.scripts, path
        assert all(re.fullmatch(r"/static/\w+/\w+\.js", source) for source in read.scripts), path
        attributes = {name for _, names in read.found for name in names}
        assert not {name for name in attributes if name.startswith("on")} | attributes & {"style", "srcdoc"}, path


def test_a_token_in_a_link_is_text_on_its_page(app: Served) -> None:
    for token in ("%22%3E%3Cscript%3Ealert(1)", "%3Csvg%20onload=alert(1)%3E"):
        page = app.client.get(f"/join/{token}")
        assert (page.status_code, "alert(1)" in page.text) == (200, False)
        assert app.client.get(f"/start/{token}").headers["location"] == "/sign-in"


def test_classes_texts_keys_and_notes_go_out_as_json_as_they_are(evil: Served) -> None:
    ana, olga = evil.sign_in(SCRIPT), evil.sign_in(NAME, "owner")
    assert ana.get("/api/classes")["names"] == list(EVIL.classes)
    question = ana.questions(1)[0]
    assert question["item"]["text"].startswith(SCRIPT + BREAKOUT)
    assert question["item"]["key"].startswith(NAME)
    ana.post("/api/answers", question=question["id"], kind="none", path=[-1], note=SCRIPT + TEMPLATE)
    (aside,) = olga.get("/api/set-aside")["items"]
    assert (aside["note"], aside["person"]) == (SCRIPT + TEMPLATE, SCRIPT)
    assert {one["name"] for one in olga.get("/api/people")["people"]} == {SCRIPT, NAME}


def test_the_api_answers_with_nothing_that_a_browser_shows_as_a_page(evil: Served) -> None:
    olga = evil.sign_in(SCRIPT, "owner")
    seen = 0
    for method, path in sorted(routes(evil)):
        if path.startswith("/api/"):
            got = olga.ask(method, address(path, name=SCRIPT, token=SCRIPT), json={SCRIPT: SCRIPT})
            assert got.headers["x-content-type-options"] == "nosniff"
            if "attachment" not in got.headers.get("content-disposition", ""):
                assert got.headers["content-type"] == "application/json", path
                json.loads(got.content)
            seen += 1
    assert seen > 20


def test_an_error_with_script_in_it_is_json(app: Served) -> None:
    olga = app.sign_in("olga", "owner")
    for method, path in [
        ("POST", "/api/people/<script>alert(1)</script>"),
        ("GET", "/api/items/<script>alert(1)</script>"),
        ("GET", "/<script>alert(1)</script>"),
        ("GET", "/api/export?format=<script>"),
        ("GET", "/static/<script>alert(1)</script>"),
    ]:
        got = olga.ask(method, path, json={"active": True})
        assert (got.status_code in (404, 422), got.headers["content-type"]) == (True, "application/json"), path
        assert got.headers["x-content-type-options"] == "nosniff"


# --- headers ---------------------------------------------------------------------------------------------------


def test_the_policy_allows_no_script_of_others_and_none_within_pages() -> None:
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy.get("script-src", "'self'") == policy.get("style-src", "'self'") == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert not re.search(r"unsafe|\*|https?:", HEADERS["Content-Security-Policy"])


def test_these_are_the_headers() -> None:
    rest = {name: value for name, value in HEADERS.items() if name != "Content-Security-Policy"}
    assert rest == {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def answers_of_every_status(app: Served) -> Iterator[Any]:
    client, olga, ana = app.client, app.sign_in("olga", "owner"), app.sign_in("ana")
    yield olga.ask("GET", "/")  # 200
    yield olga.ask("GET", "/api/me")
    yield client.get("/sign-in")
    yield (file := client.get("/static/shared/base.js"))
    yield client.get("/static/shared/base.js", headers={"If-None-Match": file.headers["etag"]})  # 304
    yield client.get("/static/shared/base.js", headers={"Range": "bytes=0-3"})  # 206
    yield client.get("/static/shared/base.js", headers={"Range": "bytes=9999999-"})  # 416
    yield client.get("/")  # 303
    yield client.get("/dashboard/")  # 307
    yield client.post("/api/join", json={"token": "x", "name": "x", "password": PASSWORD})  # 400
    yield client.get("/api/me")  # 401
    yield ana.ask("GET", "/dashboard")  # 403
    yield client.get("/nothing")  # 404
    yield client.get("/static/nothing")
    yield client.post("/")  # 405
    yield ana.ask("POST", "/api/answers", json={"question": 99, "kind": "skip"})  # 409
    yield client.post("/api/join", content=b" " * (LONGEST_BODY + 1))  # 413
    yield ana.ask("POST", "/api/answers", json={})  # 422
    for _ in range(5):
        refused = client.post("/api/sign-in", json={"name": "ana", "password": "wrong"})
    yield refused  # 429


def test_every_answer_carries_the_headers(app: Served) -> None:
    seen = set()
    for got in answers_of_every_status(app):
        seen.add(got.status_code)
        for name, value in HEADERS.items():
            assert got.headers.get_list(name) == [value], (got.status_code, name)
        assert got.headers["cache-control"]
    assert seen == {200, 206, 303, 304, 307, 400, 401, 403, 404, 405, 409, 413, 416, 422, 429}


def test_so_does_the_refusal_of_a_host(app: Served) -> None:
    client = TestClient(Guard(app.client.app, hosts=LOCAL))
    got = client.get("/sign-in", headers={"Host": "evil.example"})
    assert got.status_code == 421
    assert {name: got.headers[name] for name in HEADERS} == HEADERS


def test_so_does_what_nobody_has_thought_of_and_it_tells_nothing(app: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the password is 12345")

    olga = app.sign_in("olga", "owner")
    monkeypatch.setattr(app.people, "invitations", broken)
    client = TestClient(app.client.app, raise_server_exceptions=False)
    got = client.get("/api/invitations", headers=olga.headers)
    assert (got.status_code, got.json()) == (500, {"error": "the server has made a mistake; its log says which"})
    assert {name: got.headers[name] for name in HEADERS} == HEADERS


def test_what_only_some_may_see_is_not_kept_by_browsers(app: Served) -> None:
    olga = app.sign_in("olga", "owner")
    for path in ("/", "/dashboard", "/api/me", "/api/people", "/api/questions"):
        assert olga.ask("GET", path).headers["cache-control"] == "no-store"


# --- SQL -------------------------------------------------------------------------------------------------------

SQL = (
    "'; DROP TABLE people; --",
    "' OR '1'='1",
    '" OR ""="',
    "x' UNION SELECT password FROM people --",
    "%' OR 1=1 --",
    "\\'; DELETE FROM answers; --",
    ":name ?1 $1 {0} %s",
)


def tables(app: Served) -> dict[str, int]:
    """Every table of both databases, and how many rows it has."""
    found = {}
    for name in ("people.db", "campaign.db"):
        with closing(sqlite3.connect(app.campaign.folder.path / name)) as c:
            for (table,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                found[f"{name} {table}"] = c.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]
    return {table: n for table, n in found.items() if table.split()[1] not in ("leases", "failures")}


@pytest.mark.parametrize("sql", SQL)
def test_sql_lets_nobody_in_and_finds_nothing(app: Served, sql: str) -> None:
    app.sign_in("ana")
    olga = app.sign_in("olga", "owner")
    before = tables(app)
    told = [
        app.client.post("/api/sign-in", json={"name": sql, "password": PASSWORD}),
        app.client.post("/api/sign-in", json={"name": "ana", "password": sql}),
        app.client.post("/api/join", json={"token": sql, "name": "new", "password": PASSWORD}),
        app.client.get("/api/me", headers={"Cookie": f"shortlist_session={sql.replace(';', '')}"}),
        app.client.get("/api/me", headers={"Authorization": f"Bearer {sql}"}),
        olga.ask("GET", "/api/questions", params={"holding": sql}),
        olga.ask("GET", "/api/answers", params={"limit": sql}),
        olga.ask("GET", "/api/export", params={"format": sql}),
        olga.ask("POST", f"/api/people/{quote(sql)}", json={"active": False}),
        olga.ask("DELETE", f"/api/tokens/{quote(sql)}"),
        olga.ask("POST", "/api/answers", json={"question": sql, "kind": "skip"}),
        olga.ask("POST", "/api/answers", json={"question": 1, "kind": sql}),
        olga.ask("POST", "/api/invitations", json={"role": sql}),
    ]
    assert [got.status_code for got in told] == [401, 401, 400, 401, 401, 422, 422, 422, 404, 422, 422, 422, 422]
    assert app.client.get(f"/start/{quote(sql)}").headers["location"] == "/sign-in"
    assert tables(app) == before


@pytest.mark.parametrize("sql", SQL)
def test_sql_is_kept_and_given_back_as_it_was_written(app: Served, sql: str) -> None:
    olga = app.sign_in("olga", "owner")
    joining = {"token": app.people.invite("annotator", "olga"), "name": sql, "password": PASSWORD}
    assert app.client.post("/api/join", json=joining).status_code == 200
    person: Person = app.sign_in(sql)
    person.post("/api/tokens", label=sql)
    question = person.questions(1)[0]
    person.post("/api/answers", question=question["id"], kind="unreadable", note=sql)
    assert person.get("/api/me")["name"] == sql
    assert [token["label"] for token in person.get("/api/tokens")["tokens"]] == [sql]
    assert person.get("/api/answers")["answers"][0]["note"] == sql
    (aside,) = olga.get("/api/set-aside")["items"]
    assert (aside["person"], aside["note"]) == (sql, sql)
    before = tables(app)
    olga.post(f"/api/people/{quote(sql)}", active=False)
    assert {one.name: one.active for one in app.people.everyone()} == {sql: False, "olga": True}
    after = tables(app)
    assert {table for table in after if after[table] != before[table]} == {"people.db sessions", "people.db tokens"}
    assert after.keys() == before.keys()
