"""A served campaign under load whose database is deleted, replaced, damaged and locked, as often as asked for.

    python -m tests.web.losing [--times 100] [--seed 0]

What is put back afterwards is what there was at that moment, as an owner would put back a copy: whatever is
acknowledged after it would be missing at the end, and nothing is.
"""

from __future__ import annotations

import argparse
import http.client
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.web.killing import Heard, Player, Served, damage, finished, goes_on, under_load, workers

PATIENCE = 60.0  # seconds: the machine may be busy
LOCKED, LOCKED_FOR_LONG = 1.0, 33.0  # seconds; SQLite gives up after 30
PAGE = 4096


class Patient(Player):
    """Sends an answer again for as long as it cannot be written down, as the page does."""

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
        while True:
            got = super().ask(connection, method, path, body)
            if not self.refused or self.done.wait(0.05):
                return got

    def is_wrong(self, status: int) -> bool:
        self.refused = status == 503
        if self.refused:
            self.heard.refusals += 1
        return not self.refused and super().is_wrong(status)


def delete(served: Served, heard: Heard, chance: random.Random) -> None:
    """All of it, or all but the log."""
    with served.frozen():
        copy = copied(served.folder)
        for name in ("", "-wal", "-shm")[: chance.choice([1, 2, 3])]:
            served.folder.joinpath(f"campaign.db{name}").unlink()
    until_refused(served, heard)
    served.end() if chance.random() < 0.5 else served.stop()
    refused = subprocess.run(served.command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if refused.returncode != 1 or "it is gone" not in refused.stderr or (served.folder / "campaign.db").exists():
        heard.problems.append(f"started without its database: {refused.stderr or refused.stdout}")
    put_back(served.folder, copy)
    served.process = served.start()


def replace(served: Served, heard: Heard, chance: random.Random) -> None:
    """By a copy of what it was a moment ago; the server goes on with it once it is started again."""
    with served.frozen():
        copied(served.folder).replace(served.folder / "campaign.db")
    until_refused(served, heard)
    served.end() if chance.random() < 0.5 else served.stop()
    without_log(served.folder)
    served.process = served.start()


def spoil(served: Served, heard: Heard, chance: random.Random) -> None:
    """Some pages; what SQLite has not written anew by itself is put back."""
    path = served.folder / "campaign.db"
    with served.frozen():
        content = path.read_bytes()
        pages = chance.sample(range(1, len(content) // PAGE), k=min(20, len(content) // PAGE - 1))
        write(path, dict.fromkeys(pages, b"\xff" * PAGE))
    time.sleep(chance.uniform(0.3, 1.5))
    served.end()
    for pid in workers(served.folder):
        until(lambda pid=pid: pid not in workers(served.folder))  # type: ignore[misc]
    now = path.read_bytes()
    spoilt = [page for page in pages if now[page * PAGE : (page + 1) * PAGE] == b"\xff" * PAGE]
    write(path, {page: content[page * PAGE : (page + 1) * PAGE] for page in spoilt})
    served.process = served.start()


def write(path: Path, pages: dict[int, bytes]) -> None:
    with path.open("r+b") as file:
        for page, content in pages.items():
            file.seek(page * PAGE)
            file.write(content)


def lock(served: Served, heard: Heard, chance: random.Random) -> None:
    """Another program writes for longer than anybody likes to wait."""
    path, long = served.folder / "campaign.db", chance.random() < 0.05
    with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as c:
        c.execute("BEGIN EXCLUSIVE")
        time.sleep(LOCKED_FOR_LONG if long else chance.uniform(0, LOCKED))
        c.execute("ROLLBACK")


WAYS: tuple[Callable[[Served, Heard, random.Random], None], ...] = (delete, replace, spoil, lock)


def copied(folder: Path) -> Path:
    """All that is in it, the log's part too, in one file."""
    copy = folder.parent / "copy.db"
    copy.unlink(missing_ok=True)
    beside = folder.parent / "beside"
    beside.mkdir(exist_ok=True)
    for name in ("campaign.db", "campaign.db-wal"):
        shutil.copyfile(folder / name, beside / name)
    with closing(sqlite3.connect(beside / "campaign.db")) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    shutil.rmtree(beside)
    return copy


def put_back(folder: Path, copy: Path) -> None:
    without_log(folder)
    copy.replace(folder / "campaign.db")


def without_log(folder: Path) -> None:
    """It belongs to the file that was there before."""
    for pid in workers(folder):
        until(lambda pid=pid: pid not in workers(folder))  # type: ignore[misc]
    for name in ("-wal", "-shm"):
        (folder / f"campaign.db{name}").unlink(missing_ok=True)


def until_refused(served: Served, heard: Heard) -> None:
    before = heard.refusals
    until(lambda: heard.refusals > before + 5)


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def torture(folder: Path, *, times: int, port: int, seed: int = 0) -> Heard:
    """What people heard; every way comes in turn, and the campaign goes on after the last."""
    chance = random.Random(seed)
    with under_load(folder, port, times, Patient) as (served, heard):
        for i in range(times):
            before = len(heard.numbers)
            until(lambda before=before: len(heard.numbers) > before + 5)  # type: ignore[misc]
            WAYS[i % len(WAYS)](served, heard, chance)
        goes_on(folder, heard)
    return heard


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "run"
        heard = torture(folder, times=chosen.times, port=8794, seed=chosen.seed)
        wrong, rounds = damage(folder, heard), finished(folder)
    for what in wrong[:20]:
        print(f"WRONG: {what}")
    said = f"{chosen.times} times, {len(heard.numbers):,} acknowledged answers, {heard.refusals:,} refused"
    print(f"{said}, {rounds} rounds, {len(wrong)} things wrong; {time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
