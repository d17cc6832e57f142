"""Guessing passwords is slowed where they are sent to, and only for who guesses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from shortlist.web.people.passwords import FREE_TRIES
from tests.web.doors import PASSWORD, later, stop_the_clock
from tests.web.serving import Served, served


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        stop_the_clock(made)
        yield made


def guess(client: TestClient, name: str, password: str = "wrong guess", **headers: str) -> Any:
    return client.post("/api/sign-in", json={"name": name, "password": password}, headers=headers)


def from_elsewhere(app: Served) -> TestClient:
    return TestClient(app.client.app, client=("203.0.113.9", 50000))


@pytest.mark.parametrize("name", ["ana", "nobody of that name"])
def test_guessing_is_slowed_and_tells_nothing(app: Served, name: str) -> None:
    app.sign_in("ana")
    told = [guess(app.client, name) for _ in range(FREE_TRIES + 2)]
    assert [got.status_code for got in told] == [401] * (FREE_TRIES - 1) + [429] * 3
    wrong = "sign in: the name or the password is wrong"
    assert {got.json()["error"] for got in told[:FREE_TRIES]} == {wrong}
    assert [got.headers.get("retry-after") is not None for got in told] == [False] * (FREE_TRIES - 1) + [True] * 3
    assert {got.headers["retry-after"] for got in told[FREE_TRIES:]} == {"1"}
    assert told[-1].json()["error"] == "sign in: too many wrong tries; wait 1 s and try again"
    assert not any("set-cookie" in got.headers for got in told)


def test_the_wait_doubles_and_then_the_right_password_lets_in(app: Served) -> None:
    app.sign_in("ana")
    for _ in range(FREE_TRIES):
        guess(app.client, "ana")
    waits = []
    for _ in range(4):
        assert guess(app.client, "ana", PASSWORD).status_code == 429  # not even the right one is heard
        waits.append(int(guess(app.client, "ana").headers["retry-after"]))
        later(app, waits[-1])
        guess(app.client, "ana")
    assert waits == [1, 2, 4, 8]
    later(app, 60)
    assert guess(app.client, "ana", PASSWORD).status_code == 200


class Counted:
    """What verifies passwords, and with which parameters it has done so."""

    def __init__(self, argon2: Any) -> None:
        self.argon2, self.seen = argon2, list[str]()

    def verify(self, kept: str, password: str) -> bool:
        self.seen.append(kept.split("$")[3])
        return bool(self.argon2.verify(kept, password))


def test_a_name_that_is_not_there_is_as_much_work(app: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    app.sign_in("ana")
    passwords = app.people._passwords
    counted = Counted(passwords._argon2)
    monkeypatch.setattr(passwords, "_argon2", counted)
    assert [guess(app.client, name).status_code for name in ("ana", "nobody")] == [401, 401]
    assert counted.seen == ["m=8,t=1,p=1"] * 2


def test_others_are_not_locked_out(app: Served) -> None:
    ana, ben = app.sign_in("ana"), app.sign_in("ben")
    for _ in range(FREE_TRIES + 1):
        guess(app.client, "ana")
    assert guess(from_elsewhere(app), "ben", PASSWORD).status_code == 200
    assert [ana.get("/api/me")["name"], ben.get("/api/me")["name"]] == ["ana", "ben"]  # who is in stays in


def test_guessing_from_many_addresses_or_names_does_not_help(app: Served) -> None:
    app.sign_in("ana")
    for _ in range(FREE_TRIES):
        guess(app.client, "ana")
    assert guess(from_elsewhere(app), "ana").status_code == 429
    assert guess(app.client, "ben").status_code == 429
    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded"):
        assert guess(app.client, "ben", **{header: "198.51.100.1"}).status_code == 429


def test_guessing_elsewhere_does_not_lock_a_person_out(app: Served) -> None:
    """A browser that has signed in is known, and what is tried there is counted there."""
    app.sign_in("ana")
    inside = guess(app.client, "ana", PASSWORD)
    known = {"Cookie": "; ".join(sent.split("; ")[0] for sent in inside.headers.get_list("set-cookie"))}
    app.client.cookies.clear()
    attacker = from_elsewhere(app)
    assert [guess(attacker, "ana").status_code for _ in range(FREE_TRIES)][-1] == 429
    assert guess(app.client, "ana", PASSWORD).status_code == 429  # a browser that is new here has to wait
    assert guess(app.client, "ana", PASSWORD, **known).status_code == 200
    app.client.cookies.clear()
    forged = {"Cookie": f"{app.people.cookie}_known={'x' * 22}.{'0' * 64}"}
    of_another = {"Cookie": f"{app.people.cookie}_known={app.people.mark('ben')}"}
    assert [guess(attacker, "ana").status_code for _ in range(FREE_TRIES)][-1] == 429
    for headers in (forged, of_another):
        assert guess(attacker, "ana", PASSWORD, **headers).status_code == 429
    tries = [guess(app.client, "ana", **known).status_code for _ in range(FREE_TRIES + 1)]
    assert tries == [401] * (FREE_TRIES - 1) + [429, 429]  # nor may one guess for ever there


def test_who_has_found_an_open_browser_cannot_guess_the_password_there(app: Served) -> None:
    ana = app.sign_in("ana")
    body = {"old": "wrong guess", "new": "another password"}
    told = [ana.ask("POST", "/api/me/password", json=body) for _ in range(FREE_TRIES + 1)]
    assert [got.status_code for got in told] == [401] * (FREE_TRIES - 1) + [429, 429]
    assert ana.ask("POST", "/api/me/password", json={"new": "another password"}).status_code == 429
    assert ana.get("/api/me")["name"] == "ana"
