"""Kill a small campaign at every place where something becomes durable: python -m tests.campaign.boundaries FOLDER.

The process forks: a child runs until the k-th such place and is killed there, another goes on to the end, and
what it has then must equal the uninterrupted run. Prints how many places there were.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.engine.default import DefaultDialect

from .toys import run, snapshot


def main(folder: Path) -> None:
    whole = folder / "whole"
    _child(partial(_campaign, whole))
    wanted = snapshot(whole)
    k = 1
    while _child(partial(_campaign, folder / f"{k}", kill_at=k)):
        _child(partial(_campaign, folder / f"{k}"))
        _same(snapshot(folder / f"{k}"), wanted, f"killed at place {k}")
        k += 1
    often = folder / "often"
    while _child(partial(_campaign, often, kill_at=12)):
        pass
    _same(snapshot(often), wanted, "killed at every 12th place")
    print(k - 1, "places")


def _campaign(folder: Path, kill_at: int | None = None) -> None:
    if kill_at is not None:
        _arm(kill_at)
    run(folder, holdout=4, ahead=2, rounds=3)


def _arm(kill_at: int) -> None:
    passed = 0

    def place() -> None:
        nonlocal passed
        passed += 1
        if passed == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def both(*args: Any, **kwargs: Any) -> Any:
            place()
            found = original(*args, **kwargs)
            place()
            return found

        return both

    for owner, name in ((DefaultDialect, "do_commit"), (Path, "replace"), (Path, "write_text"), (np, "savez")):
        setattr(owner, name, around(getattr(owner, name)))


def _child(job: Callable[[], None]) -> bool:
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
    main(Path(sys.argv[1]))
