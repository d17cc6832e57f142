"""Access: headers that browsers obey, limits on bodies, the hosts answered to, sessions, and who may do what."""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, cast
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shortlist.web.people.people import People
from shortlist.web.people.people_db import Person, Session

COOKIE = "shortlist_session"  # as earlier versions named it, whatever the campaign; now `People.cookie` is its name
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


class Guard:
    """Around a whole app: refuses other hosts and large bodies, and adds the headers to everything that leaves."""

    def __init__(
        self,
        app: ASGIApp,
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
        headers = Headers(scope=scope)
        longest = LONGEST_FILE if scope["path"] in self.files else self.longest
        keep = "no-cache" if scope["path"].startswith("/static/") else "no-store"  # no-cache: kept, and asked about
        guarded = _with_headers(send, {**self.headers, "Cache-Control": keep})
        if self.hosts is not None and host_of(headers.get("host", "")) not in self.hosts:
            refusal = JSONResponse({"error": "this server does not answer to that name"}, 421)
            await refusal(scope, receive, guarded)
        elif _is_over(headers.get("content-length", ""), longest):
            await JSONResponse({"error": _too_large(longest)}, 413)(scope, receive, guarded)
        else:
            await self.app(scope, _measured(receive, longest), guarded)


class Forwarded:
    """What a reverse proxy on this machine says of who has asked, by which name and how. Nobody else is believed."""

    def __init__(self, app: ASGIApp, *, names: Collection[str]) -> None:  # that the proxy answers to
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_by_proxy = scope["type"] == "http" and self.names and _is_here((scope.get("client") or ("",))[0])
        await self.app(self._told(scope) if is_by_proxy else scope, receive, send)

    def _told(self, scope: Scope) -> Scope:
        told = {**scope, "headers": list(scope["headers"])}
        last = {name: _last(Headers(scope=scope), f"x-forwarded-{name}") for name in ("for", "proto", "host")}
        if _is_address(last["for"]):
            told["client"] = (last["for"], 0)
        if last["proto"] in ("http", "https"):
            told["scheme"] = last["proto"]
        if host_of(last["host"]) in self.names:
            MutableHeaders(scope=told)["host"] = last["host"]
        return told


def _last(headers: Headers, name: str) -> str:
    """What the proxy has added itself; what stands before came from the client."""
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()


def _is_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _is_here(address: str) -> bool:
    return _is_address(address) and ipaddress.ip_address(address).is_loopback


def _is_over(length: str, longest: int) -> bool:
    """Whether a body says that it is too long; Python refuses to read a number of thousands of digits."""
    return length.isdecimal() and (len(length) > 20 or int(length) > longest)


def _too_large(longest: int) -> str:
    return f"the body is larger than {f'{longest >> 20} MB' if longest >> 20 else f'{longest >> 10} KB'}"


def _measured(receive: Receive, longest: int) -> Receive:
    """A body that does not say how long it is ends where it would be too long."""
    read = 0

    async def measured() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > longest:
            raise HTTPException(413, _too_large(longest))
        return message

    return measured


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = MutableHeaders(scope=message)
            for name, value in headers.items():
                there.setdefault(name, value)
        await send(message)

    return sending


def host_of(header: str) -> str:
    """The name in a header such as Host, without the port."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:  # half an IPv6 address
        return ""


# --- who is asking ---------------------------------------------------------------------------------------------


def people_of(request: Request) -> People:
    return cast(People, request.app.state.people)


class SessionCache:
    """Remembers for a moment whose session a token is, so that not every answer looks it up."""

    def __init__(self, people: People, clock: Callable[[], float] = time.monotonic) -> None:
        self.people, self.clock = people, clock
        self._known: dict[str, tuple[float, Session]] = {}

    def session(self, token: str) -> Session | None:
        known = self._known
        at, session = known.get(token, (float("-inf"), None))
        if self.clock() - at >= REMEMBERED and (session := self.people.session(token)):
            if len(known) > MOST_REMEMBERED:
                known.clear()
            known[token] = (self.clock(), session)
        return session

    def forget(self) -> None:
        """A person's rights have changed."""
        self._known = {}  # a new one: a session that is being looked up at this moment is remembered in the old one


bearer = HTTPBearer(auto_error=False, scheme_name="token", description="A token made on the page Account.")


async def person_if_any(
    request: Request, program: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Person | None:
    """The person whose session's cookie or program's token came with the request, if it is valid."""
    people = people_of(request)
    if program is not None:
        name = people.token(program.credentials.strip())
        person = people.person(name) if name else None
        return person if person and person.active else None
    session = session_cache(request).session(token_of(request))
    if session is None:
        return None
    request.state.csrf = session.csrf
    return session.person


def token_of(request: Request) -> str:
    """The session's, from its cookie."""
    return request.cookies.get(people_of(request).cookie) or request.cookies.get(COOKIE, "")


def session_cache(request: Request) -> SessionCache:
    return cast(SessionCache, request.app.state.session_cache)


async def signed_in(request: Request, person: Annotated[Person | None, Depends(person_if_any)]) -> Person:
    """Refuses requests without a person; and those that change something have to come from our own page."""
    if person is None:
        raise HTTPException(401, "sign in first")
    request.state.person = person
    csrf = getattr(request.state, "csrf", None)
    if csrf is not None and request.method not in ("GET", "HEAD"):
        check_csrf(request, csrf)
    same_origin(request)
    return person


def check_csrf(request: Request, csrf: str) -> None:
    """Refuse what does not carry the session's token: only our own pages know it."""
    token = request.headers.get("x-csrf-token", "")
    if not secrets.compare_digest(token.encode(), csrf.encode()):
        raise HTTPException(403, "this did not come from a page of ours, or the page is out of date; load it again")


def same_origin(request: Request) -> None:
    """A page of another site may not send anything in a person's name."""
    origin = request.headers.get("origin")
    site = (origin or "").partition("://")[2]  # "null" has none, and is no page of ours
    names = getattr(request.app.state, "names", ())  # a proxy need not pass on which of them was asked for
    if origin and site != request.headers.get("host") and host_of(site) not in names:
        raise HTTPException(403, "this came from another site's page")


async def is_owner(person: Annotated[Person, Depends(signed_in)]) -> Person:
    if person.role != "owner":
        raise HTTPException(403, "only an owner of the campaign may do this")
    return person


SignedIn = Annotated[Person, Depends(signed_in)]
Owner = Annotated[Person, Depends(is_owner)]
