"""Server and worker are killed while people answer: nothing acknowledged is lost, nothing doubled, and it goes on."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.web.killing import damage, torture, workers


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_killed_at_random_moments(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    heard = torture(folder, kills=2, port=free_port(), seed=1)  # the worker, then the server
    assert damage(folder, heard) == []
    assert len(heard.numbers) > 20
    assert workers(folder) == []
