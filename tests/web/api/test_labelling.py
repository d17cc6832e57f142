"""What the API takes for an answer; and numbers that take long are worked out now and then, however many look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist.web.api.labelling import Cached
from tests.web.serving import served


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_took_long_is_kept_for_long() -> None:
    clock, worked = Clock(), []
    cached = Cached(share=0.1, clock=clock)

    def work() -> dict[str, Any]:
        worked.append(clock.now)
        clock.now += 2
        return {"n": len(worked)}

    assert cached.get(work) == {"n": 1}
    clock.now += 19
    assert cached.get(work) == {"n": 1}
    clock.now += 1
    assert cached.get(work) == {"n": 2}
    assert worked == [100.0, 122.0]


def test_what_takes_no_time_is_always_new() -> None:
    cached, made = Cached(clock=Clock()), iter(range(3))
    assert [cached.get(lambda: {"n": next(made)})["n"] for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("path", [[True], ["1"], [1.5]])
def test_only_a_whole_number_is_a_class(tmp_path: Path, path: list[Any]) -> None:
    with served(tmp_path / "run") as app:
        ana = app.sign_in("ana")
        (question,) = ana.questions(1)
        body = {"question": question["id"], "kind": "label", "path": path}
        assert ana.ask("POST", "/api/answers", json=body).status_code == 422
        assert ana.ask("POST", "/api/answers", json={**body, "path": [1], "question": True}).status_code == 422
        assert ana.get("/api/answers")["answers"] == []


def test_a_replay_with_another_note_or_other_seconds_says_so(tmp_path: Path) -> None:
    """The same once more is acknowledged again; what differs is not taken for it."""
    with served(tmp_path / "run") as app:
        ana = app.sign_in("ana")
        (question,) = ana.questions(1)
        body = {"question": question["id"], "kind": "label", "path": [1], "stage_seconds": [1.5], "note": "blurred"}
        first = ana.post("/api/answers", **body)["answer"]
        assert ana.post("/api/answers", **body)["answer"] == first
        for change in ({"note": "it moves"}, {"note": None}, {"stage_seconds": [2.5]}):
            got = ana.ask("POST", "/api/answers", json={**body, **change})
            assert (got.status_code, f"send it with supersedes {first}" in got.json()["error"]) == (409, True)
        corrected = ana.post("/api/answers", **{**body, "note": "it moves", "supersedes": first})["answer"]
        assert [answer["note"] for answer in ana.get("/api/answers")["answers"]] == ["it moves"]
        assert corrected > first


def test_what_is_malformed_is_named_where_it_has_a_name(tmp_path: Path) -> None:
    with served(tmp_path / "run") as app:
        ana = app.sign_in("ana")
        for body, words in (({"question": "x"}, "question: "), ({"question": 1, "kind": "odd"}, "kind: "), ([], "")):
            got = ana.ask("POST", "/api/answers", json=body)
            assert got.status_code == 422
            assert got.json()["error"].startswith(words)
            assert not got.json()["error"].startswith(":")
