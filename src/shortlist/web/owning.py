"""The API's part for owners: the campaign and its people in numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request

from shortlist.web.api import live_of
from shortlist.web.dashboard import dashboard, team
from shortlist.web.guard import Owner, people_of

router = APIRouter(prefix="/api")
SHARE = 0.1  # of a core that may go into numbers, however many look at them


@router.get("/dashboard", tags=["owner"])
def numbers(request: Request, owner: Owner) -> dict[str, Any]:
    """Cost, accuracy, lists and speed, round by round."""
    live = live_of(request)
    return _kept(request, "dashboard").get(lambda: dashboard(live.campaign, live.times))


@router.get("/people", tags=["owner"])
def everybody(request: Request, owner: Owner) -> dict[str, Any]:
    """Everybody's speed, agreement, and trust in the lists."""
    return _kept(request, "people").get(lambda: team(live_of(request).campaign, people_of(request)))


class Kept:
    """What takes long to work out is kept for a while: the longer, the longer it took."""

    def __init__(self, share: float = SHARE, clock: Callable[[], float] = time.monotonic) -> None:
        self.share, self.clock = share, clock
        self._lock = threading.Lock()
        self._value: dict[str, Any] = {}
        self._until = float("-inf")

    def get(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._lock:  # who comes meanwhile gets the same
            if (began := self.clock()) >= self._until:
                self._value = work()
                ended = self.clock()
                self._until = ended + (ended - began) / self.share
            return self._value


def _kept(request: Request, name: str) -> Kept:
    kept: dict[str, Kept] = request.app.state.kept
    return kept.setdefault(name, Kept())
