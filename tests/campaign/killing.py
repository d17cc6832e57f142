"""Start a victim and kill it after a while."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    """A victim that has loaded its libraries and is about to begin."""
    command = [sys.executable, "-m", "tests.campaign.victim", str(folder), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finish(folder: Path, seed: int) -> float:
    """An uninterrupted run; how many seconds it took."""
    process = start(folder, seed)
    began = time.monotonic()
    process.communicate(timeout=120)
    assert process.returncode == 0
    return time.monotonic() - began


def kill_after(seconds: float, folder: Path, seed: int) -> str | None:
    """Start it and send SIGKILL after so long. The step it was in; None if it was done before that."""
    process = start(folder, seed)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    steps, _ = process.communicate()
    assert process.returncode in (0, -9)
    return None if process.returncode == 0 else (["open", *steps.split()])[-1]
