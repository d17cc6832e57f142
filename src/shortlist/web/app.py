"""The labelling app: the API, the pages, and what stands around them."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from shortlist import __version__
from shortlist.campaign.database import Unwritable
from shortlist.campaign.engine import Campaign
from shortlist.types import ShortlistError
from shortlist.web import accounts, api, files, owning, pages
from shortlist.web.bodies import Problem
from shortlist.web.desk import Closed
from shortlist.web.guard import HEADERS, Doorkeeper, Guard
from shortlist.web.items import Items, Unreadable
from shortlist.web.live import Live
from shortlist.web.people.people import People, Refused
from shortlist.web.supervisor import Supervisor

STATIC = Path(__file__).with_name("static")


def label_app(
    campaign: Campaign,
    people: People,
    *,
    worker: Sequence[str] | None = None,  # the command that trains; None: somebody else does
    hosts: Collection[str] | None = None,  # names this server answers to; None: any
    control: float = 0.0,  # share of control questions
    lease: float | None = None,
) -> FastAPI:
    """The app of one campaign. Questions come from its folder, answers go there, `worker` does the rest."""

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        live = Live(campaign, people, control=control, lease=lease)
        app.state.live = live
        await live.start()
        tasks = [asyncio.create_task(live.keep_leases()), asyncio.create_task(live.notice())]
        if worker:
            tasks.append(asyncio.create_task(Supervisor(live, worker).run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            live.close()

    app = FastAPI(
        title="Shortlist",
        version=__version__,
        description="Everything the labelling pages do. Programs send `Authorization: Bearer TOKEN`.",
        lifespan=life,
        docs_url=None,  # its page would load scripts from elsewhere; ours is at /api
        redoc_url=None,
        openapi_url=None,
        responses=REFUSALS,
    )
    app.state.people, app.state.items, app.state.campaign = people, Items(campaign.learner.dataset), campaign
    app.state.doorkeeper, app.state.kept = Doorkeeper(people), {}
    for router in (api.router, accounts.router, owning.router, files.router, pages.router):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.add_middleware(Guard, hosts=hosts, files={"/api/import"})
    return app


# --- what went wrong, in a sentence ----------------------------------------------------------------------------


def _told(status: int, words: str, **headers: str) -> Response:
    return JSONResponse({"error": words}, status, headers)


async def _closed(_: Request, error: Any) -> Response:
    return _told(409, str(error))


async def _unreadable(_: Request, error: Any) -> Response:
    return _told(404, str(error))


async def _refused(_: Request, error: Refused) -> Response:
    wait = math.ceil(error.retry_after)
    return _told(429, str(error), **{"Retry-After": str(wait)}) if error.retry_after else _told(401, str(error))


async def _unwritable(_: Request, error: Any) -> Response:
    """Nobody's mistake: pages keep what they have and send it again."""
    return _told(503, str(error), **{"Retry-After": "1"})


async def _mistake(_: Request, error: Any) -> Response:
    return _told(400, str(error))


async def _malformed(_: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return _told(422, f"{where}: {first['msg']}" if where else first["msg"])


async def _http(request: Request, error: Any) -> Response:
    if error.status_code == 401 and pages.wants_page(request):
        return pages.to_sign_in()
    if error.status_code == 403 and pages.wants_page(request) and "text/html" in request.headers.get("accept", ""):
        return pages.refused(request, str(error.detail))
    return _told(error.status_code, str(error.detail), **(error.headers or {}))


async def _gone(_: Request, __: Any) -> Response:
    """Whoever sent it hung up before its end: no mistake of ours, and nobody hears this."""
    return _told(400, "the body has no end")


async def _broken(_: Request, __: Any) -> Response:
    """What nobody has thought of, without a word of it: the log has it all. The guard is not on this way out."""
    return _told(500, "the server has made a mistake; its log says which", **HEADERS)


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": words, "model": Problem}
    for status, words in {
        400: "cannot be done, or cannot be read",
        401: "nobody is signed in",
        403: "not for this person, or not from a page of this campaign",
        404: "there is no such thing",
        409: "the question is closed or with somebody else",
        413: "too large",
        422: "not what is described here",
        429: "too many wrong tries; Retry-After says how many seconds to wait",
        503: "cannot be written down just now; send it again",
    }.items()
}
HANDLERS: dict[Any, Any] = {
    Closed: _closed,
    Unreadable: _unreadable,
    Refused: _refused,
    Unwritable: _unwritable,
    ShortlistError: _mistake,
    RequestValidationError: _malformed,
    HTTPException: _http,
    ClientDisconnect: _gone,
    Exception: _broken,
}
