"""Numbers that take long are worked out now and then, however many look at them."""

from __future__ import annotations

from typing import Any

from shortlist.web.api.labelling import Cached


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
