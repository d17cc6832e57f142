"""Start a victim, and kill it after a while."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.campaign import victim

ROOT = Path(__file__).parents[2]


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    """A victim that has loaded its libraries and is about to begin."""
    command = [sys.executable, "-m", "tests.campaign.victim", str(folder), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def fork(folder: Path, seed: int) -> tuple[int, int]:
    """A victim made of this process, which has loaded its libraries: its number, and where it says its steps."""
    heard, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(said, sys.stdout.fileno())
            victim.main(str(folder), seed)
            sys.stdout.flush()
            code = 0
        finally:
            os._exit(code)
    os.close(said)
    return pid, heard


def finish(folder: Path, seed: int) -> float:
    """An uninterrupted run; how many seconds it took."""
    began = time.monotonic()
    assert kill_after(float("inf"), folder, seed) is None
    return time.monotonic() - began


def kill_after(seconds: float, folder: Path, seed: int) -> str | None:
    """Start it and send SIGKILL after so long. The step it was in; None if it was done before that."""
    pid, heard = fork(folder, seed)
    until = time.monotonic() + seconds
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < until:
        time.sleep(0.002)
        ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    with os.fdopen(heard) as pipe:
        steps = pipe.read()
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -9), steps
    return None if code == 0 else ["open", *steps.split()[1:]][-1]
