"""One thread writes answers down. What comes while it writes goes into the next transaction, all of it together.

A commit that survives a power cut takes milliseconds; fifty people share it instead of queueing for their own.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from shortlist.types import Answer, ShortlistError

T = TypeVar("T")
Saved = TypeVar("Saved")  # what there is to say of an answer that is safe
TOGETHER = 500  # answers in one transaction
GATHERED = 0.005  # seconds that are waited for more where many are answering


class _Job(NamedTuple):
    """An answer to write, or work to do, and what comes of it."""

    what: Any
    future: Future[Any]


class AnswerWriter(Generic[Saved]):
    """`write` returns when the answer is safe on the disk; `do` runs other work on the same thread, in turn."""

    def __init__(self, record: Callable[[Sequence[Answer]], list[Saved | ShortlistError]]) -> None:
        self.record = record
        self._jobs: queue.Queue[_Job | None] = queue.Queue()
        self._closed = False
        self._busy = False  # answers come faster than they are written one by one
        self._thread = threading.Thread(target=self._work, name="scribe", daemon=True)
        self._thread.start()

    async def write(self, answer: Answer) -> Saved:
        saved: Future[Saved] = self.submit(answer)
        return await asyncio.wrap_future(saved)

    async def do(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self.submit(work))

    def submit(self, what: Answer | Callable[[], T]) -> Future[T]:
        """For other threads: an answer or other work, and what comes of it."""
        if self._closed:
            raise ShortlistError("the server is stopping")
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # a request that is cancelled takes nothing back
        self._jobs.put(_Job(what, future))
        return future

    def close(self) -> None:
        """Everything that was asked for is written first; what comes after is refused."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while job := self._jobs.get():
            is_answer = isinstance(job.what, Answer)
            jobs = self._with_others(job) if is_answer else [job]
            try:
                results: Sequence[Any] = self.record([one.what for one in jobs]) if is_answer else [job.what()]
            except Exception as error:
                results = [error] * len(jobs)
            for one, result in zip(jobs, results, strict=True):
                if isinstance(result, Exception):
                    one.future.set_exception(result)
                else:
                    one.future.set_result(result)

    def _with_others(self, first: _Job) -> list[_Job]:
        """An answer, and those that have come meanwhile."""
        if self._busy:
            time.sleep(GATHERED)
        jobs, waiting = [first], self._jobs.queue  # no other thread takes from it: what is first there stays so
        while len(jobs) < TOGETHER and waiting and (job := waiting[0]) and isinstance(job.what, Answer):
            jobs.append(job)
            self._jobs.get()
        self._busy = len(jobs) > 1
        return jobs
