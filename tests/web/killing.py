"""A served campaign under load whose server and worker are killed at random moments, as often as asked for.

    python -m tests.web.killing [--kills 100] [--seed 0]

Real processes, real sockets: people answer from threads and go on by themselves when the server is back. At the end
nothing that was acknowledged may be missing, nothing may be there twice, and the campaign has gone on.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People
from shortlist.web.security import COOKIE

MAIN = [sys.executable, "-c", "from shortlist.cli import main; main()"]
TOML = """
name = "torture"
initial = 40
budget = {budget}
ahead = 10
seed = 0
annotator = "people"
model = "scikit"
dataset = {{ name = "glyphs", classes = 40, items = {items}, size = 12 }}
query = {{ name = "candidate_set", n_cal = 10 }}
acquisition = "entropy"
"""


@dataclass
class Heard:
    """What people were told."""

    numbers: dict[int, tuple[str, int]] = field(default_factory=dict)  # answer -> person, question
    problems: list[str] = field(default_factory=list)
    refusals: int = 0  # what could not be written down just then
    lock: threading.Lock = field(default_factory=threading.Lock)


class Player(threading.Thread):
    """Somebody who answers, whatever happens, until told to stop."""

    def __init__(self, port: int, name: str, session: tuple[str, str], heard: Heard, done: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.person, self.heard, self.done = port, name, heard, done
        self.headers = {"Cookie": f"{COOKIE}={session[0]}", "X-CSRF-Token": session[1]}
        self.random = random.Random(name)

    def run(self) -> None:
        while not self.done.is_set():
            try:
                self.play()
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # the server is gone: it will be back

    def play(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            while not self.done.is_set():
                questions = self.ask(connection, "GET", "/api/questions?n=2")["questions"]
                for question in questions:
                    self.answer(connection, question)
                if not questions:
                    time.sleep(0.05)
        finally:
            connection.close()

    def answer(self, connection: http.client.HTTPConnection, question: dict[str, Any]) -> None:
        shown = question["classes"]
        wanted = self.random.randrange(40)
        path = [wanted] if wanted in shown else [-1] * len(question["cuts"]) + [wanted]
        body = {"question": question["id"], "kind": "label", "path": path, "stage_seconds": [0.1] * len(path)}
        got = self.ask(connection, "POST", "/api/answers", body)
        if "answer" in got:
            with self.heard.lock:
                self.heard.numbers[got["answer"]] = (self.person, question["id"])

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
        headers = {**self.headers, "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        got = json.loads(answer.read())
        if self.is_wrong(answer.status):
            with self.heard.lock:
                self.heard.problems.append(f"{method} {path}: {answer.status} {got}")
        return got

    def is_wrong(self, status: int) -> bool:
        return status not in (200, 409)


class Served:
    """The real command, and its worker."""

    def __init__(self, folder: Path, port: int) -> None:
        self.command = [*MAIN, "label", str(folder), "--no-browser", "--port", str(port)]
        self.folder = folder
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        if not process.stdout.readline():
            raise AssertionError("the server did not start")
        return process

    def kill(self) -> None:
        self.end()
        self.process = self.start()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Nothing is written meanwhile, and nothing acknowledged."""
        freeze(self.process.pid)  # first: it could start a worker
        everybody = [self.process.pid, *workers(self.folder)]
        for pid in everybody[1:]:
            freeze(pid)
        try:
            yield
        finally:
            for pid in everybody:
                os.kill(pid, signal.SIGCONT)

    def kill_worker(self) -> None:
        for pid in workers(self.folder):
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def freeze(pid: int) -> None:
    """Stop a process, and wait until none of its threads does anything more."""
    os.kill(pid, signal.SIGSTOP)
    while any(
        stat.read_text().rpartition(") ")[2][0] not in "TZX" for stat in Path(f"/proc/{pid}/task").glob("*/stat")
    ):
        time.sleep(0.001)


def workers(folder: Path) -> list[int]:
    """Processes that work for this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"work" in words and str(folder).encode() in words:
            found.append(int(entry.name))
    return found


def people_in(folder: Path, n: int) -> list[tuple[str, tuple[str, str]]]:
    kept = People(folder, passwords=Passwords(time_cost=1, memory_kib=8, parallelism=1))
    kept.add("olga", "owner")
    found = []
    for i in range(n):
        kept.add(f"p{i}", "annotator", "a long password")
        token = kept.sign_in(f"p{i}", "a long password", "here")
        session = kept.session(token)
        assert session is not None
        found.append((f"p{i}", (token, session.csrf)))
    kept.close()
    return found


def torture(folder: Path, *, kills: int, port: int, seed: int = 0) -> Heard:
    """Kill as often as asked for; what people heard, after the campaign has gone on once more."""
    chance = random.Random(seed)
    with under_load(folder, port, kills) as (served, heard):
        for _ in range(kills):
            time.sleep(chance.uniform(0.3, 4.0))
            if chance.random() < 0.5:
                served.kill()
            else:
                served.kill_worker()
        goes_on(folder, heard)
    return heard


@contextmanager
def under_load(
    folder: Path, port: int, times: int, person: type[Player] = Player, players: int = 4
) -> Iterator[tuple[Served, Heard]]:
    """A campaign large enough to go wrong so many times, and what its people hear."""
    heard, done = Heard(), threading.Event()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.toml").write_text(TOML.format(budget=40, items=max(3000, 150 * times)))
    sessions = people_in(folder, players)
    served = Served(folder, port)
    crowd = [person(port, name, session, heard, done) for name, session in sessions]
    for player in crowd:
        player.start()
    try:
        yield served, heard
    finally:
        done.set()
        for player in crowd:
            player.join(30)
        served.stop()


def goes_on(folder: Path, heard: Heard, seconds: float = 90) -> None:
    """A round is finished and answers are taken after the last kill."""
    answers, rounds = len(heard.numbers), finished(folder)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if len(heard.numbers) > answers and finished(folder) > rounds:
            return
        time.sleep(0.2)
    raise AssertionError(f"the campaign did not go on: {len(heard.numbers) - answers} answers since")


def finished(folder: Path) -> int:
    """How many rounds; none before the server, which may be killed as it starts, has made the campaign."""
    if not (folder / "campaign.db").exists():
        return 0
    with sqlite3.connect(f"file:{folder / 'campaign.db'}?mode=ro", uri=True) as c:
        n = int(c.execute("select count(*) from rounds where state = 'done'").fetchone()[0])
    c.close()
    return n


def damage(folder: Path, heard: Heard) -> list[str]:
    """What is not as it was acknowledged."""
    with sqlite3.connect(folder / "campaign.db") as c:
        kept = {
            id: (person, question) for id, person, question in c.execute("select id, person, question from answers")
        }
        doubled = c.execute("select question from answers group by question having count(*) > 1").fetchall()
        sound = c.execute("pragma integrity_check").fetchone()
    c.close()
    wrong = [f"answer {id} of {said} is not there" for id, said in heard.numbers.items() if kept.get(id) != said]
    wrong += [f"question {question} was answered twice" for (question,) in doubled]
    return [*wrong, *heard.problems, *([] if sound == ("ok",) else [str(sound)])]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "run"
        heard = torture(folder, kills=chosen.kills, port=8793, seed=chosen.seed)
        wrong, rounds = damage(folder, heard), finished(folder)
    for what in wrong[:20]:
        print(f"WRONG: {what}")
    took = time.monotonic() - began
    said = f"{chosen.kills} kills, {len(heard.numbers):,} acknowledged answers, {rounds} rounds"
    print(f"{said}, {len(wrong)} things wrong; {took:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
