"""Keeps one worker process alive, tells it when answers have come, and passes on what it says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Any

from shortlist.types import ShortlistError
from shortlist.web.live import Live

log = logging.getLogger("uvicorn.error")

LONGEST = 60.0  # seconds between two starts of a worker that keeps dying
LINE = 1 << 20  # bytes: what a worker may say at once


class Supervisor:
    def __init__(self, live: Live, command: Sequence[str]) -> None:
        self.live, self.command = live, command
        self.process: Process | None = None

    async def run(self) -> None:
        """Start it, listen to it, and start it again whenever it ends; until cancelled."""
        wait = 1.0
        try:
            while True:
                began = asyncio.get_running_loop().time()
                said = await self._life()
                lived = asyncio.get_running_loop().time() - began
                wait = 1.0 if lived > LONGEST else min(2 * wait, LONGEST)
                await self._pass_on(
                    {"state": "stopped", "error": f"The worker has stopped ({said}), and is started again."}
                )
                await asyncio.sleep(wait)
        finally:
            await self._end()

    async def _life(self) -> str:
        """One worker's life; how it ended."""
        try:
            return await self._listen()
        except Exception as error:  # whatever it was, another one is started
            log.exception("the worker")
            await self._end()
            return str(error)

    async def _listen(self) -> str:
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
            await self.live.heard(message)
        except ShortlistError as error:
            log.warning("%s", error)

    async def _poke(self, process: Process) -> None:
        """A line for every time that there may be something to do."""
        assert process.stdin is not None
        while True:
            await self.live.poke.wait()
            self.live.poke.clear()
            with contextlib.suppress(ConnectionError):
                process.stdin.write(b"\n")
                await process.stdin.drain()

    async def _end(self) -> None:
        if self.process and self.process.returncode is None:
            # it may be in the middle of a training: nothing is lost, and nobody waits for it or for what it has started
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()
