"""Behind a reverse proxy on the same machine: a real nginx with TLS, configured as docs/LABELLING.md says."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.datastructures import Headers

from shortlist.types import ShortlistError
from shortlist.web.app import label_app
from shortlist.web.people.passwords import FREE_TRIES, Passwords
from shortlist.web.people.people import People
from shortlist.web.security import Forwarded
from shortlist.web.serve import checked_name, hosts_of, serve
from tests.campaign.toys import campaign
from tests.web.pages.serving import serving
from tests.web.serving import DATA, FAST, folder_of
from tests.web.test_kill import free_port
from tests.web.test_serve import wait_until

NAME = "labels.example.org"
PAGE = Path(__file__).parents[2] / "docs" / "LABELLING.md"
PASSWORD = "a long password"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@dataclass(frozen=True)
class Proxy:
    port: int
    context: ssl.SSLContext
    people: People

    def ask(
        self, method: str, path: str, body: Any = None, *, client: str = "127.0.0.1", name: str = NAME, **headers: str
    ) -> tuple[int, Any, Any]:
        """As a browser asks that knows the proxy alone: status, headers and body."""
        site = f"{name}:{self.port}"
        sent = {"Host": site, "Content-Type": "application/json", **headers}
        if method != "GET":
            sent.setdefault("Origin", f"https://{site}")
        connection = http.client.HTTPConnection(NAME, self.port, timeout=60)
        plain = socket.create_connection(("127.0.0.1", self.port), 60, source_address=(client, 0))
        with self.context.wrap_socket(plain, server_hostname=NAME) as connection.sock:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            got = connection.getresponse()
            return got.status, got.headers, got.read()

    def guess(self, name: str, password: str = "wrong guess", **more: Any) -> int:
        return self.ask("POST", "/api/sign-in", {"name": name, "password": password}, **more)[0]


@contextmanager
def nginx(folder: Path, upstream: str, *, as_it_comes: bool) -> Iterator[tuple[int, ssl.SSLContext]]:
    """It runs in this folder, and with the settings of the page; `as_it_comes`: it sends no header of its own."""
    if NGINX is None or shutil.which("openssl") is None:
        if os.environ.get("SHORTLIST_REQUIRE_NGINX") == "1":
            raise AssertionError("nginx and openssl have to be there: apt-get install nginx openssl")
        pytest.skip("no nginx, or no openssl, on this machine: apt-get install nginx openssl")
    folder.mkdir()
    port, pem, key = free_port(), folder / "labels.pem", folder / "labels.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    paths = ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(pem)]
    subprocess.run([*made, *paths], check=True, capture_output=True)
    (server,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    for old, new in {
        "443 ssl": f"127.0.0.1:{port} ssl default_server",
        "/etc/ssl/labels.pem": str(pem),
        "/etc/ssl/labels.key": str(key),
        "http://127.0.0.1:8765": upstream,
    }.items():
        assert old in server
        server = server.replace(old, new)
    if as_it_comes:
        server = re.sub(r".*proxy_set_header.*\n", "", server)
    kept = "".join(f"{what}_temp_path {folder}; " for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.geteuid() == 0 else ""
    config = folder / "nginx.conf"
    config.write_text(
        f"{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/errors.txt; events {{}}\n"
        f"http {{ access_log off; {kept}\n{server} }}"
    )
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(config)], stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: process.poll() is not None or is_heard(port))
        assert process.poll() is None, process.communicate()[1]
        yield port, ssl.create_default_context(cafile=str(pem))
    finally:
        process.terminate()
        process.communicate()


def is_heard(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def proxied(folder: Path, *, as_it_comes: bool = False) -> Iterator[Proxy]:
    with (
        closing(People(folder_of(folder / "run"), passwords=Passwords(**FAST))) as people,
        campaign(folder / "run", DATA) as going,
    ):
        going.advance()
        people.add("olga", "owner", PASSWORD)
        people.add("ana", "annotator", PASSWORD)
        app = label_app(going, people, hosts=hosts_of("127.0.0.1", [NAME]), names=[NAME])
        with serving(app) as address, nginx(folder / "nginx", address, as_it_comes=as_it_comes) as (port, context):
            yield Proxy(port, context, people)


def cookies(headers: Any) -> dict[str, str]:
    """What the browser sends from then on, with the token that a page would have."""
    sent = dict(cookie.split("; ")[0].split("=", 1) for cookie in headers.get_all("set-cookie"))
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in sent.items())}


def test_people_use_it_by_its_name(tmp_path: Path) -> None:
    with proxied(tmp_path) as proxy:
        assert proxy.ask("GET", "/sign-in")[0] == 200
        assert proxy.ask("GET", "/sign-in", name="evil.example")[0] == 421
        status, headers, _ = proxy.ask("POST", "/api/sign-in", {"name": "olga", "password": PASSWORD})
        assert status == 200
        assert all("; secure" in cookie.lower() for cookie in headers.get_all("set-cookie"))
        page = proxy.ask("GET", "/people", **cookies(headers))[2].decode()
        (csrf,) = re.findall(r'name="csrf" content="(\w+)"', page)
        inside = {**cookies(headers), "X-CSRF-Token": csrf}
        status, _, body = proxy.ask("POST", "/api/invitations", {"role": "annotator"}, **inside)
        link = json.loads(body)["link"]
        assert link.startswith(f"https://{NAME}:{proxy.port}/join/")
        assert proxy.ask("POST", "/api/invitations", {}, Origin="https://evil.example", **inside)[0] == 403


def test_guesses_count_against_the_address_that_they_come_from(tmp_path: Path) -> None:
    with proxied(tmp_path) as proxy:
        forged = {"X-Forwarded-For": "203.0.113.7"}  # what a client sends comes before what the proxy knows
        tries = [proxy.guess("ana", client="127.0.0.2", **forged) for _ in range(FREE_TRIES)]
        assert tries[-1] == 429
        assert proxy.guess("olga", PASSWORD, client="127.0.0.2") == 429
        assert proxy.guess("olga", PASSWORD, client="127.0.0.3") == 200


def test_a_proxy_that_sends_no_headers_is_enough_to_label(tmp_path: Path) -> None:
    """Such an nginx asks for 127.0.0.1, and the browser says that it is on a page of the proxy's."""
    with proxied(tmp_path, as_it_comes=True) as proxy:
        assert proxy.guess("ana", PASSWORD) == 200
        assert proxy.guess("ana", PASSWORD, Origin="https://evil.example") == 403


# --- without one -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "client", "believed"),
    [
        ([NAME], "127.0.0.1", True),
        ([NAME], "::1", True),
        ([NAME], "203.0.113.9", False),
        ([], "127.0.0.1", False),
    ],
)
def test_what_is_forwarded_counts_from_this_machine_alone(
    tmp_path: Path, names: list[str], client: str, believed: bool
) -> None:
    with (
        closing(People(folder_of(tmp_path / "run"), passwords=Passwords(**FAST))) as people,
        campaign(tmp_path / "run", DATA) as going,
    ):
        people.add("olga", "owner", PASSWORD)
        with TestClient(label_app(going, people, names=names), client=(client, 50000)) as browser:
            told = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": NAME, "X-Forwarded-For": "198.51.100.1"}
            got = browser.post("/api/sign-in", json={"name": "olga", "password": PASSWORD}, headers=told)
            assert ("; secure" in got.headers["set-cookie"].lower()) is believed
            for i in range(FREE_TRIES):
                told = {"X-Forwarded-For": f"198.51.100.{i}"}
                got = browser.post("/api/sign-in", json={"name": f"nobody {i}", "password": "y"}, headers=told)
            assert got.status_code == (401 if believed else 429)


def test_with_a_proxy_before_it_somebody_has_to_have_a_password(tmp_path: Path) -> None:
    with (
        campaign(tmp_path / "run") as going,
        pytest.raises(ShortlistError, match="others could reach this address, and there is no account with a password"),
    ):
        serve(going, worker=["true"], browser=False, names=[NAME])


@pytest.mark.parametrize("wrong", ["https://labels.example.org", "labels.example.org:443", "", "a/b", "[::1"])
def test_a_name_is_given_alone(wrong: str) -> None:
    with pytest.raises(ShortlistError, match=r"--allow-host: .* is no name; give it alone, as in labels.example.org"):
        checked_name(wrong)


async def told(client: str, *, names: Sequence[str] = (NAME,), kind: str = "http", **headers: str) -> Any:
    """What an app behind it is told of a request with these X-Forwarded headers."""
    seen: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)

    sent = [(f"x-forwarded-{name}".encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "client": (client, 50000), "scheme": "http", "headers": [(b"host", b"localhost"), *sent]}
    await Forwarded(inner, names=names)(scope, None, None)  # type: ignore[arg-type]
    return seen[0]


def test_the_last_word_is_the_proxys() -> None:
    """What stands before it came from the client; a port is not told, and so is 0."""
    headers = {"for": "10.0.0.1, 203.0.113.5", "proto": "ftp, https", "host": f"evil.example, {NAME}"}
    scope = asyncio.run(told("127.0.0.1", **headers))
    assert (scope["client"], scope["scheme"], Headers(scope=scope)["host"]) == (("203.0.113.5", 0), "https", NAME)
    headers = {"for": "unknown", "proto": "ftp", "host": "evil.example"}
    scope = asyncio.run(told("127.0.0.1", **headers))
    assert (scope["client"], scope["scheme"]) == (("127.0.0.1", 50000), "http")
    assert Headers(scope=scope)["host"] == "localhost"


def test_only_a_request_is_forwarded() -> None:
    """The start of the server and its end have no client."""
    lifespan = {"type": "lifespan"}
    seen: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)

    asyncio.run(Forwarded(inner, names=[NAME])(lifespan, None, None))  # type: ignore[arg-type]
    assert seen == [lifespan]
