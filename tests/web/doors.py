"""Every door of the labelling app: its routes, who may use them, and a request that changes something at each."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from fastapi.routing import iter_route_contexts

from shortlist.web.security import REMEMBERED
from tests.web.serving import Served

Route = tuple[str, str]  # method and path

PUBLIC = {
    ("GET", "/sign-in"),
    ("GET", "/start/{token}"),
    ("GET", "/join/{token}"),
    ("POST", "/api/sign-in"),
    ("POST", "/api/join"),
    ("GET", "/static"),
}
FOR_ANNOTATORS = {
    ("GET", "/"),
    ("GET", "/account"),
    ("GET", "/api"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/classes"),
    ("GET", "/api/classes/{cls}/examples/{n}"),
    ("GET", "/api/guide"),
    ("GET", "/api/questions"),
    ("GET", "/api/questions/{id}"),
    ("GET", "/api/answers"),
    ("POST", "/api/answers"),
    ("POST", "/api/leases/release"),
    ("GET", "/api/status"),
    ("GET", "/api/items/{item}"),
    ("GET", "/api/me"),
    ("POST", "/api/me/password"),
    ("POST", "/api/sign-out"),
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("DELETE", "/api/tokens/{id}"),
}
# All other routes, whoever adds them, are the owners' alone.

PASSWORD = "a long password"  # everybody's who signs in
FILE = "key,label\nitem1,c1\n"
CHANGES: dict[Route, dict[str, Any]] = {  # for each route that changes something, a request that does
    ("POST", "/api/answers"): {"json": {"question": 1, "kind": "skip"}},
    ("POST", "/api/leases/release"): {"json": {"questions": [1]}},
    ("POST", "/api/decisions"): {"json": {"question": 1, "kind": "none"}},
    ("POST", "/api/sign-out"): {},
    ("POST", "/api/me/password"): {"json": {"old": PASSWORD, "new": "another password"}},
    ("POST", "/api/people/{name}"): {"json": {"active": False}},
    ("POST", "/api/invitations"): {"json": {"role": "owner"}},
    ("DELETE", "/api/invitations/{id}"): {},
    ("POST", "/api/tokens"): {"json": {"label": "script"}},
    ("DELETE", "/api/tokens/{id}"): {},
    ("POST", "/api/import"): {"params": {"format": "csv"}, "content": FILE},
}
NOT_KEPT = {("POST", "/api/leases/release")}  # what it changes is in memory


def routes(app: Served) -> set[Route]:
    """Everything the app answers to, as it is written in the app."""
    found = set()
    for route in iter_route_contexts(app.client.app.routes):  # type: ignore[attr-defined]
        path = re.sub(r":\w+}", "}", str(route.path))
        found |= {(method, path) for method in route.methods or {"GET"}}
    return found


def for_owners(app: Served) -> set[Route]:
    return routes(app) - PUBLIC - FOR_ANNOTATORS


def address(path: str, **values: object) -> str:
    """A path with something in every place that is left open."""
    return re.sub(r"{(\w+)}", lambda place: str(values.get(place[1], 1)), path)


def kept(app: Served) -> dict[str, list[str]]:
    """All that is in both databases; leases come and go by themselves."""
    folder = app.campaign.folder.path
    return {name: _dump(folder / name) for name in ("people.db", "campaign.db")}


def _dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if not line.startswith('INSERT INTO "leases"')]


def later(app: Served, seconds: float) -> None:
    """The server's clock goes on."""
    now = app.people._clock
    app.people._clock = lambda: now() + seconds
    cache = app.client.app.state.session_cache  # type: ignore[attr-defined]
    cache.clock = lambda: time.monotonic() + REMEMBERED


def stop_the_clock(app: Served) -> None:
    """A busy machine is no slower than others by the server's clock."""
    now = app.people._clock()
    app.people._clock = lambda: now
