"""The study in a browser: participants open the address, the person who runs it opens the one with the token.

Participants have no accounts. A random cookie says who a person is, and a token made from it must come with everything
that changes something. An answer is acknowledged when it is on disk.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.staticfiles import StaticFiles
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from shortlist.study import results as reading
from shortlist.study.store import OutOfTurn, Person, StudyStore, open_study
from shortlist.types import ShortlistError
from shortlist.web import app as web
from shortlist.web.api.accounts import set_cookie
from shortlist.web.api.labelling import Body
from shortlist.web.pages import templates
from shortlist.web.people.people import csrf_of
from shortlist.web.security import HEADERS, Guard, check_csrf, same_origin

COOKIE = "shortlist_study"
WHO = re.compile(r"[A-Za-z0-9_-]{40,64}")
MONTH = 30 * 24 * 3600
DAY = 24 * 3600.0
LONGEST = 4096  # bytes of a body; an answer has about a hundred
STYLES = ("shared/base.css", "shared/charts.css", "study/study.css")
FIGURE = ("shared/elements.js", "shared/charts.js", "study/figure.js")  # each after what it uses
router = APIRouter()


def study_app(folder: str | Path, hosts: Collection[str] | None = None) -> FastAPI:
    """The application for one study; it is made if `folder` has a study.toml and nothing more.

    `hosts` are the names it answers to; None: any. Pages send no referrer: the address of the results holds a token.
    """
    handlers = {**web.HANDLERS, **HANDLERS}
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, exception_handlers=handlers)
    app.state.store = open_study(Path(folder))
    app.state.name = Path(folder).resolve().name
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=web.STATIC))
    app.add_middleware(Guard, hosts=hosts, longest=LONGEST, headers={**HEADERS, "Referrer-Policy": "no-referrer"})
    return app


# --- who is asking ---------------------------------------------------------------------------------------------


def store_of(request: Request) -> StudyStore:
    return cast(StudyStore, request.app.state.store)


def cookie_of(request: Request) -> str | None:
    """The request's cookie, if it looks like one of ours."""
    cookie = request.cookies.get(COOKIE, "")
    return cookie if WHO.fullmatch(cookie) else None


def person_of(request: Request) -> Person | None:
    cookie = cookie_of(request)
    return store_of(request).person(cookie) if cookie else None


def signed(request: Request) -> str:
    """The cookie of a request that changes something, once its token has been checked."""
    cookie = cookie_of(request)
    if cookie is None:
        raise HTTPException(403, "there is no cookie; allow them and load the first page again")
    check_csrf(request, csrf_of(cookie))
    same_origin(request)
    return cookie


Store = Annotated[StudyStore, Depends(store_of)]
Participant = Annotated[Person | None, Depends(person_of)]
Signed = Annotated[str, Depends(signed)]


# --- pages -----------------------------------------------------------------------------------------------------


def page(name: str, **values: Any) -> str:
    return templates.get_template(f"study_{name}.html").render(values)


def _page(name: str, cookie: str | None = None, **values: Any) -> HTMLResponse:
    return HTMLResponse(page(name, csrf=csrf_of(cookie or ""), **values))


@router.get("/")
def welcome(request: Request, store: Store, person: Participant) -> Response:
    if person:
        return RedirectResponse("/thanks" if person.finished else "/question", 303)
    cookie = cookie_of(request) or secrets.token_urlsafe(32)
    config = store.config()
    reply = _page("welcome", cookie, items=config["items"], practice=config["practice"])
    set_cookie(request, reply, COOKIE, cookie, seconds=MONTH)
    return reply


@router.get("/question")
def question(request: Request, store: Store, person: Participant) -> Response:
    if person is None or person.finished:
        return RedirectResponse("/thanks" if person else "/", 303)
    session = f"{person.id} {person.started}"  # tells apart people, and studies served from one address
    return _page("question", cookie_of(request), items=store.config()["items"], session=session)


@router.get("/thanks")
def thanks(request: Request, store: Store, person: Participant) -> Response:
    if person is None or not person.finished:
        return RedirectResponse("/question" if person else "/", 303)
    return _page("thanks", cookie_of(request), mine=store.session(person))


@router.get("/results")
def results(request: Request, store: Store, token: str = "") -> Response:
    """For the person who runs the study: the address with the token is printed where it was started."""
    if not hmac.compare_digest(store.fact("token").encode(), token.encode()):
        raise HTTPException(404, "There is no such page.")
    return _page("results", study=request.app.state.name, results=reading.results_of(store), reading=reading)


def standalone(results: reading.Results, name: str) -> str:
    """The page of results as a file that needs nothing beside it."""
    style = "".join(_static(path) for path in STYLES)
    modules = [re.sub(r"^import .*;\n|^export ", "", _static(path), flags=re.MULTILINE) for path in FIGURE]
    script = "".join([*modules, "drawFigure();\n"])
    policy = f"default-src 'none'; style-src '{_seal(style)}'; script-src '{_seal(script)}'"
    shown = {"study": name, "results": results, "reading": reading}
    return page("results", **shown, style=style, script=script, policy=policy)


def _static(path: str) -> str:
    return (web.STATIC / path).read_text(encoding="utf-8")


def _seal(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# --- what the pages ask for ------------------------------------------------------------------------------------


class Start(Body):
    consent: Literal[True]
    name: str | None = Field(None, max_length=80)


class AnswerBody(Body, strict=True):
    """Which class was chosen, and how long it took."""

    item: int = Field(ge=0, lt=2**31)
    chosen: int = Field(ge=0, lt=2**31)
    active_seconds: float = Field(ge=0, le=DAY, allow_inf_nan=False)
    wall_seconds: float = Field(ge=0, le=365 * DAY, allow_inf_nan=False)


@router.post("/api/start")
def start(body: Start, store: Store, cookie: Signed) -> dict[str, Any]:
    person = store.start(cookie, clean(body.name))
    return {"left": len(person.items) - person.answered}


@router.get("/api/questions")
def questions(store: Store, person: Participant) -> dict[str, Any]:
    """Everything that is left, in order: the page needs to ask only once."""
    if person is None:
        raise HTTPException(403, "you have not started yet; open the first page")
    names, items = store.class_names(), store.config()["items"]
    practice = len(person.items) - items  # they come first
    shown = [
        {
            "item": question.item,
            "src": f"/api/items/{question.item}",
            "practice": question.practice,
            "number": place if question.practice else place - practice,
            "of": practice if question.practice else items,
            "options": [{"class": c, "name": names[c]} for c in question.classes],
        }
        for place, question in enumerate(store.questions(person), start=person.answered + 1)
    ]
    return {"questions": shown}


@router.get("/api/items/{item}")
def picture(item: int, store: Store, person: Participant) -> Response:
    image = store.picture(item) if person and item in person.items else None
    if image is None:
        raise HTTPException(404, "there is no such item")
    return Response(image, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})


@router.post("/api/answers")
def answer(body: AnswerBody, store: Store, cookie: Signed) -> dict[str, Any]:
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


async def _refused(request: Request, error: Any) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": str(error.detail)}, error.status_code)
    words = "There is no such page." if error.status_code == 404 else str(error.detail)
    return HTMLResponse(page("message", title="Not here", words=words), error.status_code)


HANDLERS: dict[Any, Any] = {
    HTTPException: _refused,
    OutOfTurn: web.answered_with(409),
    ShortlistError: web.answered_with(422),
}
