"""One thread writes answers down. What comes while it writes goes into the next transaction, all of it together.

A commit that survives a power cut takes milliseconds; fifty people share it instead of queueing for their own.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from shortlist.types import Answer, ShortlistError

T = TypeVar("T")
TOGETHER = 500  # answers in one transaction
GATHERED = 0.005  # seconds that are waited for more where many are answering


class Scribe:
    """`write` returns when the answer is safe on the disk; `do` runs other work on the same thread, in turn."""

    def __init__(self, record: Callable[[Sequence[Answer]], list[int | ShortlistError]]) -> None:
        self.record = record
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._busy = False  # answers come faster than they are written one by one
        self._thread = threading.Thread(target=self._work, name="scribe", daemon=True)
        self._thread.start()

    async def write(self, answer: Answer) -> int:
        number: int = await self._put(answer)
        return number

    async def do(self, work: Callable[[], T]) -> T:
        result: T = await self._put(work)
        return result

    def close(self) -> None:
        """Everything that was asked for is written first; what comes after is refused."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _put(self, what: Any) -> asyncio.Future[Any]:
        if self._closed:
            raise ShortlistError("the server is stopping")
        loop = asyncio.get_running_loop()
        job = _Job(what, loop, loop.create_future())
        self._jobs.put(job)
        return job.future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not isinstance(job.what, Answer):
                job.run()
                continue
            if self._busy:
                time.sleep(GATHERED)
            together, after = self._more(job)
            self._busy = len(together) > 1
            self._write(together)
            for other in after:
                if other is None:
                    return
                other.run()

    def _more(self, first: _Job) -> tuple[list[_Job], list[_Job | None]]:
        """The answers that have come meanwhile, up to whatever else is to be done in turn."""
        together = [first]
        while len(together) < TOGETHER:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None or not isinstance(job.what, Answer):
                return together, [job]
            together.append(job)
        return together, []

    def _write(self, jobs: Sequence[_Job]) -> None:
        try:
            told = self.record([job.what for job in jobs])
        except Exception as error:
            told = [error] * len(jobs)  # type: ignore[list-item]
        for job, result in zip(jobs, told, strict=True):
            job.end(result)


class _Job:
    """Something to be done, and who waits for it."""

    def __init__(self, what: Any, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]) -> None:
        self.what, self.loop, self.future = what, loop, future

    def run(self) -> None:
        try:
            result = self.what()
        except Exception as error:
            result = error
        self.end(result)

    def end(self, result: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(self._tell, result)
        except RuntimeError:  # the server has stopped: nobody waits any more, and what was written stays
            return

    def _tell(self, result: Any) -> None:
        if self.future.cancelled():
            return
        if isinstance(result, Exception):
            self.future.set_exception(result)
        else:
            self.future.set_result(result)
