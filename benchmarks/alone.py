"""A call in a process of its own: its seconds, and the most memory it held above what was there before (Linux).

The process is forked, so arrays need no copying and lie in its memory before the mark is set. Whoever forks must not
have used OpenMP or torch before: their threads do not come along.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing as mp
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from threadpoolctl import threadpool_limits

MEGABYTE = 1e6

Work: TypeAlias = Callable[[], Any]


@dataclass(frozen=True)
class Alone:
    seconds: float  # of the fastest run
    megabytes: float  # peak over all of them
    result: Any  # of the last


class TooLong(Exception):
    """The call ran past its cap and was ended."""


def alone(make: Callable[[], Work], *, warm: Work, threads: int | None = None, cap: float = 600.0) -> Alone:
    """`warm` loads what the call loads; `make` builds the call; neither counts. `threads` None: as many as it likes.

    Quick calls are run again for two seconds, at most a hundred times, and the fastest counts: so a short call has as
    good a chance of a quiet moment as a long one.
    """
    fork = mp.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    child = fork.Process(target=_measure, args=(make, warm, threads, there))
    child.start()
    there.close()
    try:
        if not here.poll(cap):
            raise TooLong(f"ended after {cap:.0f} s")
        found = here.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"the process ended with {child.exitcode}: out of memory?") from None
    finally:
        if child.is_alive():
            child.kill()
        child.join()
    if isinstance(found, str):
        raise RuntimeError(found)
    assert isinstance(found, Alone)
    return found


def _measure(make: Callable[[], Work], warm: Work, threads: int | None, to: Connection) -> None:
    try:
        warm()
        work = make()
        give_back()
        set_mark_back()
        before = memory("VmRSS")
        seconds: list[float] = []
        with threadpool_limits(threads):
            while not seconds or (len(seconds) < 100 and sum(seconds) < 2):
                start = time.perf_counter()
                result = work()
                seconds.append(time.perf_counter() - start)
        to.send(Alone(min(seconds), (memory("VmHWM") - before) / MEGABYTE, result))
    except Exception:
        to.send(traceback.format_exc())


def give_back() -> None:
    """Freed memory goes back to the system: what the allocator keeps for later would hide what a call takes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def memory(mark: str) -> int:
    """VmRSS, what this process holds, or VmHWM, the most it has held since the mark was set back; in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(mark))


def set_mark_back() -> None:
    Path("/proc/self/clear_refs").write_text("5")
