"""The API's part for owners: the campaign and its people in numbers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from shortlist.web.api import live_of
from shortlist.web.dashboard import dashboard, team
from shortlist.web.guard import Owner, people_of

router = APIRouter(prefix="/api")


@router.get("/dashboard", tags=["owner"])
def numbers(request: Request, owner: Owner) -> dict[str, Any]:
    """Cost, accuracy, lists and speed, round by round."""
    return dashboard(live_of(request).campaign)


@router.get("/people", tags=["owner"])
def everybody(request: Request, owner: Owner) -> dict[str, Any]:
    """Everybody's speed, agreement, and trust in the lists."""
    return team(live_of(request).campaign, people_of(request))
