"""A worker is started again however it ends, whatever it says, and whatever the server makes of it."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shortlist.types import ShortlistError
from shortlist.web.service import worker
from shortlist.web.service.worker import Supervisor
from tests.web.wire import Kept


class Ear:
    """As much of LabellingService as a supervisor needs."""

    def __init__(self) -> None:
        self.heard_: list[dict[str, Any]] = []
        self.poke = asyncio.Event()
        self.troubles: list[Exception] = []
        self.is_gone = False

    async def in_place(self) -> int:
        if self.is_gone:
            raise ShortlistError("campaign.db: it is gone")
        return 0

    async def heard(self, message: dict[str, Any]) -> None:
        self.heard_.append(message)
        if self.troubles:
            raise self.troubles.pop()

    async def until(self, state: str, times: int) -> None:
        async with asyncio.timeout(60):
            while sum(message["state"] == state for message in self.heard_) < times:
                await asyncio.sleep(0.02)


async def supervised(code: str, state: str, times: int, *troubles: Exception) -> list[dict[str, Any]]:
    """What is heard of a worker that runs this code, until it was in this state so often."""
    ear = Ear()
    ear.troubles = list(troubles)
    watching = asyncio.create_task(Supervisor(ear, [sys.executable, "-c", code]).run())  # type: ignore[arg-type]
    try:
        await ear.until(state, times)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    return ear.heard_


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LONGEST", 0.05)


SAY = """import json, os, sys
print(json.dumps({"state": "waiting"}), flush=True)
"""


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("", "exit code 0"),
        ("sys.exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "signal 9"),
        ("sys.stdout.buffer.write(b'\\xe9 no JSON\\n')", "invalid continuation byte"),
        ("print('x' * 3_000_000, flush=True)", "limit"),
    ],
)
def test_it_is_started_again_however_it_ends(end: str, how: str) -> None:
    heard = asyncio.run(supervised(SAY + end, "waiting", 3))
    stopped = [message["error"] for message in heard if message["state"] == "stopped"]
    assert len(stopped) >= 2
    assert all(how in words and words.endswith("and is started again.") for words in stopped)


def test_what_the_server_cannot_do_just_now_does_not_end_the_worker() -> None:
    heard = asyncio.run(supervised(SAY * 3 + "input()", "waiting", 3, ShortlistError("people.db: locked")))
    assert [message["state"] for message in heard] == ["waiting"] * 3


def test_a_fault_of_ours_costs_one_worker_and_not_all() -> None:
    """It is in the log, with the place where it happened."""
    log, kept = logging.getLogger("uvicorn.error"), Kept(logging.ERROR)
    log.addHandler(kept)
    heard = asyncio.run(supervised(SAY + "input()", "waiting", 2, ZeroDivisionError("a fault")))
    log.removeHandler(kept)
    assert [message["state"] for message in heard] == ["waiting", "stopped", "waiting"]
    (record,) = kept.records
    assert record.getMessage() == "the worker: a fault"
    assert record.exc_info


def test_a_worker_that_cannot_be_started_is_tried_again() -> None:
    ear = Ear()

    async def watch() -> None:
        watching = asyncio.create_task(Supervisor(ear, ["/nowhere/python"]).run())  # type: ignore[arg-type]
        await ear.until("stopped", 2)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())
    assert "No such file" in ear.heard_[0]["error"]


STOP = (
    SAY
    + """import signal, threading
stopped_before = os.path.exists(sys.argv[1])
open(sys.argv[1], "w").close()
if not stopped_before: os.kill(os.getpid(), signal.SIGSTOP)
input()
"""
)


def test_a_worker_that_hangs_is_told_of_and_then_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is alive and holds the campaign's lock, but it is stopped; the next one is not."""
    monkeypatch.setattr(worker, "STILL", 0.3)
    monkeypatch.setattr(worker, "HOPELESS", 2.0)
    heard = asyncio.run(supervised(STOP.replace("sys.argv[1]", repr(str(tmp_path / "once"))), "stopped", 1))
    hangs = [message["error"] for message in heard if "has done nothing for" in (message.get("error") or "")]
    assert "if it goes on, another is started" in hangs[-1]
    assert heard[-1]["error"] == "The worker has stopped (signal 9), and is started again."


def test_only_what_uses_the_processor_is_work() -> None:
    """A worker that waits for ever beats all the same; one that trains says nothing for hours."""
    ear, now, training = Ear(), [0.0], {"state": "working", "words": "training"}
    process: Any = SimpleNamespace(pid=17)

    async def go_on(supervisor: Supervisor, work: float) -> None:
        for _ in range(20):
            now[0] += worker.BEAT_SECONDS
            used[0] += work
            await supervisor._hear({"used": used[0]})
            await supervisor._look_at(process)

    async def watch() -> None:
        supervisor = Supervisor(ear, [], clock=lambda: now[0])  # type: ignore[arg-type]
        await supervisor._hear(training)
        await go_on(supervisor, 0.01)
        assert ear.heard_ == [training]
        await go_on(supervisor, 0.0002)
        assert ear.heard_[1] == {**training, "error": HANGS}
        await go_on(supervisor, 0.01)  # what it does is said again
        assert ear.heard_[2:] == [training]

    used = [0.0]
    asyncio.run(watch())


HANGS = "The worker (process 17) has done nothing for 65 s; if it goes on, another is started."


def test_no_worker_is_started_for_a_database_that_is_not_ours() -> None:
    ear = Ear()
    ear.is_gone = True
    log, kept = logging.getLogger("uvicorn.error"), Kept(logging.ERROR)
    log.addHandler(kept)

    async def watch() -> None:
        watching = asyncio.create_task(Supervisor(ear, [sys.executable, "-c", SAY]).run())  # type: ignore[arg-type]
        await ear.until("stopped", 1)
        assert "waiting" not in {message["state"] for message in ear.heard_}
        ear.is_gone = False
        await ear.until("waiting", 1)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())
    log.removeHandler(kept)
    assert ear.heard_[0]["error"] == "The worker has stopped (campaign.db: it is gone), and is started again."
    assert [(record.getMessage(), bool(record.exc_info)) for record in kept.records] == [
        ("the worker: campaign.db: it is gone", False)  # a sentence says enough
    ]


def test_a_new_worker_is_not_taken_for_one_that_has_stood_still() -> None:
    """Its first beat says nothing that anybody needs to hear."""
    beat = 'import json\nprint(json.dumps({"used": 0.5}), flush=True)\n'
    heard = asyncio.run(supervised(beat + SAY + "input()", "waiting", 1))
    assert [message["state"] for message in heard] == ["waiting"]


def test_one_that_keeps_dying_is_started_ever_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as late every time, up to a minute; after one that lived for longer than that, at once again."""
    lives, now, waits = [0.0] * 8 + [60.0, 60.1, 0.0], [0.0], list[float]()

    class Dying(Supervisor):
        async def _listen(self) -> str:
            now[0] += lives.pop(0)
            return "exit code 1"

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if not lives:
            raise asyncio.CancelledError

    monkeypatch.setattr(worker, "LONGEST", 60.0)
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(worker, "asyncio", SimpleNamespace(sleep=sleep))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(Dying(Ear(), []).run())  # type: ignore[arg-type]
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60, 60, 1, 2]


def test_a_poke_is_a_line_and_one_poke_is_one() -> None:
    ear = Ear()
    echo = SAY + 'for line in sys.stdin: print(json.dumps({"state": "poked"}), flush=True)'

    async def watch() -> None:
        watching = asyncio.create_task(Supervisor(ear, [sys.executable, "-c", echo]).run())  # type: ignore[arg-type]
        await ear.until("waiting", 1)
        for times in (1, 2):
            ear.poke.set()
            await ear.until("poked", times)
            assert not ear.poke.is_set()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())
    assert [message["state"] for message in ear.heard_] == ["waiting", "poked", "poked"]
