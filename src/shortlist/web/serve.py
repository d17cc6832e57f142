"""Serving the app: one server a folder, on this machine only unless told otherwise."""

from __future__ import annotations

import asyncio
import getpass
import ipaddress
import resource
import socket
import threading
import webbrowser
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shortlist.campaign.engine import Campaign
from shortlist.system.files import locked
from shortlist.types import ShortlistError
from shortlist.web.app import label_app
from shortlist.web.people.people import People
from shortlist.web.security import LOCAL, host_of

LOCK = "server.lock"  # held by the server, and has its address
LONGEST_HEAD = 64 << 10  # bytes
HEAD_SECONDS = 20.0  # for a head to come whole
SPARE = 128  # descriptors for databases, files and the worker
PRINT = partial(print, flush=True)  # at once, also where it goes to a log
PORTS = range(8765, 8865)  # tried in turn where none is asked for


def serve(
    campaign: Campaign,
    *,
    worker: Sequence[str],
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    control: float = 0.0,
    guidelines: Path | None = None,
    names: Sequence[str] = (),
    say: Callable[[str], object] = PRINT,
) -> None:
    """Serve a campaign until interrupted; `names` are those of a reverse proxy here, which lets others in."""
    names = [checked_name(name) for name in names]
    folder = campaign.folder.path
    people = People(folder)
    owner = first_owner(people, must_have_password=None if is_local(host) and not names else folder)
    # two servers of one campaign would lend the same question to two people
    alone = locked(folder / LOCK, f"{folder}: it is being served already; stop the other server first")
    with alone, listening(host, port) as heard:
        place = address(host, heard)
        (folder / LOCK).write_text(place)
        link = start_link(people, owner, place)
        app = label_app(
            campaign,
            people,
            worker=worker,
            hosts=hosts_of(host, names),
            names=names,
            control=control,
            guidelines=guidelines,
        )
        say(f"labelling {folder} at {place}")
        say(f"open it as {owner}: {link}   (this link works once; Ctrl-C stops, and nothing is lost)")
        if browser:
            threading.Timer(1.0, lambda: webbrowser.open(link)).start()
        uvicorn.Server(config(app)).run(sockets=[heard])


def start_link(people: People, owner: str, place: str) -> str:
    return f"{place}/start/{people.start_link(owner)}"


def new_link(folder: Path) -> str:
    """A link for an owner of the campaign that is being served from a folder, on the machine that serves it."""
    lock, place = folder / LOCK, ""
    if lock.exists():
        try:
            with locked(lock, "served"):
                pass
        except ShortlistError:
            place = lock.read_text()
    if not place:
        raise ShortlistError(f"{folder}: it is not being served; shortlist label {folder} serves it and prints a link")
    people = People(folder)
    return start_link(people, first_owner(people, must_have_password=None), place)


def config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Measured,
        log_level="warning",
        access_log=False,  # addresses hold tokens
        server_header=False,
        proxy_headers=False,  # `Forwarded` reads them, where there is a proxy
        timeout_graceful_shutdown=3,
    )


class Measured(HttpToolsProtocol):
    """Hangs up on a client whose request head does not end: all of it would be kept in memory.

    Where there are as many connections as there are descriptors to spare, the one that has been silent for longest
    makes room for the next: that may be the owner.
    """

    _waiting = 0  # bytes of a head that is not complete
    _in_body = False
    _since = 0.0  # when it was last heard of
    _patience: asyncio.TimerHandle | None = None  # for a head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > most_connections():
            others = (other for other in self.connections if isinstance(other, Measured) and other is not self)
            idle = [other for other in others if other.is_idle]
            min(idle, key=lambda other: other._since, default=self).transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting > LONGEST_HEAD:
            self.transport.close()
            return
        self._since = self.loop.time()
        if not self._in_body:
            self._waiting += len(data)
            if self._patience is None:
                self._await_head()
        super().data_received(data)

    @property
    def is_idle(self) -> bool:
        """No request of it is being answered."""
        return not self._in_body and (self.cycle is None or self.cycle.response_complete)

    def _await_head(self) -> None:
        self._since = self.loop.time()
        self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _head_came(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = None

    def on_headers_complete(self) -> None:
        self._in_body, self._waiting = True, 0
        self._head_came()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body, self._waiting = False, 0
        super().on_message_complete()


def most_connections() -> int:
    """How many leave enough descriptors for everything else."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 10_000 if allowed == resource.RLIM_INFINITY else allowed - min(SPARE, allowed // 2)


def first_owner(people: People, must_have_password: Path | None) -> str:
    """An owner's name: every campaign has one, who needs a password where other machines reach the server."""
    owners = [p for p in people.everyone() if p.role == "owner" and p.active]
    if must_have_password is not None and not any(p.has_password for p in owners):
        raise ShortlistError(
            f"{must_have_password}: others could reach this address, and there is no account with a password yet; "
            f"make one first: shortlist label {must_have_password} --password"
        )
    return (owners[0] if owners else people.add(_login(), "owner")).name


def _login() -> str:
    try:
        return getpass.getuser()[:64] or "owner"
    except (OSError, KeyError):  # a machine without a user database
        return "owner"


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0"), is_local("::1")
    (True, True, False, True)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_of(host: str, names: Collection[str] = ()) -> Collection[str] | None:
    """The names that a server at this address answers to; None: any, where others can reach it and none is given."""
    return {*LOCAL, host, *names} if is_local(host) or names else None


def checked_name(name: str) -> str:
    """A name of this server as a browser sends it.

    >>> checked_name("Labels.example.org")
    'labels.example.org'
    """
    known = name.strip().lower()
    if not known or known != host_of(known):
        raise ShortlistError(f"--allow-host: {name!r} is no name; give it alone, as in labels.example.org")
    return known


def address(host: str, heard: socket.socket) -> str:
    """Where a browser finds it: others know this machine by its name."""
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{heard.getsockname()[1]}"


@contextmanager
def listening(host: str, port: int | None) -> Iterator[socket.socket]:
    """A socket on the port asked for, or on the first free one."""
    for tried in PORTS if port is None else (port,):
        try:
            heard = _bound(host, tried)
        except PermissionError:
            raise ShortlistError(f"port {tried}: not allowed; choose one above 1023 with --port") from None
        except OSError as error:
            problem = error
            continue
        with heard:
            yield heard
        return
    raise ShortlistError(f"{host}: no port to listen on ({problem.strerror or problem}); choose one with --port")


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # the protocol by its number: asyncio sends at once (TCP_NODELAY) only where it sees that it is TCP
    heard = socket.socket(family, kind, protocol or socket.IPPROTO_TCP)
    try:
        heard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        heard.bind(place)
        heard.listen()  # the printed link works at once
    except OSError:
        heard.close()
        raise
    return heard
