"""The server killed at any moment: what was acknowledged is there, nothing is there twice, people just go on."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import httpx2
import numpy as np

from shortlist.study.store import StudyStore
from tests.study.participant import Participant
from tests.study.studies import small_study
from tests.study.study_server import Server, free_port

KILLS, COMPUTERS = 2, 4


def kept(folder: Path) -> list[tuple[str, int, int]]:
    """Who answered what, in the order it was written down."""
    store = StudyStore(folder / "study.db")
    found = [(row.name, row.item, row.chosen) for row in store.rows()]
    store.close()
    return found


def test_killed_between_two_answers_and_started_again(tmp_path: Path) -> None:
    folder, port = small_study(tmp_path, practice=0), free_port()
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as client:
        somebody = Participant(client)
        with Server(folder, port):
            somebody.start("Ana")
            somebody.answer(2)
        assert [(item, chosen) for _, item, chosen in kept(folder)] == somebody.acknowledged
        with Server(folder, port):
            assert len(somebody.questions()) == 2
            somebody.answer()
            assert client.get("/thanks").status_code == 200
        assert [(item, chosen) for _, item, chosen in kept(folder)] == somebody.acknowledged


def patiently(port: int, computer: int, heard: list[tuple[str, int, int]], stop: threading.Event) -> None:
    """One person after another on one computer, going on whatever happens to the server."""
    for number in itertools.count():
        name = f"{computer}-{number}"
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=5) as client:
            somebody, done = Participant(client), False
            while not (done or stop.is_set()):
                try:
                    somebody.start(name)
                    somebody.answer()
                    done = True
                except (httpx2.HTTPError, AssertionError):  # nobody there, or the lost answer was kept: look again
                    time.sleep(0.02)
        heard += [(name, item, chosen) for item, chosen in somebody.acknowledged]
        if stop.is_set():
            return


def wait_for(heard: list[tuple[str, int, int]], n: int) -> None:
    deadline = time.monotonic() + 60
    while len(heard) < n:
        assert time.monotonic() < deadline, f"{len(heard)} answers in a minute"
        time.sleep(0.02)


def test_killed_at_random_moments_under_load(tmp_path: Path) -> None:
    folder, port, rng = small_study(tmp_path, practice=0), free_port(), np.random.default_rng(0)
    stop, heard = threading.Event(), list[tuple[str, int, int]]()
    crowd = [threading.Thread(target=patiently, args=(port, c, heard, stop)) for c in range(COMPUTERS)]
    server = Server(folder, port)
    for one in crowd:
        one.start()
    for kill in range(KILLS + 1):
        wait_for(heard, 20 * (kill + 1))
        time.sleep(float(rng.uniform(0, 0.3)))
        if kill < KILLS:
            server.kill()
            server = Server(folder, port)
    stop.set()
    for one in crowd:
        one.join()
    server.kill()
    there = kept(folder)
    assert set(heard) <= set(there)
    assert len({(name, item) for name, item, _ in there}) == len(there)
    # what is there without having been acknowledged was on its way when a server died
    assert len(there) - len(heard) <= COMPUTERS * KILLS
    store = StudyStore(folder / "study.db")
    assert all(len(session.seconds) == 4 for session in store.sessions())
    store.close()
