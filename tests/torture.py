"""Kill campaigns with SIGKILL at random moments, many times, and compare: python -m tests.torture [KILLS] [SEED].

Each campaign (digits, logistic regression, candidate sets, cost-aware entropy, 8 rounds) is started again after
every kill until it ends, and must then equal its uninterrupted twin bit for bit. `make torture` runs this with
fifty kills, `make test` with five.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tests.campaign.killing import finish, kill_after
from tests.campaign.toys import snapshot


def main(kills: int = 50, seed: int = 0) -> int:
    rng, began = np.random.default_rng(seed), time.monotonic()
    fell: Counter[str] = Counter()
    done = differ = 0
    with tempfile.TemporaryDirectory() as place:
        while fell.total() < kills:
            whole, folder = Path(place, f"whole{done}"), Path(place, f"killed{done}")
            seconds = finish(whole, seed=done)
            while fell.total() < kills:
                early = fell.total() % 8 == 0  # soon after the start, where the folder is made or opened
                delay = (0.02 if early else 0.6 * seconds) * rng.random()
                step = kill_after(delay, folder, seed=done)
                if step is None:
                    break
                fell[step] += 1
                print(f"\rkill {fell.total()} of {kills}", end="", file=sys.stderr)
            finish(folder, seed=done)
            differ += snapshot(folder) != snapshot(whole)
            done += 1
    where = ", ".join(f"{n} in {name}" for name, n in fell.most_common())
    print(file=sys.stderr)
    print(f"{fell.total()} kills ({where}) over {done} campaigns: {differ} differ, {time.monotonic() - began:.0f} s")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
