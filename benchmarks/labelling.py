"""The labelling app under load: 50 scripted annotators at 5 answers a second each, on 100,000 items × 1,000 classes.

    python benchmarks/labelling.py [--people 50] [--rate 5] [--seconds 60] [--items 100000] [--classes 1000]

The server, the worker that trains and all annotators share this machine. Every answer is posted as the page does it
and waits for the next question; measured is the time from sending an answer to having the next question. At the end the
database is read: every acknowledged answer has to be there, and no question may be answered twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from bench import Report

from shortlist.web.people.passwords import Passwords
from shortlist.web.people.people import People

BAR = 0.050  # seconds, of 95% of the answers
TOML = """
name = "load"
initial = {initial}
budget = {budget}
ahead = {ahead}
seed = 0
annotator = "people"
model = "scikit"
dataset = {{ name = "feature_file", path = "X.npy", classes = "classes.txt" }}
query = {{ name = "candidate_set", n_cal = 500 }}
acquisition = {{ name = "cost_aware", inner = "entropy", d = 0.3 }}
"""


@dataclass
class Tally:
    """What the annotators saw."""

    took: list[float] = field(default_factory=list)  # seconds from answer to next question
    acknowledged: list[int] = field(default_factory=list)  # numbers of answers
    errors: list[str] = field(default_factory=list)
    waits: int = 0  # times that there was no question
    server: float = 0.0  # seconds of a core that the server took


class Client:
    """As much of HTTP as it takes, so that the measuring costs little of what is measured."""

    def __init__(self, port: int, cookie: str, csrf: str) -> None:
        self.port = port
        self.head = f"Host: 127.0.0.1:{port}\r\nCookie: shortlist_session={cookie}\r\nX-CSRF-Token: {csrf}\r\n"

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{self.head}{kind}\r\n".encode() + data)
        status = int((await self.reader.readline()).split()[1])
        length = 0
        while (line := await self.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return status, json.loads(await self.reader.readexactly(length) or b"null")


async def annotate(client: Client, tally: Tally, rate: float, until: float, rng: np.random.Generator) -> None:
    """Answers at a steady rate, whatever the truth, mostly on the list."""
    await client.open()
    held: list[dict[str, Any]] = []
    due = time.monotonic() + rng.random() / rate
    while (now := time.monotonic()) < until:
        if now < due:
            await asyncio.sleep(due - now)
        due = max(due + 1 / rate, time.monotonic() - 1)
        if not held:
            tally.waits += 1
            status, got = await client.ask("GET", "/api/questions?n=3")
            held = got["questions"] if status == 200 else []
            continue
        question = held.pop(0)
        path = answer_path(question, rng)
        body = {"question": question["id"], "kind": "label", "path": path, "stage_seconds": [1.0] * len(path),
                "wall_seconds": 1.0, "n": 3, "holding": [q["id"] for q in held]}  # fmt: skip
        began = time.monotonic()
        status, got = await client.ask("POST", "/api/answers", body)
        if status != 200:
            tally.errors.append(f"{status}: {got}")
            continue
        tally.took.append(time.monotonic() - began)
        tally.acknowledged.append(got["answer"])
        held += got["questions"]


def answer_path(question: dict[str, Any], rng: np.random.Generator) -> list[int]:
    """The first class of the list, or for one in ten, and where there is no list, another class."""
    shown = question["classes"]
    if shown and rng.random() < 0.9:
        return [shown[0]]
    other = next(c for c in rng.integers(0, 1000, 5000).tolist() if c not in shown)
    return [*([-1] * len(question["cuts"])), other]


# --- one run ---------------------------------------------------------------------------------------------------


def prepare(folder: Path, items: int, classes: int, people: int) -> list[tuple[str, str]]:
    """A campaign with people in it; their sessions."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, 32)).astype(np.float32)
    labels = rng.integers(classes, size=items)
    np.save(folder / "X.npy", centres[labels] + rng.normal(size=(items, 32)).astype(np.float32))
    (folder / "classes.txt").write_text("".join(f"class {i}\n" for i in range(classes)))
    (folder / "campaign.toml").write_text(TOML.format(initial=5000, budget=12000, ahead=11500))
    kept = People(folder, passwords=Passwords(time_cost=1, memory_kib=8, parallelism=1))
    kept.add("owner", "owner")
    sessions = []
    for i in range(people):
        kept.add(f"person {i}", "annotator", "a long password")
        token = kept.sign_in(f"person {i}", "a long password", "127.0.0.1")
        session = kept.session(token)
        assert session is not None
        sessions.append((token, session.csrf))
    return sessions


def start(folder: Path, port: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from shortlist.cli import main; main()", "label", str(folder), "--no-browser"]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    server.stdout.readline()
    return server


def worked(pid: int) -> float:
    """Seconds that a process has had of the cores."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(port: int, sessions: list[tuple[str, str]], rate: float, seconds: float, pid: int) -> Tally:
    tally, first = Tally(), Client(port, *sessions[0])
    for _ in range(600):  # until the first questions are there
        try:
            await first.open()
            if (await first.ask("GET", "/api/status"))[1]["left"]:
                break
        except OSError:
            pass
        await asyncio.sleep(0.2)
    until, before = time.monotonic() + seconds, worked(pid)
    clients = [Client(port, *session) for session in sessions]
    rngs = [np.random.default_rng(i) for i in range(len(clients))]
    await asyncio.gather(*(annotate(c, tally, rate, until, g) for c, g in zip(clients, rngs, strict=True)))
    tally.server = worked(pid) - before
    return tally


def check(folder: Path, tally: Tally) -> list[str]:
    """What is not as it must be."""
    with sqlite3.connect(folder / "campaign.db") as c:
        kept = {id for (id,) in c.execute("select id from answers")}
        twice = c.execute("select question from answers group by question having count(*) > 1").fetchall()
    c.close()
    wrong = []
    if lost := set(tally.acknowledged) - kept:
        wrong.append(f"{len(lost)} acknowledged answers are not in the database")
    if len(set(tally.acknowledged)) < len(tally.acknowledged):
        wrong.append("an answer's number was given twice")
    if twice:
        wrong.append(f"{len(twice)} questions were answered twice")
    if tally.errors:
        wrong.append(f"{len(tally.errors)} errors, first {tally.errors[0]}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in (("people", 50), ("rate", 5.0), ("seconds", 60.0), ("items", 100_000), ("classes", 1000)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--keep", action="store_true", help="write results to benchmarks/results/")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder, port = Path(made), 8791
        sessions = prepare(folder, chosen.items, chosen.classes, chosen.people)
        server = start(folder, port)
        try:
            tally = asyncio.run(load(port, sessions, chosen.rate, chosen.seconds, server.pid))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
        wrong, rounds = check(folder, tally), states(folder)
    told(chosen, tally, wrong, rounds).finish()


def states(folder: Path) -> str:
    """How far the campaign came."""
    with sqlite3.connect(folder / "campaign.db") as c:
        rows = c.execute("select number, state from rounds order by number").fetchall()
    c.close()
    return ", ".join(f"round {number} {state}" for number, state in rows)


def told(chosen: argparse.Namespace, tally: Tally, wrong: list[str], rounds: str) -> Report:
    took = np.asarray(tally.took)
    report = Report(
        f"The labelling app under load: {chosen.people} people at {chosen.rate:g} answers a second each for "
        f"{chosen.seconds:g} s, {chosen.items:,} items × {chosen.classes:,} classes",
        ("fastapi", "uvicorn", "SQLAlchemy"),
        "Server, training and annotators on the same two cores. From sending an answer to having the next question; by "
        "then the answer is on the disk.",
    )
    for share in (50, 95, 99, 100):
        bar = {"s": BAR} if share == 95 else None
        report.measured(f"{share}% of answers within", {"s": float(np.percentile(took, share))}, at_most=bar)
    report.line("answers", f"{len(took):,}, {len(took) / chosen.seconds:.0f} a second; no question {tally.waits} times")
    report.line("server", f"{1000 * tally.server / len(took):.2f} ms of a core for an answer")
    report.line("campaign", rounds)
    report.bar("lost, doubled or refused", "; ".join(wrong) or "0", "0", not wrong)
    return report


if __name__ == "__main__":
    main()
