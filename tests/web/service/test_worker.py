"""The worker says what it does, goes on after failures, and does not let people wait for what they do not need."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shortlist.campaign.engine import Campaign, Step
from shortlist.types import Dataset, ShortlistError
from shortlist.web.service import worker
from shortlist.web.service.worker import Voice, apart, work
from tests.campaign.toys import Fixed, answers, campaign, data, learning

DATA = data(60)
TROUBLE = "The worker cannot go on, and tries again: photos: there is no such folder."


class Slow(Fixed):
    """A model whose data take long to read."""

    def __init__(self) -> None:
        super().__init__(learning(DATA.labels, 5), [[0.2] * 5] * 20)
        self.may_end, self.prepared = threading.Event(), 0

    def prepare(self, dataset: Dataset) -> None:
        assert self.may_end.wait(60)
        self.prepared += 1


class EnoughError(Exception):
    """The worker has been watched for long enough."""


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Run the worker; after each turn of its loop the next of `between` is done, and what it said is returned."""
    monkeypatch.setattr(os, "nice", lambda by: by)

    def run(
        make: Callable[..., Campaign], *between: Callable[[], object], waits: list[float] | None = None
    ) -> list[dict[str, Any]]:
        steps, out = iter(between), io.StringIO()

        class Poked(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                if waits is not None:
                    waits.append(timeout or 0)
                step = next(steps, None)
                if step is None:
                    raise EnoughError
                step()
                return True

        monkeypatch.setattr(worker, "listen", lambda lines: Poked())
        with pytest.raises(EnoughError):
            work(make, io.StringIO(), out)
        said = [json.loads(line) for line in out.getvalue().splitlines()]
        return [line for line in said if "state" in line]  # on a slow machine a beat may be among them

    return run


def answer_open(going: Campaign) -> None:
    going.record(answers(going.open_questions(), DATA.labels))


def test_people_go_on_to_the_first_round_while_data_are_read(tmp_path: Path, watched: Any) -> None:
    model = Slow()
    with campaign(tmp_path / "run", DATA, model=model, holdout=10) as going:
        seen: list[int] = []

        def to_round_1() -> None:
            assert [q.purpose for q in going.open_questions()] == ["holdout"] * 10
            answer_open(going)

        def while_it_reads() -> None:
            seen.append(model.prepared)
            assert [q.purpose for q in going.open_questions()] == ["initial"] * 8
            answer_open(going)
            threading.Timer(0.3, model.may_end.set).start()  # the worker comes to train, and waits for it

        watched(lambda watch: going, to_round_1, while_it_reads)
        assert seen == [0]
        assert model.prepared == 1
        assert going.store.rounds()[-1].number == 2


def test_every_change_is_said_once(tmp_path: Path, watched: Any) -> None:
    folder = tmp_path / "run"
    made: list[Campaign] = []

    def make(watch: Callable[[Step], None]) -> Campaign:
        made.append(campaign(folder, DATA, watch=watch))
        return made[-1]

    said = watched(make, lambda: None, lambda: answer_open(made[0]), lambda: None)
    made[0].close()
    states = [line["state"] for line in said]
    assert (states[0], states[-1], states.count("waiting")) == ("working", "waiting", 2)
    words = " ".join(line["words"] for line in said)
    assert "training on 8 labels" in words
    assert "choosing what to ask next: 8 of 52 items" in words


def test_what_fails_is_said_and_tried_again(tmp_path: Path, watched: Any) -> None:
    tries = []

    def make(watch: Callable[[Step], None]) -> Campaign:
        tries.append(1)
        if len(tries) < 3:
            raise ShortlistError("photos: there is no such folder")
        return going

    with campaign(tmp_path / "run", DATA) as going:
        said = watched(make, lambda: None, lambda: None)
    assert said[0] == {"state": "failed", "words": "", "error": TROUBLE}
    assert said[-1]["state"] == "waiting"
    assert len(tries) == 3


def test_a_model_that_breaks_is_told_of_and_tried_again(
    tmp_path: Path, watched: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Fixed(lambda labelled: 1 / 0, [[0.2] * 5] * 20)
    with campaign(tmp_path / "run", DATA, model=model) as going:
        said = watched(lambda watch: going, lambda: answer_open(going), lambda: None)
    assert said[-1]["error"] == "The worker cannot go on, and tries again: ZeroDivisionError: division by zero."
    assert "Traceback" in capsys.readouterr().err


# --- the process itself ----------------------------------------------------------------------------------------


def test_what_a_library_prints_is_not_taken_for_what_the_worker_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "out").open("w") as out, apart(out) as ours:
        print("noise", file=out, flush=True)
        print("said", file=ours, flush=True)
    assert (tmp_path / "out").read_text() == "said\n"
    assert "noise" in capfd.readouterr().err


def test_a_line_pokes_and_the_end_of_them_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, gone = list[int](), threading.Event()

    def end(code: int) -> None:
        ended.append(code)
        gone.set()

    monkeypatch.setattr(os, "_exit", end)
    read, write = os.pipe()
    with os.fdopen(read) as lines, os.fdopen(write, "w", buffering=1) as server:
        poked = worker.listen(lines)
        assert not poked.wait(0.05)
        server.write("\n")
        assert poked.wait(60)
        assert ended == []
        assert [thread.daemon for thread in threading.enumerate() if thread.name == "listener"][-1]
        server.close()
        assert gone.wait(60)
    assert ended == [0]


def test_a_beat_says_how_much_of_the_processor_was_used(monkeypatch: pytest.MonkeyPatch) -> None:
    out, slept = io.StringIO(), list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 2:
            raise EnoughError

    monkeypatch.setattr(worker, "time", SimpleNamespace(sleep=sleep, process_time=lambda: 7.5))
    with pytest.raises(EnoughError):
        Voice(out).beat()
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [{"used": 7.5}] * 2
    assert slept == [worker.BEAT_SECONDS] * 3


def test_it_looks_again_soon_while_it_waits_and_later_once_it_is_over(tmp_path: Path, watched: Any) -> None:
    waits: list[float] = []
    with campaign(tmp_path / "run", DATA, rounds=1) as going:
        watched(lambda watch: going, lambda: answer_open(going), lambda: None, waits=waits)
    assert waits[0] == 0  # what was done may have completed the round
    assert waits[1:] == [worker.AGAIN_SECONDS] * (len(waits) - 1)
    waits.clear()
    with campaign(tmp_path / "other", DATA) as going:
        watched(lambda watch: going, lambda: None, lambda: None, waits=waits)
    assert waits == [0, worker.LOOK_SECONDS, worker.LOOK_SECONDS]


def test_what_is_said_is_heard_at_once(tmp_path: Path) -> None:
    """The server waits for lines, not for a buffer that is full."""
    with (tmp_path / "out").open("w") as out:
        Voice(out).step(Step(2, "fit", "8 labels"))
        assert json.loads((tmp_path / "out").read_text()) == {
            "state": "working",
            "words": "training on 8 labels",
            "error": None,
        }


def test_a_worker_beats_from_its_start(tmp_path: Path, watched: Any) -> None:
    def beating() -> list[bool]:
        return [thread.daemon for thread in threading.enumerate() if thread.name == "beat"]

    before = beating()
    with campaign(tmp_path / "run", DATA) as going:
        watched(lambda watch: going)
    assert beating() == [*before, True]
