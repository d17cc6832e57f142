"""`shortlist study` in a process of its own, to be killed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Self

COMMAND = [sys.executable, "-c", "from shortlist.cli import main; main()", "study"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


class Server:
    def __init__(self, folder: Path, port: int) -> None:
        arguments = [str(folder), "--port", str(port), "--no-browser"]
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line.strip())
            if line.startswith("Ctrl-C"):  # the last it says before it serves; the socket takes calls already
                return
        raise AssertionError("\n".join(self.said))

    @property
    def address(self) -> str:
        return next(line.split(": ", 1)[1].strip() for line in self.said if line.startswith("take part: "))

    @property
    def results(self) -> str:
        return next(line.split(":", 1)[1].strip() for line in self.said if line.startswith("results:"))

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
