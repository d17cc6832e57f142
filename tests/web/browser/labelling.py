"""`shortlist label` as people start it: the command in a process of its own, its worker, and what it has written."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self

from tests.study.study_server import free_port

SHORTLIST = [sys.executable, "-c", "from shortlist.cli import main; main()"]
PATIENCE = 60.0  # seconds: the machine may be busy


def wait_until(is_so: Callable[[], Any]) -> Any:
    """Until it is so; what it then is."""
    end = time.monotonic() + PATIENCE
    while not (found := is_so()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    return found


def shortlist(*arguments: object) -> str:
    """What a command says that ends by itself."""
    command = [*SHORTLIST, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


class Labelling:
    """A campaign that is served; it can be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.log = folder.with_name(f"{folder.name}.txt")
        self.start()

    def start(self) -> None:
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*SHORTLIST, "label", str(self.folder), "--no-browser", "--port", str(self.port)],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_until(lambda: "/start/" in self.said or self.process.poll() is not None)
        assert self.process.poll() is None, self.said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()  # the worker ends when nobody listens any more

    @property
    def said(self) -> str:
        return self.log.read_text()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def start_link(self) -> str:
        return str(re.findall(r"http://\S+/start/\S+", self.said)[0])

    @contextmanager
    def held_worker(self) -> Iterator[None]:
        """The worker stands still in the middle of what it does."""
        (worker,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        os.kill(int(worker), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(int(worker), signal.SIGCONT)

    # --- what is in campaign.db --------------------------------------------------------------------------------

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(f"file:{self.folder}/campaign.db?mode=ro", uri=True, timeout=PATIENCE)) as c:
            c.row_factory = sqlite3.Row
            return [dict(row) for row in c.execute(query, values)]

    def answers(self, person: str | None = None) -> list[dict[str, Any]]:
        """In the order they were written: with the item's key, the name of the class, and the question's purpose."""
        found = self.rows(
            "SELECT a.*, i.key, c.name AS class, q.purpose, q.round, q.classes AS listed FROM answers a"
            " JOIN questions q ON q.id = a.question JOIN items i ON i.id = a.item"
            " LEFT JOIN classes c ON c.id = a.label ORDER BY a.id"
        )
        for row in found:
            row["stage_seconds"] = json.loads(row["stage_seconds"] or "null")
        return [row for row in found if person in (None, row["person"])]

    def rounds(self) -> dict[int, str]:
        return {row["number"]: row["state"] for row in self.rows("SELECT number, state FROM rounds")}
