"""The labelling app: the API, the pages, and what stands around them."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from shortlist import __version__
from shortlist.campaign.engine import Campaign
from shortlist.campaign.storage.database import Unwritable
from shortlist.types import ShortlistError
from shortlist.web import pages
from shortlist.web.api import accounts, files, labelling
from shortlist.web.items import Pictures, Unreadable
from shortlist.web.people.people import People, Refused
from shortlist.web.security import HEADERS, Forwarded, Guard, SessionCache
from shortlist.web.service.guide import Guide
from shortlist.web.service.labelling import LabellingService
from shortlist.web.service.leases import Closed
from shortlist.web.service.worker import Supervisor

STATIC = Path(__file__).with_name("static")


def label_app(
    campaign: Campaign,
    people: People,
    *,
    worker: Sequence[str] | None = None,  # the command that trains; None: another process does
    hosts: Collection[str] | None = None,  # names this server answers to; None: any
    names: Collection[str] = (),  # of a reverse proxy on this machine before it
    control: float = 0.0,  # share of control questions
    guidelines: Path | None = None,  # a file of text for those who label
) -> FastAPI:
    """The app of one campaign. Questions come from its folder, answers go there, `worker` does the rest."""

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        service = LabellingService(campaign, people, control)
        app.state.service = service
        await service.start()
        tasks = [asyncio.create_task(service.keep_leases()), asyncio.create_task(service.notice())]
        if worker:
            tasks.append(asyncio.create_task(Supervisor(service, worker).run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            service.close()

    app = FastAPI(
        title="Shortlist",
        version=__version__,
        description="Everything the labelling pages do. Programs send `Authorization: Bearer TOKEN`.",
        lifespan=life,
        docs_url=None,  # its page would load scripts from other sites; the one at /api does not
        redoc_url=None,
        openapi_url=None,
        exception_handlers=HANDLERS,
    )
    app.state.names = frozenset(names)
    app.state.guide = Guide(campaign.view, campaign.settings.dataset, guidelines)
    app.state.people, app.state.campaign = people, campaign
    app.state.pictures = Pictures(campaign.settings.dataset)
    app.state.session_cache, app.state.cached = SessionCache(people), {}
    app.router.routes.extend(ROUTER.routes)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(Guard, hosts=hosts, files={"/api/import"})
    app.add_middleware(Forwarded, names=app.state.names)
    return app


# --- what went wrong, in a sentence ----------------------------------------------------------------------------


class Problem(BaseModel):
    error: str = Field(description="a sentence")


def _error(status: int, words: str, **headers: str) -> Response:
    return JSONResponse({"error": words}, status, headers)


def answered_with(
    status: int, words: str | None = None, **headers: str
) -> Callable[[Request, Any], Awaitable[Response]]:
    """These words with this status; without any, the error's own sentence."""

    async def handler(_: Request, error: Any) -> Response:
        return _error(status, words or str(error), **headers)

    return handler


async def _refused(_: Request, error: Refused) -> Response:
    wait = math.ceil(error.retry_after)
    return _error(429, str(error), **{"Retry-After": str(wait)}) if error.retry_after else _error(401, str(error))


async def _malformed(_: Request, error: Any) -> Response:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return _error(422, f"{where}: {first['msg']}" if where else first["msg"])


async def _http(request: Request, error: Any) -> Response:
    if error.status_code == 401 and pages.wants_page(request):
        return RedirectResponse("/sign-in", 303)
    if error.status_code == 403 and pages.wants_page(request) and "text/html" in request.headers.get("accept", ""):
        person = getattr(request.state, "person", None)
        return pages.page(request, "refused", person, status=403, words=str(error.detail))
    return _error(error.status_code, str(error.detail), **(error.headers or {}))


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": words, "model": Problem}
    for status, words in {
        400: "cannot be done, or cannot be read",
        401: "not signed in",
        403: "not for this person, or not from a page of this campaign",
        404: "there is no such thing",
        409: "the question is closed, or with another person",
        413: "too large",
        422: "not what is described here",
        429: "too many wrong tries; Retry-After says how many seconds to wait",
        503: "cannot be written down just now; send it again",
    }.items()
}
HANDLERS: dict[Any, Any] = {
    Closed: answered_with(409),
    Unreadable: answered_with(404),
    Refused: _refused,
    Unwritable: answered_with(503, **{"Retry-After": "1"}),  # pages keep what they have and send it again
    ShortlistError: answered_with(400),
    RequestValidationError: _malformed,
    HTTPException: _http,
    ClientDisconnect: answered_with(400, "the body has no end"),  # the sender hung up; no client reads this
    # a bug: its details are in the log, and the guard does not add its headers here
    Exception: answered_with(500, "the server has made a mistake; its log says which", **HEADERS),
}


# --- what it answers to ----------------------------------------------------------------------------------------

# One for all apps: FastAPI works a route out when it is first asked for, 0.1 s for all of them
ROUTER = APIRouter(responses=REFUSALS)
for _router in (labelling.router, accounts.router, files.router, pages.router):
    ROUTER.include_router(_router)
