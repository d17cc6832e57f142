"""A worker is started again however it ends, whatever it says, and whatever the server makes of it."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from shortlist.types import ShortlistError
from shortlist.web.service import worker
from shortlist.web.service.worker import Supervisor


class Ear:
    """As much of LabellingService as a supervisor needs."""

    def __init__(self) -> None:
        self.heard_: list[dict[str, Any]] = []
        self.poke = asyncio.Event()
        self.troubles: list[Exception] = []

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
    heard = asyncio.run(supervised(SAY + "input()", "waiting", 2, ZeroDivisionError("a fault")))
    assert [message["state"] for message in heard] == ["waiting", "stopped", "waiting"]


def test_a_worker_that_cannot_be_started_is_tried_again() -> None:
    ear = Ear()

    async def watch() -> None:
        watching = asyncio.create_task(Supervisor(ear, ["/nowhere/python"]).run())  # type: ignore[arg-type]
        await ear.until("stopped", 2)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())
    assert "No such file" in ear.heard_[0]["error"]
