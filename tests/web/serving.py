"""A served campaign for tests: a small world, people in it, and a client for each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from shortlist.campaign.engine import Campaign
from shortlist.datasets.arrays import Arrays
from shortlist.types import Question
from shortlist.web.app import label_app
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from shortlist.web.security import COOKIE
from tests.campaign.toys import campaign, data

DATA = data(60)
BEGUN: dict[tuple[Any, ...], dict[str, bytes]] = {}
KEPT: list[Arrays] = []  # so that no other dataset comes to have their id
FAST = {"time_cost": 1, "memory_kib": 8, "parallelism": 1}


class Served:
    """The app of one campaign in this process, without a worker: tests advance it themselves."""

    def __init__(self, campaign: Campaign, people: People, client: TestClient) -> None:
        self.campaign, self.people, self.client = campaign, people, client

    @property
    def service(self) -> Any:
        return self.client.app.state.service  # type: ignore[attr-defined]

    def work(self) -> None:
        """What the worker would do, and what the server then sees."""
        while self.campaign.advance():
            pass
        assert self.client.portal is not None
        self.client.portal.call(self.service.look)

    def hear(self, state: str) -> None:
        """What the worker would say."""
        assert self.client.portal is not None
        self.client.portal.call(self.service.heard, {"state": state})

    def recounted(self) -> Any:
        """Progress as it is read from the database."""
        assert self.client.portal is not None
        self.client.portal.call(self.service.recount)
        return self.service.progress()

    def sign_in(self, name: str, role: Any = "annotator") -> Person:
        if self.people.person(name) is None:
            self.people.add(name, role, "a long password")
        token = self.people.sign_in(name, "a long password", "test")
        return Person(self, name, token)


class Person:
    """Somebody with a session, as their browser would have it."""

    def __init__(self, served: Served, name: str, token: str) -> None:
        self.served, self.name, self.token = served, name, token
        session = served.people.session(token)
        assert session is not None
        self.headers = {"Cookie": f"{COOKIE}={token}", "X-CSRF-Token": session.csrf}

    def ask(self, method: str, path: str, **more: Any) -> Any:
        headers = {**self.headers, **more.pop("headers", {})}
        return self.served.client.request(method, path, headers=headers, **more)

    def get(self, path: str) -> Any:
        got = self.ask("GET", path)
        assert got.status_code == 200, got.text
        return got.json()

    def post(self, at: str, /, **body: Any) -> Any:
        got = self.ask("POST", at, json=body)
        assert got.status_code == 200, got.text
        return got.json()

    def questions(self, n: int = 3, holding: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(f"/api/questions?n={n}&holding={holding}")["questions"]
        return found

    def answer(self, question: dict[str, Any], label: int, **more: Any) -> Any:
        path = path_to(question, label)
        body = {"question": question["id"], "kind": "label", "path": path, "stage_seconds": [1.5] * len(path)}
        return self.post("/api/answers", **body, **more)


def path_to(question: dict[str, Any], label: int) -> list[int]:
    classes, cuts = tuple(question["classes"]), tuple(question["cuts"])
    asked = Question(question["id"], 1, 0, "", "query", classes, cuts, 5, question["exhaustive"])
    return list(asked.path_to(label))


def truth(question: dict[str, Any]) -> int:
    return int(DATA.labels[int(question["item"]["key"].removeprefix("item"))])


@contextmanager
def served(folder: Path, *, dataset: Arrays = DATA, control: float = 0.0, **settings: Any) -> Iterator[Served]:
    settings = {"initial": 12, "budget": 10, "ahead": 4, **settings}
    begun(folder_of(folder), dataset, settings)
    people = People(folder, passwords=Passwords(**FAST))
    with campaign(folder, dataset, **settings) as going:
        going.advance()
        app = label_app(going, people, hosts=None, control=control)
        with TestClient(app, raise_server_exceptions=True) as client:
            yield Served(going, people, client)


def begun(folder: Path, dataset: Arrays, settings: dict[str, Any]) -> None:
    """Lay a campaign with its first questions into the folder: made once, then copied, if its settings are plain."""
    if any(folder.iterdir()) or not all(isinstance(value, int) for value in settings.values()):
        return
    key = (id(dataset), *sorted(settings.items()))
    if key not in BEGUN:
        with tempfile.TemporaryDirectory() as made:
            people = closing(People(Path(made), passwords=Passwords(**FAST)))
            with people, campaign(Path(made), dataset, **settings) as going:
                going.advance()
            BEGUN[key] = {path.name: path.read_bytes() for path in Path(made).iterdir() if path.is_file()}
        KEPT.append(dataset)
    for name, content in BEGUN[key].items():
        (folder / name).write_bytes(content)


def folder_of(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
