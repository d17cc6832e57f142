"""campaign.db is deleted, replaced or damaged under a server: no answer is acknowledged that nobody would find."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shortlist.campaign.storage.store import Store
from shortlist.types import ShortlistError
from tests.campaign.toys import campaign
from tests.web.serving import Person, Served, path_to, served

GONE = "it was deleted or replaced while it was in use, and nothing more is taken"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "run") as made:
        yield made


@pytest.fixture
def ana(app: Served) -> Person:
    return app.sign_in("ana")


def body(question: dict[str, Any], **more: Any) -> dict[str, Any]:
    path = path_to(question, 1)
    return {"question": question["id"], "kind": "label", "path": path, "stage_seconds": [1.0] * len(path), **more}


def refused(person: Person, question: dict[str, Any]) -> str:
    got = person.ask("POST", "/api/answers", json=body(question))
    assert (got.status_code, got.headers["retry-after"]) == (503, "1")
    return str(got.json()["error"])


def kept(path: Path) -> int:
    with Store(path, read_only=True) as store:
        return store.last_answer()


def taken_away(path: Path) -> Path:
    """Another name for the file that is still there when it is gone."""
    return path.rename(path.with_name("elsewhere"))


def replaced(path: Path) -> Path:
    """By a copy of it, as somebody who restores a backup does."""
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    kept = taken_away(path)
    copy.rename(path)
    return kept


@pytest.mark.parametrize("take", [taken_away, replaced])
def test_nothing_is_acknowledged_until_it_is_back(app: Served, ana: Person, take: Any) -> None:
    first, second = ana.questions(2)
    path = app.campaign.store.path
    assert ana.post("/api/answers", **body(first))["answer"] == 1
    original = take(path)
    assert GONE in refused(ana, second)
    assert GONE in refused(ana, second)  # nor is it taken for one that was acknowledged before
    assert GONE in refused(ana, first)  # which nobody would find again
    told = ana.get("/api/status")
    assert told["saves"] is False
    assert GONE in told["error"]
    original.replace(path)
    assert ana.post("/api/answers", **body(second))["answer"] == 2
    assert ana.post("/api/answers", **body(first))["answer"] == 1
    assert kept(path) == 2


def test_an_answer_on_its_way_as_it_is_deleted_is_not_acknowledged(app: Served, ana: Person) -> None:
    """It is gone after the answer was checked and before it is on the disk."""
    (question,) = ana.questions(1)
    store, original = app.campaign.store, list[Path]()

    @sa.event.listens_for(store.engine, "commit")
    def go(_: sa.Connection) -> None:
        if not original:
            original.append(taken_away(store.path))

    assert GONE in refused(ana, question)
    assert GONE in refused(ana, question)
    original[0].replace(store.path)
    assert ana.post("/api/answers", **body(question))["answer"] == 1


def test_a_log_that_is_deleted_is_missed_too(app: Served, ana: Person) -> None:
    """What was acknowledged last is in it alone."""
    (question,) = ana.questions(1)
    app.campaign.store.path.with_name("campaign.db-wal").unlink()
    assert GONE in refused(ana, question)


def test_the_server_says_that_it_is_over(app: Served, ana: Person) -> None:
    path = app.campaign.store.path
    original = taken_away(path)
    portal = app.client.portal
    assert portal is not None
    with pytest.raises(ShortlistError, match=GONE):
        portal.call(app.service.in_place)  # as `notice` does twice a second
    assert GONE in ana.get("/api/status")["error"]
    assert not path.exists()  # no empty one is made in its place
    original.replace(path)
    portal.call(app.service.in_place)
    assert ana.get("/api/status") | {"error": None, "saves": True} == ana.get("/api/status")


def test_accounts_that_are_deleted_are_missed_too(app: Served, ana: Person) -> None:
    app.people.path.unlink()
    got = app.client.post("/api/sign-in", json={"name": "ana", "password": "a long password"})
    assert (got.status_code, "people.db: it was deleted or replaced" in got.json()["error"]) == (503, True)
    assert not app.people.path.exists()


def test_damage_is_one_sentence(app: Served, ana: Person) -> None:
    """Pages that SQLite has not read yet: everything that touches them says so, and the server goes on."""
    (question,) = ana.questions(1)
    path = app.campaign.store.path
    app.campaign.store.engine.dispose()  # what it has in memory is not damaged
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    assert f"{path}: this database is damaged (database disk image is malformed)" in refused(ana, question)
    told = ana.get("/api/status")
    assert (told["saves"], "this database is damaged" in told["error"]) == (False, True)
    for address in ("/api/answers", "/api/disputes", "/api/set-aside", "/api/dashboard"):
        got = app.sign_in("olga", "owner").ask("GET", address)
        assert (got.status_code, "this database is damaged" in got.json()["error"]) == (503, True), address


def test_no_empty_campaign_is_made_where_a_server_left_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    campaign(folder).close()
    (folder / "server.lock").touch()
    (folder / "campaign.db").unlink()
    with pytest.raises(
        ShortlistError, match=r"campaign\.db: it is gone, and people have answered here; put it or a copy"
    ):
        campaign(folder)
    assert not (folder / "campaign.db").exists()
