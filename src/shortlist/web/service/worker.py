"""The process that trains, calibrates and plans for people who are answering, and what keeps it alive in the server.

The worker has the lowest priority. It writes one line of JSON for every change of what it does, and now and then one
that says how much of the processor it has used; it goes on when a line comes in, and ends when the process that started
it is gone. It may be killed at any moment: the campaign's folder is at the end of some step. One that does nothing any
more, and holds the campaign's lock, is killed by the server.
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
BEAT_SECONDS = 5.0  # how often a worker says how much of the processor it has used
LEAST_WORK = 0.001  # seconds of the processor between two beats: less than looking whether answers have come
STILL, HOPELESS = 60.0, 600.0  # seconds without work after which it is told of, and ended

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
    """Advance the campaign whenever it can be, for as long as `lines` is open.

    `begun` is called before a new campaign's first question, and once any campaign asks.
    """
    os.nice(19)
    poked, voice = listen(lines), Voice(out)
    threading.Thread(target=voice.beat, name="beat", daemon=True).start()
    campaign: Campaign | None = None
    reader: threading.Thread | None = None
    while True:
        try:
            if campaign is None:
                campaign = make(voice.step)
                if not campaign.view.rounds():  # what is known is learnt from before the first question
                    begun(campaign)
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
        self._turn = threading.Lock()

    def step(self, step: Step) -> None:
        self.say("working", WORDS.get(step.name, step.name).format(step.detail))

    def say(self, state: str, words: str = "", error: str | None = None) -> None:
        line = json.dumps({"state": state, "words": words, "error": error})
        if line != self.last:
            self.last = line
            self._write(line)

    def beat(self) -> None:
        """While the process lives: one that waits for ever uses no processor, and one that is stopped is silent."""
        while True:
            time.sleep(BEAT_SECONDS)
            self._write(json.dumps({"used": time.process_time()}))

    def _write(self, line: str) -> None:
        with self._turn:
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
    def __init__(
        self, service: LabellingService, command: Sequence[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.service, self.command, self.clock = service, command, clock
        self.process: Process | None = None
        self._said: dict[str, Any] = {}  # what it said last that it does
        self._moved, self._used = 0.0, 0.0  # when it last did something; seconds of the processor by its last beat
        self._is_still = False  # for so long that it has been told of

    async def run(self) -> None:
        """Start it, listen to it, and start it again whenever it ends; until cancelled."""
        wait = 1.0
        try:
            while True:
                began = time.monotonic()
                try:
                    ending = await self._listen()
                except Exception as error:  # whatever it was, another one is started
                    log.error("the worker: %s", error, exc_info=not isinstance(error, ShortlistError))
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
        await self.service.in_place()  # a new worker would take a database that was put there meanwhile for ours
        self.process = await asyncio.create_subprocess_exec(
            *self.command, stdin=PIPE, stdout=PIPE, limit=LINE, start_new_session=True
        )
        self._said, self._moved, self._used, self._is_still = {"state": "starting"}, self.clock(), 0.0, False
        beside = [asyncio.create_task(self._poke(self.process)), asyncio.create_task(self._watch(self.process))]
        try:
            assert self.process.stdout is not None
            async for line in self.process.stdout:
                await self._hear(json.loads(line))
        finally:
            for task in beside:
                task.cancel()
        code = await self.process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    async def _hear(self, message: dict[str, Any]) -> None:
        """What it says it does, or how much of the processor it has used by now."""
        used = message.get("used")
        if used is None:
            self._said = message
        else:
            worked, self._used = used - self._used, used
            if worked < LEAST_WORK:
                return
        self._moved = self.clock()
        if used is None or self._is_still:
            self._is_still = False
            await self._pass_on(self._said)

    async def _watch(self, process: Process) -> None:
        """Notice that it hangs: nobody else can have what it holds."""
        while True:
            await asyncio.sleep(STILL / 10)
            await self._look_at(process)

    async def _look_at(self, process: Process) -> None:
        still = self.clock() - self._moved
        if still > HOPELESS:
            log.error("the worker has done nothing for %.0f s: it is ended, and another is started", still)
            _kill(process)
        elif still > STILL and not self._is_still:
            self._is_still = True
            words = f"The worker (process {process.pid}) has done nothing for {still:.0f} s"
            log.error(words)
            await self._pass_on({**self._said, "error": f"{words}; if it goes on, another is started."})

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
            _kill(self.process)
            await self.process.wait()


def _kill(process: Process) -> None:
    """It may be in the middle of a training: nothing is lost, and its own processes end with it."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
        os.killpg(process.pid, signal.SIGKILL)
