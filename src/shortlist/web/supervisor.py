"""Keeps one worker process alive, tells it when answers have come, and passes on what it says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from shortlist.web.live import Live

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
                said = await self._listen()
                lived = asyncio.get_running_loop().time() - began
                wait = 1.0 if lived > LONGEST else min(2 * wait, LONGEST)
                why = f"the worker has stopped ({said}); it is started again"
                await self.live.heard({"state": "stopped", "words": "", "error": why})
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
                await self._hear(line)
        finally:
            poking.cancel()
        code = await self.process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    async def _hear(self, line: bytes) -> None:
        with contextlib.suppress(json.JSONDecodeError, KeyError, TypeError):  # a library's own print is no message
            await self.live.heard(json.loads(line))

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
            self.process.kill()  # it may be in the middle of a training: nothing is lost, and nobody waits
            await self.process.wait()
