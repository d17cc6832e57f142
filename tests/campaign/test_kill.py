"""A campaign killed at any moment and started again ends as if nothing had happened, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign.killing import ROOT
from tests.cases import torture


def test_five_kills_at_random_moments_leave_no_trace() -> None:
    command = [sys.executable, "-m", "tests.torture", "5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.startswith("5 kills (")


@pytest.mark.parametrize(("rounds", "places"), [(2, 35), pytest.param(3, 50, marks=torture)])
def test_every_boundary_is_safe(tmp_path: Path, rounds: int, places: int) -> None:
    """Ended before and after every commit, every file written and every file moved, one by one."""
    command = [sys.executable, "-m", "tests.campaign.boundaries", str(tmp_path), str(rounds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > places
