"""The command itself: who can reach it, what it refuses, what it writes, and how it ends."""

from __future__ import annotations

import getpass
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from shortlist.system.files import locked
from shortlist.types import ShortlistError
from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from shortlist.web.security import LOCAL
from shortlist.web.serve import LOCK, address, first_owner, is_local, listening, most_connections, new_link, serve
from tests.campaign.toys import campaign
from tests.cases import in_turn
from tests.cli.command import Command
from tests.web.serving import FAST

COMMAND = [sys.executable, "-c", "from shortlist.cli import main; main()", "label"]
TOML = """
name = "letters"
initial = 6
budget = 6
annotator = "people"
model = "scikit"
dataset = { name = "glyphs", classes = 10, items = 40, size = 12 }
query = { name = "candidate_set", n_cal = 2 }
acquisition = "entropy"
"""
PATIENCE = 120.0  # seconds: the machine may be busy


class Running:
    """`shortlist label` in a process group of its own, as a terminal would have it."""

    def __init__(self, folder: Path, *options: str, descriptors: int = 1024) -> None:
        self.folder = folder
        limited = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh"]
        with (folder / "said.txt").open("w") as log:
            self.process = subprocess.Popen(
                [*limited, *COMMAND, str(folder), "--no-browser", *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Until it is there."""
        wait_until(lambda: "/start/" in self.said or self.process.poll() is not None)
        assert self.process.poll() is None, self.said

    @property
    def said(self) -> str:
        return (self.folder / "said.txt").read_text()

    @property
    def port(self) -> int:
        return int(re.findall(r"at http://[^:\n]+:(\d+)\n", self.said)[0])

    @property
    def start_link(self) -> str:
        return str(re.findall(r"http://[^/\s]+(/start/\S+)", self.said)[0])

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path, headers=headers)
        got = connection.getresponse()
        try:
            return got.status, {name.lower(): value for name, value in got.getheaders()}, got.read()
        finally:
            connection.close()

    def interrupt(self) -> int:
        """Ctrl-C reaches every process of the group."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(PATIENCE)

    def end(self) -> None:
        self.process.kill()  # its worker ends when nobody listens any more
        self.process.wait()


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.05)


@contextmanager
def running(folder: Path, *options: str, descriptors: int = 1024) -> Iterator[Running]:
    folder.mkdir()
    (folder / "campaign.toml").write_text(TOML)
    server = Running(folder, *options, descriptors=descriptors)
    try:
        server.wait()
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("serve") / "letters") as made:
        yield made


# --- the real command ------------------------------------------------------------------------------------------


def test_only_this_machine_can_reach_it(server: Running) -> None:
    assert server.get("/sign-in")[0] == 200
    assert f"labelling {server.folder} at http://127.0.0.1:" in server.said
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=PATIENCE)  # as good as any other address


def test_a_name_that_leads_here_by_a_trick_is_not_answered(server: Running) -> None:
    """DNS rebinding: evil.example is made to mean 127.0.0.1 after its page has loaded."""
    for host in ("evil.example", f"evil.example:{server.port}", "localhost.evil.example", "testserver", "[::1", ""):
        status, headers, body = server.get("/sign-in", Host=host)
        assert (status, headers["content-type"]) in ((421, "application/json"), (400, "text/plain; charset=utf-8")), (
            host
        )
        assert b"Shortlist" not in body
    for host in ("localhost", f"localhost:{server.port}", f"127.0.0.1:{server.port}", f"[::1]:{server.port}"):
        assert server.get("/sign-in", Host=host)[0] == 200, host


def test_the_printed_link_lets_in_once_and_nothing_is_logged(server: Running) -> None:
    before = server.said
    status, headers, _ = server.get(server.start_link)
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"].split(";")[0]
    assert server.get("/dashboard", Cookie=cookie)[0] == 200
    again = server.get(server.start_link)
    assert (again[0], again[1]["location"], "set-cookie" in again[1]) == (303, "/sign-in", False)
    server.get("/join/a-secret-token")
    server.get("/api/me", Authorization="Bearer sl_a-secret-token", Cookie="shortlist_session=a-secret-token")
    assert server.said == before
    assert "server" not in headers


def test_a_local_owner_gets_a_new_link_while_it_is_served(
    server: Running, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    got = Command(monkeypatch, capsys)("label", server.folder, "--link")
    assert (got.code, got.err) == (0, "")
    path = got.out.strip().removeprefix(f"http://127.0.0.1:{server.port}")
    assert server.get(path)[1]["location"] == "/"
    assert server.get(path)[1]["location"] == "/sign-in"
    refused = Command(monkeypatch, capsys)("label", tmp_path, "--link")
    assert (refused.code, "it is not being served" in refused.err) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_second_server_of_the_same_folder_is_refused(server: Running) -> None:
    there: Any = SimpleNamespace(folder=SimpleNamespace(path=server.folder))
    with pytest.raises(ShortlistError, match="it is being served already; stop the other server first"):
        serve(there, worker=[], browser=False)


def test_a_port_in_use_gets_a_sentence(server: Running) -> None:
    with (
        pytest.raises(ShortlistError, match=r"no port to listen on \(Address already in use\); choose one with --port"),
        listening("127.0.0.1", server.port),
    ):
        pass


def test_the_owner_gets_in_where_others_take_every_connection(tmp_path: Path) -> None:
    with running(tmp_path / "letters", descriptors=200) as server, ExitStack() as stack:
        for _ in range(400):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            with suppress(ConnectionError):
                half.sendall(b"GET / HTTP/1.1\r\nHost: lo")
        assert server.get(server.start_link)[1]["location"] == "/"
        assert server.get("/sign-in")[0] == 200


def test_ctrl_c_ends_it_and_its_worker_without_a_fuss(tmp_path: Path) -> None:
    with running(tmp_path / "letters") as server:
        wait_until(lambda: children(server.process.pid))
        (worker,) = children(server.process.pid)
        before = server.said
        assert server.interrupt() in (0, 130)
        wait_until(lambda: not is_alive(worker))
        assert "Traceback" not in server.said
        assert server.said.removeprefix(before).strip() in ("", "Aborted.", "Aborted!")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_others_are_let_near_it_only_where_somebody_has_a_password(
    tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "campaign.toml").write_text(TOML)
    refused = Command(monkeypatch, capsys)("label", folder, "--host", host, "--no-browser")
    assert (refused.code, refused.out) == (1, f"opening {folder}; its address comes as soon as the data are read\n")
    assert refused.err.startswith(f"error: {folder}: others could reach this address, and there is no account with")
    assert "--password" in refused.err
    with closing(People(folder)) as people:
        assert people.everyone() == []  # nor is an account without one made


# --- its parts -------------------------------------------------------------------------------------------------


class Started:
    """What would have been served."""

    def __init__(self) -> None:
        self.configs: list[uvicorn.Config] = []
        self.said: list[str] = []
        self.sockets: list[tuple[Any, ...]] = []

    def server(self, config: uvicorn.Config) -> Any:
        self.configs.append(config)
        return self

    def run(self, sockets: list[socket.socket]) -> None:
        self.sockets += [heard.getsockname() for heard in sockets]

    @property
    def hosts(self) -> Any:
        guard = self.configs[0].app.user_middleware[-1]  # type: ignore[union-attr]
        return guard.kwargs["hosts"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    found = Started()
    monkeypatch.setattr(uvicorn, "Server", found.server)
    return found


def test_on_this_machine_it_answers_to_its_own_names_only(tmp_path: Path, started: Started) -> None:
    with campaign(tmp_path / "run") as going:
        serve(going, worker=["true"], browser=False, say=started.said.append)
        assert (started.hosts, started.sockets[0][0]) == (LOCAL, "127.0.0.1")
        assert started.configs[0].access_log is False
        assert "testserver" not in LOCAL
        started.configs.clear()
        serve(going, worker=["true"], host="127.0.0.2", browser=False, say=started.said.append)
        assert (started.hosts, started.sockets[1][0]) == (LOCAL | {"127.0.0.2"}, "127.0.0.2")


def test_with_a_password_it_may_be_reached_from_elsewhere_under_any_name(tmp_path: Path, started: Started) -> None:
    with campaign(tmp_path / "run") as going:
        with closing(People(tmp_path / "run", passwords=Passwords(**FAST))) as people:
            people.add("olga", "owner", "a long password")
        serve(going, worker=["true"], host="0.0.0.0", browser=False, say=started.said.append)
    assert (started.hosts, started.sockets[0][0]) == (None, "0.0.0.0")
    assert started.said[0].endswith(f"{socket.gethostname()}:{started.sockets[0][1]}")


def test_whose_password_counts(tmp_path: Path) -> None:
    """An annotator's does not, nor that of an owner who was shut out."""
    with closing(People(tmp_path, passwords=Passwords(**FAST))) as people:
        people.add("ana", "annotator", "a long password")
        people.add("olga", "owner")
        people.add("otto", "owner", "a long password")
        people.set_active("otto", False)
        with pytest.raises(ShortlistError, match="no account with a password"):
            first_owner(people, must_have_password=tmp_path)
        people.set_active("otto", True)
        first_owner(people, must_have_password=tmp_path)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "0", "192.168.1.5", "example.org", "127.0.0.1.example.org", "localhost.", "127.1"]
)
def test_whatever_is_not_plainly_this_machine_is_not(host: str) -> None:
    assert not is_local(host)


def test_a_port_that_is_taken_but_not_listened_to(tmp_path: Path) -> None:
    """With SO_REUSEADDR such a port can be bound: it is only noticed by listening."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        with listening("127.0.0.1", port) as heard:
            assert heard.getsockname()[1] == port
            with pytest.raises(OSError, match="Address already in use"):
                other.listen()


def test_without_a_port_the_next_free_one_is_taken() -> None:
    with listening("127.0.0.1", None) as first, listening("127.0.0.1", None) as second:
        assert first.getsockname()[1] < second.getsockname()[1]


def test_an_address_that_is_not_this_machines_gets_a_sentence() -> None:
    with pytest.raises(ShortlistError, match=r"192\.0\.2\.1: no port to listen on"), listening("192.0.2.1", 8000):
        pass


@in_turn(
    ("allowed", "most"),
    [(resource.RLIM_INFINITY, 10_000), (1024, 896), (256, 128), (255, 128), (100, 50), (1, 1)],
)
def test_connections_leave_descriptors_for_everything_else(
    allowed: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (allowed, allowed))
    assert most_connections() == most


def test_the_address_is_one_that_a_browser_finds() -> None:
    """That which was asked for; this machine's name where it is all of them."""
    name = socket.gethostname()
    for host, shown in (("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", name), ("::", name)):
        with socket.socket() as heard:
            heard.bind(("127.0.0.1", 0))
            assert address(host, heard) == f"http://{shown}:{heard.getsockname()[1]}"


# --- without a server ------------------------------------------------------------------------------------------


def test_a_new_link_is_for_the_server_that_is_there(tmp_path: Path) -> None:
    with closing(People(tmp_path, passwords=Passwords(**FAST))) as people:
        people.add("olga", "owner")
        for left in (None, "http://127.0.0.1:1"):  # nothing, and what a server that was killed has left
            if left:
                (tmp_path / LOCK).write_text(left)
            with pytest.raises(ShortlistError, match="it is not being served; shortlist label"):
                new_link(tmp_path)
            assert (tmp_path / LOCK).exists() == bool(left)  # a lock that nobody left would say that people answered
        with locked(tmp_path / LOCK, "served"):
            (tmp_path / LOCK).write_text("http://127.0.0.1:7")
            link = new_link(tmp_path)
            place, _, token = link.rpartition("/")
            assert place == "http://127.0.0.1:7/start"
            session = people.session(people.take_start_link(token) or "")
            assert session is not None
            assert session.person.name == "olga"
            (tmp_path / LOCK).write_text("")  # a server that has only begun
            with pytest.raises(ShortlistError, match="it is not being served"):
                new_link(tmp_path)


@pytest.mark.parametrize(("user", "name"), [("ana", "ana"), ("", "owner"), ("x" * 70, "x" * 64), (None, "owner")])
def test_the_first_owner_is_called_as_on_this_machine(
    tmp_path: Path, user: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getuser() -> str:
        if user is None:
            raise KeyError("getpwuid(): uid not found: 1000")
        return user

    monkeypatch.setattr(getpass, "getuser", getuser)
    with closing(People(tmp_path, passwords=Passwords(**FAST))) as people:
        assert first_owner(people, must_have_password=None) == name
        assert first_owner(people, must_have_password=None) == name
        assert [(p.name, p.role) for p in people.everyone()] == [(name, "owner")]


def test_a_browser_opens_the_link_that_is_printed(
    tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, is_open = list[str](), threading.Event()

    def show(link: str) -> bool:
        opened.append(link)
        is_open.set()
        return True

    monkeypatch.setattr(webbrowser, "open", show)
    with campaign(tmp_path / "run") as going:
        serve(going, worker=["true"], say=started.said.append)
    assert is_open.wait(60)
    assert f": {opened[0]}   (this link works once" in started.said[1]
