"""A campaign killed at any moment and started again ends as if nothing had happened, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from .killing import ROOT, finish, kill_after
from .toys import snapshot

KILLS = 5


def test_five_kills_at_random_moments_leave_no_trace(tmp_path: Path) -> None:
    seconds = finish(tmp_path / "whole", seed=0)
    whole, rng = snapshot(tmp_path / "whole"), np.random.default_rng(0)
    kills = done = 0
    while kills < KILLS:
        # the first one falls while the folder is made, the others anywhere in what is left to do
        delay = rng.uniform(0, 0.4) * seconds if kills else 0.005
        if kill_after(delay, tmp_path / f"{done}", seed=0):
            kills += 1
        else:
            assert snapshot(tmp_path / f"{done}") == whole
            done += 1
    finish(tmp_path / f"{done}", seed=0)
    assert snapshot(tmp_path / f"{done}") == whole


def test_every_boundary_is_safe(tmp_path: Path) -> None:
    """Killed before and after every commit, every file written and every file moved, one by one."""
    command = [sys.executable, "-m", "tests.campaign.boundaries", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 50
