"""Bodies that are too large and bytes that mean nothing get a refusal, and the server goes on."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from shortlist.campaign.formats import FORMATS
from shortlist.web import serve
from shortlist.web.security import LONGEST_BODY, LONGEST_FILE
from tests.cases import in_turn
from tests.web.wire import JSON, Told, Wire, wired

NOT_UTF8 = b"\xff\xfe\x80\xc3\x28"


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wired(tmp_path_factory.mktemp("wire") / "run") as made:
        yield made


def chunks(piece: bytes, n: int) -> Iterator[bytes]:
    """A body that does not say how long it is."""
    for _ in range(n):
        yield b"%x\r\n" % len(piece) + piece + b"\r\n"
    yield b"0\r\n\r\n"


# --- too large -------------------------------------------------------------------------------------------------


@in_turn("length", [LONGEST_BODY + 1, 10 * LONGEST_BODY, 2**31, 2**63, 10**18])
@in_turn("signed_in", [True, False])
def test_a_body_that_says_it_is_too_large_is_not_even_read(wire: Wire, length: int, signed_in: bool) -> None:
    told = wire.ask(b"POST /api/tokens", JSON, b"Content-Length: %d" % length, signed_in=signed_in)
    assert (told.status, told.body) == (413, b'{"error":"the body is larger than 64 KB"}')
    assert b"x-content-type-options: nosniff" in told.head
    assert wire.goes_on


@in_turn("path", [b"/api/sign-in", b"/api/join", b"/api/tokens", b"/api/answers"])
def test_a_body_that_does_not_say_how_large_it_is_ends_where_it_is_too_large(wire: Wire, path: bytes) -> None:
    body = chunks(b" " * (1 << 16), 10 * LONGEST_BODY >> 16)
    told = wire.ask(b"POST " + path, JSON, b"Transfer-Encoding: chunked", body=body)
    assert told.status == 413
    assert wire.goes_on


def test_a_body_of_just_the_largest_size_is_read(wire: Wire) -> None:
    body = b'{"label": "x"}'
    assert wire.post(b"/api/tokens", body.ljust(LONGEST_BODY)).status == 200
    assert wire.ask(b"POST /api/tokens", JSON, b"Transfer-Encoding: chunked", body=chunks(body, 1)).status == 200


def test_a_file_may_be_larger_and_not_endless(wire: Wire) -> None:
    path = b"POST /api/import?format=csv"
    over = wire.ask(path, b"Content-Length: %d" % (LONGEST_FILE + 1))
    assert (over.status, over.body) == (413, b'{"error":"the body is larger than 256 MB"}')
    rows = b"key,label\n".ljust(2 * LONGEST_BODY, b"\n")
    assert wire.ask(path, b"Content-Length: %d" % len(rows), body=[rows]).status in (200, 400)
    assert wire.goes_on


def test_a_head_without_an_end_is_hung_up_on(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "HEAD_SECONDS", 3600.0)  # for its size, however fast it comes
    told = wire.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ", *[b"x" * (1 << 16)] * 100)
    assert told.status == 0
    assert wire.goes_on
    fits = wire.ask(b"GET /api/me", b"X-Long: " + b"x" * 30_000)
    assert fits.status == 200


def test_a_head_that_takes_for_ever_is_hung_up_on(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first of a connection, and after another; a body may take its time."""
    monkeypatch.setattr(serve, "HEAD_SECONDS", 0.2)
    assert wire.send(b"").status == 0
    assert wire.send(b"GET / HTTP/1.1\r\nHost: local").status == 0
    told = wire.send(b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /sign-in HTTP/1.1\r\nHost: lo")
    assert (told.status, told.body.count(b"HTTP/1.1 200")) == (200, 0)
    assert wire.goes_on


def test_who_comes_when_all_connections_are_taken_gets_the_place_of_the_most_silent(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "most_connections", lambda: 5)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", wire.port), 30)) for _ in range(12)]
        for half in silent:
            with contextlib.suppress(ConnectionError):
                half.sendall(b"GET / HTTP/1.1\r\n")
        assert all(wire.goes_on for _ in range(8))
        assert [half.recv(1) for half in silent[:7]] == [b""] * 7  # the first to come are the first to go


@in_turn("path", [b"/api/import/", b"/api/import%2f", b"//api/import", b"/api/Import"])
def test_only_a_file_may(wire: Wire, path: bytes) -> None:
    told = wire.ask(b"POST " + path + b"?format=csv", b"Content-Length: %d" % (LONGEST_BODY + 1))
    assert told.status == 413


def test_who_may_not_bring_in_files_is_refused_before_they_have_sent_one(wire: Wire) -> None:
    """The server answers while the rest of the file is still to come."""
    told = wire.ask(b"POST /api/import?format=csv", b"Content-Length: 1000000", body=[b"key,label\n"], signed_in=False)
    assert told.status == 401


# --- JSON that hurts -------------------------------------------------------------------------------------------

DEEP = 30_000  # as deep as a body may be
HURTING = {
    "deep lists": b"[" * DEEP,
    "deep lists that are closed": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"label":' * (DEEP // 5),
    "deep lists within": b'{"label": "x", "note": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a huge number": b'{"question": ' + b"9" * 60_000 + b', "kind": "skip"}',
    "a number that is just too large": b'{"question": 9223372036854775808, "kind": "skip"}',
    "a negative one": b'{"question": -9223372036854775809, "kind": "skip"}',
    "a huge fraction": b'{"question": 1e999999, "kind": "skip"}',
    "no number": b'{"question": NaN, "kind": "skip"}',
    "infinity": b'{"question": 1, "kind": "skip", "wall_seconds": Infinity}',
    "many keys": b"{" + b",".join(b'"k%d": 1' % i for i in range(5_000)) + b"}",
    "a long list": b'{"question": 1, "kind": "label", "path": [' + b"1," * 30_000 + b"1]}",
    "a long text": b'{"question": 1, "kind": "skip", "note": "' + b"x" * 60_000 + b'"}',
    "a huge exponent in text": b'{"question": "1e999999999", "kind": "skip"}',
    "the same key many times": b"{" + b'"question": 1, ' * 4_000 + b'"kind": "nothing"}',
}


@pytest.mark.parametrize("path", [b"/api/answers", b"/api/tokens", b"/api/sign-in", b"/api/decisions"])
@in_turn("kind", HURTING)
def test_json_that_hurts_is_refused(wire: Wire, path: bytes, kind: str) -> None:
    told = wire.post(path, HURTING[kind])
    assert told.status in (400, 422), told
    assert told.body.startswith(b'{"error":')
    assert len(told.body) < 2000  # it is not sent back
    assert wire.goes_on


@pytest.mark.parametrize("format", [name.encode() for name in FORMATS])
@in_turn("body", [*HURTING.values(), NOT_UTF8, b"\x00" * 1000, b"", b"PAR1" * 9])
def test_files_that_hurt_bring_nothing_in(wire: Wire, format: bytes, body: bytes) -> None:
    told = wire.post(b"/api/import?format=" + format, body)
    assert told.status == 400 or (told.status == 200 and b'"written":0' in told.body), told
    assert b"/tmp" not in told.body
    assert wire.goes_on


# --- bytes that mean nothing -----------------------------------------------------------------------------------


def refused(told: Told) -> bool:
    return 300 <= told.status < 500


@pytest.mark.parametrize("method", [b"GET ", b"POST ", b"DELETE "])
@in_turn(
    "path",
    [
        b"/" + NOT_UTF8,
        b"/%ff%fe%80",
        b"/%00",
        b"/\x00",
        b"/api/items/%ff",
        b"/api/items/%00",
        b"/api/items/\xc2\xb2",
        b"/api/people/%ff%00",
        b"/api/tokens/%ff",
        b"/join/" + NOT_UTF8,
        b"/start/%ed%a0%80",
        b"/start/%00",
        b"/static/%00",
        b"/static/%ff",
        b"/static/" + b"a" * 5000,
        b"/static/" + b"a/" * 3000,
        b"/?" + NOT_UTF8,
        b"/dashboard?%ff=%fe",
        b"/api/questions?holding=%00",
        b"/api/questions?holding=%ff",
        b"/api/questions?holding=%F0%90%B5%81",  # a digit that Python 3.11 has not heard of
        b"/api/questions?holding=" + b"1," * 500,
        b"/api/questions?n=" + b"9" * 5000,
        b"/api/answers?limit=%00",
        b"/api/export?format=%ff&all=%00",
        b"/" + b"a" * 100_000,
        b"/%",
        b"/%zz",
        b"",
    ],
)
def test_paths_that_mean_nothing(wire: Wire, method: bytes, path: bytes) -> None:
    told = wire.ask(method + path, JSON, b"Content-Length: 2", body=[b"{}"])
    if path.startswith((b"/join/", b"/dashboard?", b"/api/people")) and method == b"GET ":
        assert told.status < 500
    else:
        assert refused(told), told
    assert wire.goes_on


@in_turn(
    "header",
    [
        b"Cookie: shortlist_session=" + NOT_UTF8,
        b"Cookie: " + NOT_UTF8 + b"=" + NOT_UTF8,
        b"Cookie: shortlist_session=\x00\x01",
        b"Cookie: shortlist_session=" + b"a" * 60_000,
        b'Cookie: shortlist_session="\\377\\000"',
        b"Cookie: =;=;;;",
        b"Authorization: " + NOT_UTF8,
        b"Authorization: Bearer " + NOT_UTF8,
        b"Authorization: Bearer",
        b"Authorization: Bearer sl_\x00",
        b"X-CSRF-Token: " + NOT_UTF8,
        b"Origin: " + NOT_UTF8,
        b"Origin: http://[",
        NOT_UTF8 + b": x",
        b": x",
        b"no colon",
        b"X: a\x00b",
        b"Content-Length: x",
        b"Content-Length: -1",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: \xb2",
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: nonsense",
        b"Content-Type: " + NOT_UTF8,
        b"Content-Type: application/json; charset=" + NOT_UTF8,
        b"Content-Type: multipart/form-data",
        b"Content-Encoding: gzip",
        b"Range: bytes=" + NOT_UTF8,
        b"If-Modified-Since: " + NOT_UTF8,
        b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13",
    ],
)
@pytest.mark.parametrize("line", [b"GET /", b"GET /api/me", b"POST /api/answers", b"POST /api/sign-in"])
def test_headers_that_mean_nothing(wire: Wire, line: bytes, header: bytes) -> None:
    assert refused(wire.ask(line, header, signed_in=False))
    assert wire.goes_on


@in_turn("host", [b"", b"[", b"[::1", NOT_UTF8, b"a:99999", b"a b/c?d#e", b"<script>", b"\x00"])
def test_hosts_that_mean_nothing(wire: Wire, host: bytes) -> None:
    owner = b"\r\nConnection: close\r\nAuthorization: Bearer " + wire.token.encode()
    for line in (b"GET /", b"GET /sign-in/", b"GET /api/me", b"GET /nothing"):
        told = wire.send(line + b" HTTP/1.1\r\nHost: " + host + owner + b"\r\n\r\n")
        assert 200 <= told.status < 500
    invite = (
        b"POST /api/invitations HTTP/1.1\r\nHost: " + host + owner + b"\r\nContent-Length: 2\r\n" + JSON + b"\r\n\r\n{}"
    )
    told = wire.send(invite)
    assert told.status < 500
    assert b"<script>" not in told.body
    assert wire.goes_on


@in_turn(
    "body",
    [
        NOT_UTF8,
        b'{"name": "' + NOT_UTF8 + b'", "password": "x"}',
        b'{"name": "\\ud800", "password": "\\udfff"}',
        b'{"\\ud800": 1}',
        b'{"name": "a\\u0000b", "password": "\\u0000"}',
        b"\x00" * 100,
        '{"name": "a"}'.encode("utf-16"),
        '{"name": "a"}'.encode("utf-32"),
        b"\xef\xbb\xbf{}",
        b"",
        b"null",
        b'"text"',
        b"[]",
        b"{} {}",
        b"{'name': 'a'}",
    ],
)
@in_turn(
    "path",
    [
        b"/api/sign-in",
        b"/api/join",
        b"/api/answers",
        b"/api/decisions",
        b"/api/leases/release",
        b"/api/me/password",
        b"/api/people/olga",
        b"/api/tokens",
    ],
)
def test_bodies_that_mean_nothing(wire: Wire, path: bytes, body: bytes) -> None:
    assert wire.post(path, body).status in ((200, 400, 422) if path == b"/api/people/olga" else (400, 401, 422, 429))
    assert wire.goes_on


@in_turn(
    "raw", [b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
)
def test_what_is_no_request_at_all(wire: Wire, raw: bytes) -> None:
    assert wire.send(raw, b"GET / HTTP/1.1\r\nbroken\r\n\r\n").status in (0, 400)
    assert wire.goes_on


@in_turn("path", [b"/api/tokens", b"/api/import?format=csv", b"/api/sign-out"])
def test_a_client_that_hangs_up_in_the_middle(wire: Wire, path: bytes) -> None:
    owner = b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nAuthorization: Bearer " + wire.token.encode()
    with socket.create_connection(("127.0.0.1", wire.port)) as half:
        half.sendall(b"POST " + path + owner + b"\r\n\r\n{")
    assert wire.goes_on
