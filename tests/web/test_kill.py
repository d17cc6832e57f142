"""Whatever befalls server, worker and database while people answer: nothing acknowledged is lost, and it goes on."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.web import killing, losing
from tests.web.killing import damage, workers


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_killed_at_random_moments(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    heard = killing.torture(folder, kills=2, port=free_port(), seed=1)  # the worker, then the server
    assert damage(folder, heard) == []
    assert len(heard.numbers) > 20
    assert workers(folder) == []


def test_a_database_that_is_deleted_replaced_damaged_and_locked(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    heard = losing.torture(folder, times=4, port=free_port())
    assert damage(folder, heard) == []
    assert heard.refusals > 0
    assert workers(folder) == []
