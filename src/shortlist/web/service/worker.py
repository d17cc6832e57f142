"""The process that trains, calibrates and plans for people who are answering, and what keeps it alive in the server.

The worker has the lowest priority. It writes one line of JSON for every change of what it does, goes on when a line
comes in, and ends when the process that started it is gone. It may be killed at any moment: the campaign's folder is at
the end of some step.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from shortlist.campaign.engine import Campaign, Step
from shortlist.types import ShortlistError

if TYPE_CHECKING:  # the worker itself needs nothing of the server
    from shortlist.web.service.labelling import LabellingService

LOOK_SECONDS = 1.0  # how often it looks by itself whether answers have come
AGAIN_SECONDS = 5.0  # how soon it tries again what has failed, or looks once the campaign is over
LONGEST = 60.0  # seconds between two starts of a worker that keeps dying
LINE = 1 << 20  # bytes: what a worker may say at once

WORDS = {
    "select": "choosing what to ask next: {}",
    "calibrate": "finding the error rate that makes answers cheapest",
    "fit": "training on {}",
    "evaluate": "measuring the model",
    "restore": "bringing back the model of {}",
    "note": "{}",
}


def apart(out: TextIO) -> TextIO:
    """Where `out` leads, for us alone: whatever a library prints goes to the log instead."""
    ours = os.fdopen(os.dup(out.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), out.fileno())
    return ours


def work(
    make: Callable[[Callable[[Step], None]], Campaign],
    lines: TextIO,
    out: TextIO,
    begun: Callable[[Campaign], object] = lambda campaign: None,
) -> None:
    """Advance the campaign whenever it can be, for as long as `lines` is open; `begun` is called once it asks."""
    os.nice(19)
    poked, voice = listen(lines), Voice(out)
    campaign: Campaign | None = None
    reader: threading.Thread | None = None
    while True:
        try:
            campaign = campaign or make(voice.step)
            while campaign.advance():
                voice.say("working")
            ending = campaign.ending
            voice.say("over" if ending else "waiting", ending or "")
            wait = AGAIN_SECONDS if ending else LOOK_SECONDS  # corrections alone come then
            if reader is None:
                begun(campaign)
                reader = read_ahead(campaign)
                wait = 0.0  # what was done may have completed the round
        except Exception as error:  # also a model's own: people go on answering, and the page says what is wrong
            why = str(error)
            if not isinstance(error, ShortlistError):
                traceback.print_exc()
                why = f"{type(error).__name__}: {error}"
            voice.say("failed", error=f"The worker cannot go on, and tries again: {why}.")
            wait = AGAIN_SECONDS
        poked.wait(wait)
        poked.clear()


def read_ahead(campaign: Campaign) -> threading.Thread:
    """Data are read and encoded beside people's first answers; training waits for it, and hears what went wrong."""

    def read() -> None:
        with contextlib.suppress(Exception):
            campaign.read_data()

    thread = threading.Thread(target=read, name="reader", daemon=True)
    thread.start()
    return thread


class Voice:
    """Says what is done, once."""

    def __init__(self, out: TextIO) -> None:
        self.out, self.last = out, ""

    def step(self, step: Step) -> None:
        self.say("working", WORDS.get(step.name, step.name).format(step.detail))

    def say(self, state: str, words: str = "", error: str | None = None) -> None:
        line = json.dumps({"state": state, "words": words, "error": error})
        if line != self.last:
            self.last = line
            self.out.write(line + "\n")
            self.out.flush()


def listen(lines: TextIO) -> threading.Event:
    """Set by every line that comes in; the end of them is the end of this process."""
    poked = threading.Event()

    def read() -> None:
        for _ in lines:
            poked.set()
        os._exit(0)  # what started this is gone; another may be starting, and needs the folder

    threading.Thread(target=read, name="listener", daemon=True).start()
    return poked


# --- in the server ---------------------------------------------------------------------------------------------

log = logging.getLogger("uvicorn.error")


class Supervisor:
    def __init__(self, service: LabellingService, command: Sequence[str]) -> None:
        self.service, self.command = service, command
        self.process: Process | None = None

    async def run(self) -> None:
        """Start it, listen to it, and start it again whenever it ends; until cancelled."""
        wait = 1.0
        try:
            while True:
                began = time.monotonic()
                try:
                    ending = await self._listen()
                except Exception as error:  # whatever it was, another one is started
                    log.exception("the worker")
                    await self._end()
                    ending = str(error)
                wait = 1.0 if time.monotonic() - began > LONGEST else min(2 * wait, LONGEST)
                await self._pass_on(
                    {"state": "stopped", "error": f"The worker has stopped ({ending}), and is started again."}
                )
                await asyncio.sleep(wait)
        finally:
            await self._end()

    async def _listen(self) -> str:
        """One worker's life; how it ended."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=PIPE, stdout=PIPE, limit=LINE, start_new_session=True
        )
        poking = asyncio.create_task(self._poke(self.process))
        try:
            assert self.process.stdout is not None
            async for line in self.process.stdout:
                await self._pass_on(json.loads(line))
        finally:
            poking.cancel()
        code = await self.process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    async def _pass_on(self, message: dict[str, Any]) -> None:
        """What it has said. That the server cannot look at its files just now is no fault of the worker's."""
        try:
            await self.service.heard(message)
        except ShortlistError as error:
            log.warning("%s", error)

    async def _poke(self, process: Process) -> None:
        """A line for every time that there may be something to do."""
        assert process.stdin is not None
        while True:
            await self.service.poke.wait()
            self.service.poke.clear()
            with contextlib.suppress(ConnectionError):
                process.stdin.write(b"\n")
                await process.stdin.drain()

    async def _end(self) -> None:
        if self.process and self.process.returncode is None:
            # it may be in the middle of a training: nothing is lost, and its own processes end with it
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()
