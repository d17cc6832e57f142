"""Who is let in: headers that browsers keep to, bodies that are not too large, hosts and sessions that are ours."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from shortlist.web.people.people import People
from shortlist.web.people.schema import Person, Session

COOKIE = "shortlist_session"
LONGEST_BODY = 64 << 10  # bytes
LONGEST_FILE = 256 << 20  # bytes, for imports
REMEMBERED = 2.0  # seconds
MOST_REMEMBERED = 1000
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Around a whole app: refuses other hosts and large bodies, and adds the headers to everything that leaves."""

    def __init__(
        self,
        app: App,
        *,
        hosts: Collection[str] | None,  # None: any
        longest: int = LONGEST_BODY,
        files: Collection[str] = (),  # paths that take files
        headers: Mapping[str, str] = HEADERS,
    ) -> None:
        self.app, self.hosts, self.longest, self.files, self.headers = app, hosts, longest, files, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        longest = LONGEST_FILE if scope["path"] in self.files else self.longest
        keep = "no-cache" if scope["path"].startswith("/static/") else "no-store"  # no-cache: kept, and asked about
        guarded = _with_headers(send, {**self.headers, "Cache-Control": keep})
        if self.hosts is not None and _host(headers.get("host", "")) not in self.hosts:
            await _refuse(guarded, 421, "this server does not answer to that name")
        elif _is_over(headers.get("content-length", ""), longest):
            await _refuse(guarded, 413, f"the body is larger than {_size(longest)}")
        else:
            await self.app(scope, _measured(receive, longest), guarded)


def _is_over(length: str, longest: int) -> bool:
    """Whether a body says that it is too long; Python refuses to read a number of thousands of digits."""
    return length.isdecimal() and (len(length) > 20 or int(length) > longest)


def _size(n: int) -> str:
    return f"{n >> 20} MB" if n >> 20 else f"{n >> 10} KB"


def _measured(receive: Receive, longest: int) -> Receive:
    """A body that does not say how long it is ends where it would be too long."""
    read = 0

    async def measured() -> MutableMapping[str, Any]:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > longest:
            raise HTTPException(413, f"the body is larger than {_size(longest)}")
        return message

    return measured


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in headers.items() if n.lower().encode() not in there]
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return sending


async def _refuse(send: Send, status: int, words: str) -> None:
    body = b'{"error": "%s"}' % words.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _host(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:  # half an IPv6 address
        return ""


# --- who is asking ---------------------------------------------------------------------------------------------


def people_of(request: Request) -> People:
    people: People = request.app.state.people
    return people


class Doorkeeper:
    """Remembers for a moment who has just been let in, so that not every answer looks them up."""

    def __init__(self, people: People, clock: Callable[[], float] = time.monotonic) -> None:
        self.people, self.clock = people, clock
        self._known: dict[str, tuple[float, Session]] = {}

    def session(self, token: str) -> Session | None:
        known = self._known
        kept = known.get(token)
        if kept and self.clock() - kept[0] < REMEMBERED:
            return kept[1]
        found = self.people.session(token)
        if found is not None:
            if len(known) > MOST_REMEMBERED:
                known.clear()
            known[token] = (self.clock(), found)
        return found

    def forget(self) -> None:
        """Somebody's rights have changed."""
        self._known = {}  # another one: what is being looked up at this moment is remembered in the old one


bearer = HTTPBearer(auto_error=False, scheme_name="token", description="A token made on the page Account.")


async def anybody(
    request: Request, program: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Person | None:
    """Whoever the session's cookie or the token of a program says, if it says anything that is so."""
    people = people_of(request)
    if program is not None:
        name = people.token(program.credentials.strip())
        found = people.person(name) if name else None
        return found if found and found.active else None
    session = doorkeeper(request).session(request.cookies.get(COOKIE, ""))
    if session is None:
        return None
    request.state.csrf = session.csrf
    return session.person


def doorkeeper(request: Request) -> Doorkeeper:
    keeper: Doorkeeper = request.app.state.doorkeeper
    return keeper


async def signed_in(request: Request, person: Annotated[Person | None, Depends(anybody)]) -> Person:
    """Refuses everybody else; and what changes something has to come from our own page."""
    if person is None:
        raise HTTPException(401, "sign in first")
    request.state.person = person
    csrf = getattr(request.state, "csrf", None)
    if csrf is not None and request.method not in ("GET", "HEAD"):
        given = request.headers.get("x-csrf-token", "")
        if not secrets.compare_digest(given.encode(), csrf.encode()):
            raise HTTPException(403, "this did not come from a page of this campaign; load it again")
    same_origin(request)
    return person


def same_origin(request: Request) -> None:
    """Another site's page may not send us anything in somebody's name."""
    origin = request.headers.get("origin")
    if origin and origin.partition("://")[2] != request.headers.get("host"):
        raise HTTPException(403, "this came from another site's page")


async def is_owner(person: Annotated[Person, Depends(signed_in)]) -> Person:
    if person.role != "owner":
        raise HTTPException(403, "only an owner of the campaign may do this")
    return person


Anybody = Annotated[Person | None, Depends(anybody)]
SignedIn = Annotated[Person, Depends(signed_in)]
Owner = Annotated[Person, Depends(is_owner)]
