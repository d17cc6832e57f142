"""A server that only knows the contract: enough of it to try the labelling page, and to make it suffer."""

from __future__ import annotations

import json
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jinja2

WEB = Path(__file__).parents[3] / "src" / "shortlist" / "web"
TOKEN = "a-token"
CSP = "default-src 'self'; img-src 'self' data: blob:"
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

Json = dict[str, Any]


class RefusedError(Exception):
    """An error the page is told of: (status, sentence)."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass
class World:
    """What the server would know. Tests set it up, let the page loose on it, and look at `answers`."""

    names: Sequence[str]
    questions: list[Json]
    role: str = "annotator"
    state: str = "asking"
    doing: str = ""
    ending: str | None = None
    error: str | None = None
    unit: str = "bits"
    accuracy: float | None = 0.932
    campaign: str = "Animals"
    about: list[str] = field(default_factory=list)
    guidelines: Json | None = None
    examples: dict[int, list[Json]] = field(default_factory=dict)
    answers: list[Json] = field(default_factory=list)
    released: list[int] = field(default_factory=list)
    fetched: list[tuple[int, list[int]]] = field(default_factory=list)  # how many were asked for, and what was held
    closed: set[int] = field(default_factory=set)
    broken_items: set[str] = field(default_factory=set)
    failing: int = 0  # so many posts to come get status 503 and are not stored
    losing: int = 0  # so many posts to come are stored, and the reply is lost
    refuse_all: int = 0  # every API call gets this status
    delay: float = 0.0  # seconds before the reply to a post
    lock: threading.Lock = field(default_factory=threading.Lock)

    def question(self, number: int) -> Json:
        found = next((q for q in self.questions if q["id"] == number), None)
        if found is None:
            raise RefusedError(404, f"there is no question {number}")
        return {**found, "answer": self.standing(number)}

    def standing(self, number: int) -> Json | None:
        mine = [a for a in self.answers if a["question"] == number]
        return {name: mine[-1][name] for name in ("id", "kind", "path", "note")} if mine else None

    def deal(self, n: int, holding: Sequence[int]) -> list[Json]:
        taken = {*holding, *self.closed, *(a["question"] for a in self.answers)}
        return [{**q, "answer": None} for q in self.questions if q["id"] not in taken][: max(0, n)]

    def progress(self) -> Json:
        done = len({a["question"] for a in self.answers})
        return {
            "round": 2, "state": self.state, "doing": self.doing, "ending": self.ending, "done": done,
            "left": len(self.questions) - done, "open": len(self.questions) - done,
            "items": len(self.questions), "items_done": done, "accuracy": self.accuracy,
            "cost": 812.5 + 2.5 * done, "unit": self.unit,
            "saved": 420.1 + 5.7 * done, "saved_minutes": 11.1 + 0.1 * done, "people": 2,
            "classes": len(self.names), "error": self.error, "saves": True,
        }  # fmt: skip

    def guide(self, classes: Sequence[int]) -> Json:
        told = [
            {"cls": cls, "description": self.about[cls] if self.about else None, "examples": self.examples.get(cls, []),
             "labelled": bool(self.about)}
            for cls in classes
        ]  # fmt: skip
        return {"guidelines": self.guidelines, "classes": told}

    def record(self, body: Json) -> Json:
        question = self.question(body["question"])
        if question["id"] in self.closed:
            raise RefusedError(409, f"question {question['id']} is closed")
        self._check(question, body)
        standing = question["answer"]
        if body["supersedes"] != (standing and standing["id"]):
            raise RefusedError(409, f"question {question['id']} has been answered before")
        answer = {**body, "id": 100 + len(self.answers), "at": f"2025-11-16T12:00:{len(self.answers):02d}Z"}
        self.answers.append(answer)
        dealt = self.deal(body["n"] - len(body["holding"]), [*body["holding"], question["id"]])
        return {"answer": answer["id"], "questions": dealt, "progress": self.progress()}

    def _check(self, question: Json, body: Json) -> None:
        stages = len(question["cuts"]) + bool(question["exhaustive"])
        misses = body["path"].count(-1)
        ends = {"label": misses < stages, "none": misses == stages}.get(body["kind"], misses < stages)
        if not ends or len(body["path"]) - misses != (body["kind"] == "label"):
            raise RefusedError(400, f"question {question['id']} cannot be answered with {body['path']}")
        seen = len(body["path"]) + (body["kind"] in ("skip", "unreadable"))
        least = 1 if body["kind"] == "none" else seen
        if not least <= len(body["stage_seconds"]) <= seen:
            raise RefusedError(400, f"question {question['id']} was answered in {seen} stages")


def png(size: int, shade: int) -> bytes:
    """A small greyscale picture: a disc on a ground."""
    rows = b"".join(
        b"\0" + bytes(shade if (x - size / 2) ** 2 + (y - size / 2) ** 2 < size**2 / 9 else 235 for x in range(size))
        for y in range(size)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class Handler(BaseHTTPRequestHandler):
    world: World
    protocol_version = "HTTP/1.1"
    pages = jinja2.Environment(loader=jinja2.FileSystemLoader(WEB / "templates"), autoescape=True)

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        at = urlsplit(self.path)
        if at.path == "/":
            self._page()
        elif at.path.startswith("/static/"):
            self._static(at.path.removeprefix("/static/"))
        elif at.path.startswith("/api/items/"):
            self._item(at.path.removeprefix("/api/items/"))
        else:
            self._json(lambda: self._get(at.path, parse_qs(at.query)))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._json(lambda: self._post(self.path, json.loads(body or b"{}")))

    def _get(self, path: str, query: dict[str, list[str]]) -> Json:
        world = self.world
        if path == "/api/questions":
            holding = [int(i) for i in query.get("holding", [""])[0].split(",") if i]
            n = int(query["n"][0])
            world.fetched.append((n, holding))
            return {"questions": world.deal(n - len(holding), holding), "progress": world.progress()}
        if path.startswith("/api/questions/"):
            return world.question(int(path.rsplit("/", 1)[1]))
        routes: dict[str, Callable[[], Json]] = {
            "/api/me": lambda: {"name": "ana", "role": world.role},
            "/api/classes": lambda: {"names": list(world.names), "about": world.about},
            "/api/guide": lambda: world.guide([int(cls) for cls in query["classes"][0].split(",") if cls]),
            "/api/status": world.progress,
            "/api/answers": lambda: {"answers": world.answers[::-1][: int(query["limit"][0])]},
        }
        if path not in routes:
            raise RefusedError(404, f"there is no {path}")
        return routes[path]()

    def _post(self, path: str, body: Json) -> Json:
        world = self.world
        if self.headers.get("X-CSRF-Token") != TOKEN:
            raise RefusedError(403, "the page is out of date")
        if path == "/api/leases/release":
            world.released += body["questions"]
            return {}
        if path != "/api/answers":
            return {}
        if world.failing:
            world.failing -= 1
            raise RefusedError(503, "the database is busy")
        reply = world.record(body)
        if world.losing:
            world.losing -= 1
            raise ConnectionAbortedError
        return reply

    def _json(self, reply: Callable[[], Json]) -> None:
        if self.command == "POST" and self.world.delay:
            time.sleep(self.world.delay)
        try:
            with self.world.lock:
                if self.world.refuse_all and self.path.startswith("/api"):
                    raise RefusedError(self.world.refuse_all, "not now")
                found = reply()
            self._send(200, "application/json", json.dumps(found).encode())
        except ConnectionAbortedError:
            self.close_connection = True
        except RefusedError as error:
            self._send(error.status, "application/json", json.dumps({"error": str(error)}).encode())

    def _page(self) -> None:
        world = self.world
        person = {"name": "ana", "role": world.role}
        page = self.pages.get_template("label.html")
        html = page.render(csrf=TOKEN, campaign=world.campaign, campaign_id="c1", person=person, here="/")
        self._send(200, "text/html; charset=utf-8", html.encode())

    def _static(self, name: str) -> None:
        file = WEB / "static" / name
        if ".." in name or not file.is_file():
            self._send(404, "text/plain", b"no such file")
        else:
            self._send(200, KINDS[file.suffix], file.read_bytes())

    def _item(self, name: str) -> None:
        if name in self.world.broken_items:
            self._send(404, "application/json", b'{"error": "the image cannot be read"}')
        else:
            self._send(200, "image/png", png(28 if int(name) % 2 else 320, 40 + 30 * (int(name) % 5)))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for header in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Content-Security-Policy", CSP)):
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # the browser keeps its connections open

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is no error."""


@contextmanager
def serving(world: World) -> Iterator[str]:
    """The address at which the world is served."""
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"world": world}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
