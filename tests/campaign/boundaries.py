"""End a small campaign wherever something becomes durable: python -m tests.campaign.boundaries FOLDER [ROUNDS].

A campaign runs once without an end, and at each such place its folder is copied: this is what a kill would leave. Each
copy goes on in a process of its own, and what it has then must equal the uninterrupted run. Then one is killed in
earnest, again and again. Prints how many places there were.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sqlalchemy.engine.default import DefaultDialect

from tests.campaign.toys import run, snapshot


def main(folder: Path, rounds: int = 3) -> None:
    whole, campaign = folder / "whole", partial(run, holdout=4, ahead=2, rounds=rounds)
    places = 0

    def leave(place: int) -> None:
        nonlocal places
        places = place
        if whole.exists():
            shutil.copytree(whole, folder / f"{place}")

    with _at_each_place(leave):
        campaign(whole)
    wanted = snapshot(whole)
    for place in range(1, places + 1):
        _child(partial(campaign, folder / f"{place}"))
        _same(snapshot(folder / f"{place}"), wanted, f"ended at place {place}")
    often = folder / "often"
    while _child(partial(_killed, partial(campaign, often), kill_at=12)):
        pass
    _same(snapshot(often), wanted, "killed at every 12th place")
    print(places, "places")


def _killed(campaign: Callable[[], Any], kill_at: int) -> None:
    with _at_each_place(lambda place: os.kill(os.getpid(), signal.SIGKILL) if place == kill_at else None):
        campaign()


@contextmanager
def _at_each_place(act: Callable[[int], None]) -> Iterator[None]:
    """Act before and after every commit, file written and file moved, with its number."""
    passed = 0

    def place() -> None:
        nonlocal passed
        passed += 1
        act(passed)

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def both(*args: Any, **kwargs: Any) -> Any:
            place()
            found = original(*args, **kwargs)
            place()
            return found

        return both

    with ExitStack() as stack:
        for owner, name in ((DefaultDialect, "do_commit"), (Path, "replace"), (Path, "write_text"), (np, "savez")):
            stack.enter_context(patch.object(owner, name, around(getattr(owner, name))))
        yield


def _child(job: Callable[[], Any]) -> bool:
    """Whether a fork of this process was killed before it had done its job."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            job()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code not in (0, -signal.SIGKILL):
        sys.exit(f"a child failed with {code}")
    return code != 0


def _same(found: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    for part in wanted:
        if found.get(part) != wanted[part]:
            sys.exit(f"{where}: {part} differs: {found.get(part)} is not {wanted[part]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
