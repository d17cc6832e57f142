"""Bytes as they are sent, to the real server: what a client library would tidy up or refuse to send."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shortlist.datasets.arrays import Arrays
from shortlist.web.app import label_app
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from tests.campaign.toys import campaign
from tests.web.pages.serving import serving
from tests.web.serving import DATA, FAST, folder_of

PATIENCE = 30.0  # seconds: the machine may be busy
JSON = b"Content-Type: application/json"


@dataclass(frozen=True)
class Told:
    status: int  # 0: the connection was closed without a word
    head: bytes
    body: bytes


@dataclass(frozen=True)
class Wire:
    """A server, and the token of an owner there."""

    port: int
    people: People
    token: str

    def send(self, *parts: bytes) -> Told:
        """These bytes, and what comes back; the server may hang up before it has heard all of them."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as wire:
            heard = b""
            try:
                for part in parts:
                    wire.sendall(part)
            except ConnectionError:
                pass
            try:
                while got := wire.recv(1 << 16):
                    heard += got
            except ConnectionError:
                pass
        head, _, body = heard.partition(b"\r\n\r\n")
        return Told(int(head.split()[1]) if head else 0, head.lower(), body)

    def ask(self, line: bytes, *headers: bytes, body: Iterable[bytes] = (), signed_in: bool = True) -> Told:
        """A request line such as b"GET /", as the owner."""
        owner = [b"Authorization: Bearer " + self.token.encode()] if signed_in else []
        head = [line + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *owner, *headers, b"", b""]
        return self.send(b"\r\n".join(head), *body)

    def post(self, path: bytes, body: bytes, *headers: bytes) -> Told:
        return self.ask(b"POST " + path, JSON, b"Content-Length: %d" % len(body), *headers, body=[body])

    @property
    def goes_on(self) -> bool:
        return self.ask(b"GET /api/me").status == 200


@contextmanager
def wired(folder: Path, dataset: Arrays = DATA, **settings: int) -> Iterator[Wire]:
    with (
        closing(People(folder_of(folder), passwords=Passwords(**FAST))) as people,
        campaign(folder, dataset, **settings) as going,
    ):
        going.advance()
        people.add("olga", "owner", "a long password")
        with serving(label_app(going, people)) as address, nothing_goes_wrong():
            yield Wire(int(address.rpartition(":")[2]), people, people.make_token("olga", "wire"))


@contextmanager
def nothing_goes_wrong() -> Iterator[None]:
    """Not even where nobody is listening any more: the server's log has no error in it."""
    log, kept = logging.getLogger("uvicorn.error"), Kept(logging.ERROR)
    log.addHandler(kept)
    try:
        yield
    finally:
        log.removeHandler(kept)
    assert not kept.records, kept.records[0].getMessage()


class Kept(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
