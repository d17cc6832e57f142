"""The study in a browser: who takes part opens the address, whoever runs it opens the one with the token.

People have no accounts. A random cookie says who somebody is, and a token made from it must come with everything that
changes something. An answer is acknowledged when it is on disk.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from shortlist.campaign.database import Unwritable
from shortlist.types import ShortlistError
from shortlist.web.guard import HEADERS, Guard
from shortlist.web.study.folder import open_study
from shortlist.web.study.pages import STATIC, page, results_page
from shortlist.web.study.results import results
from shortlist.web.study.store import OutOfTurn, Person, StudyStore

COOKIE = "shortlist_study"
WHO = re.compile(r"[A-Za-z0-9_-]{40,64}")
MONTH = 30 * 24 * 3600
DAY = 24 * 3600.0
LONGEST = 4096  # bytes of a body; an answer has about a hundred
router = APIRouter()


def study_app(folder: str | Path, hosts: Collection[str] | None = None) -> FastAPI:
    """The application for one study; it is made if `folder` has a study.toml and nothing more.

    `hosts` are the names it answers to; None: any. No page tells where somebody came from: the address of the results
    holds a token.
    """
    app = FastAPI(title="Shortlist study", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.store = open_study(Path(folder))
    app.state.name = Path(folder).resolve().name
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(ShortlistError, _impossible)
    app.add_middleware(Guard, hosts=hosts, longest=LONGEST, headers={**HEADERS, "Referrer-Policy": "no-referrer"})
    return app


# --- who is there ----------------------------------------------------------------------------------------------


def store_of(request: Request) -> StudyStore:
    store: StudyStore = request.app.state.store
    return store


def cookie_of(request: Request) -> str | None:
    """Who somebody says they are, if it looks like anything we gave out."""
    found = request.cookies.get(COOKIE, "")
    return found if WHO.fullmatch(found) else None


def person_of(request: Request) -> Person | None:
    cookie = cookie_of(request)
    return store_of(request).person(cookie) if cookie else None


def csrf(store: StudyStore, cookie: str) -> str:
    """What a page of ours knows and a page of somebody else's does not."""
    return hmac.new(store.fact("secret").encode(), cookie.encode(), hashlib.sha256).hexdigest()


def signed(request: Request) -> str:
    """The cookie of a request that changes something, once its token has been checked."""
    cookie = cookie_of(request)
    given = request.headers.get("x-csrf-token", "")
    if cookie is None or not hmac.compare_digest(csrf(store_of(request), cookie).encode(), given.encode()):
        raise HTTPException(403, "the page is out of date, or cookies are switched off; reload it")
    return cookie


Store = Annotated[StudyStore, Depends(store_of)]
Somebody = Annotated[Person | None, Depends(person_of)]
Signed = Annotated[str, Depends(signed)]


# --- pages -----------------------------------------------------------------------------------------------------


@router.get("/")
def welcome(request: Request, store: Store, person: Somebody) -> Response:
    if person:
        return RedirectResponse("/thanks" if person.finished else "/question", 303)
    cookie = cookie_of(request) or secrets.token_urlsafe(32)
    config = store.config()
    reply = _html(page("welcome", csrf=csrf(store, cookie), items=config["items"], practice=config["practice"]))
    secure = request.url.scheme == "https"
    reply.set_cookie(COOKIE, cookie, max_age=MONTH, httponly=True, samesite="lax", secure=secure)
    return reply


@router.get("/question")
def question(request: Request, store: Store, person: Somebody) -> Response:
    if person is None or person.finished:
        return RedirectResponse("/thanks" if person else "/", 303)
    return _html(page("question", csrf=csrf(store, cookie_of(request) or ""), items=store.config()["items"]))


@router.get("/thanks")
def thanks(request: Request, store: Store, person: Somebody) -> Response:
    if person is None or not person.finished:
        return RedirectResponse("/question" if person else "/", 303)
    done = store.session(person)
    return _html(
        page(
            "thanks",
            csrf=csrf(store, cookie_of(request) or ""),
            total=f"{done.total:.1f}",
            each=f"{done.total / len(done.seconds):.2f}",
            correct=done.correct,
            items=len(done.seconds),
            options=person.options,
        )
    )


@router.get("/results")
def all_results(request: Request, store: Store, token: str = "") -> Response:
    if not hmac.compare_digest(store.fact("token").encode(), token.encode()):
        raise HTTPException(404, "There is no such page.")
    return _html(results_page(results(store), request.app.state.name))


@router.get("/favicon.ico")
def icon() -> Response:
    return Response(status_code=204)


def _html(text: str) -> HTMLResponse:
    return HTMLResponse(text, headers={"Cache-Control": "no-store"})


# --- what the pages ask for ------------------------------------------------------------------------------------


class Start(BaseModel):
    model_config = ConfigDict(extra="forbid")
    consent: Literal[True]
    name: str | None = Field(None, max_length=80)


class Given(BaseModel):
    """An answer: which class, and how long it took."""

    model_config = ConfigDict(extra="forbid", strict=True)
    item: int = Field(ge=0, lt=2**31)
    chosen: int = Field(ge=0, lt=2**31)
    active_seconds: float = Field(ge=0, le=DAY, allow_inf_nan=False)
    wall_seconds: float = Field(ge=0, le=365 * DAY, allow_inf_nan=False)


@router.post("/api/start")
def start(body: Start, store: Store, cookie: Signed) -> dict[str, Any]:
    person = store.start(cookie, clean(body.name))
    return {"left": len(person.items) - person.answered}


@router.get("/api/questions")
def questions(store: Store, person: Somebody) -> dict[str, Any]:
    """Everything that is left, in order: the page needs to ask only once."""
    if person is None:
        raise HTTPException(403, "you have not started yet; open the first page")
    names, left = store.class_names(), store.questions(person)
    totals = {True: len(person.items) - store.config()["items"], False: store.config()["items"]}
    numbers = {kind: totals[kind] - sum(q.practice == kind for q in left) for kind in totals}
    found = []
    for asked in left:
        numbers[asked.practice] += 1
        found.append(
            {
                "item": asked.item,
                "src": f"/api/items/{asked.item}",
                "practice": asked.practice,
                "number": numbers[asked.practice],
                "of": totals[asked.practice],
                "options": [{"class": c, "name": names[c]} for c in asked.classes],
            }
        )
    return {"questions": found}


@router.get("/api/items/{item}")
def picture(item: int, store: Store, person: Somebody) -> Response:
    found = store.picture(item) if person and item in person.items else None
    if found is None:
        raise HTTPException(404, "there is no such item")
    return Response(found, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})


@router.post("/api/answers")
def answer(body: Given, store: Store, cookie: Signed) -> dict[str, Any]:
    person = store.answer(cookie, body.item, body.chosen, body.active_seconds, body.wall_seconds)
    return {"left": len(person.items) - person.answered}


@router.post("/api/leave")
def leave(cookie: Signed) -> Response:
    """Forget who sits here: the next person starts anew."""
    reply = JSONResponse({})
    reply.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return reply


def clean(name: str | None) -> str | None:
    """A name as it may stand in a table: no control characters, nothing that a spreadsheet takes for a formula.

    >>> clean(" =Ana\\n"), clean("  "), clean(None)
    ('Ana', None, None)
    """
    printable = "".join(c for c in name or "" if c.isprintable())
    return printable.strip().lstrip("=+-@ ") or None


# --- refusals --------------------------------------------------------------------------------------------------


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": str(error.detail)}, error.status_code)
    words = "There is no such page." if error.status_code == 404 else str(error.detail)
    return HTMLResponse(page("message", title="Not here", words=words), error.status_code)


def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return JSONResponse({"error": f"{where}: {first['msg']}"}, 422)


def _impossible(request: Request, error: Exception) -> Response:
    status = 409 if isinstance(error, OutOfTurn) else 503 if isinstance(error, Unwritable) else 422
    return JSONResponse({"error": str(error)}, status)
