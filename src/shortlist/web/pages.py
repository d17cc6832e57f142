"""The pages. Each is a template with the person's name and token; what it shows it asks the API for."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader

from shortlist.web.accounts import start_session
from shortlist.web.guard import Anybody, Owner, SignedIn, people_of

router = APIRouter(include_in_schema=False)
templates = Environment(loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True)


def page(request: Request, name: str, person: Any = None, **values: Any) -> HTMLResponse:
    folder: Path = request.app.state.campaign.folder.path
    values |= {"person": person, "csrf": getattr(request.state, "csrf", "")}
    values |= {"campaign": folder.name, "campaign_id": crc32(str(folder).encode())}
    return HTMLResponse(templates.get_template(f"{name}.html").render(values))


def wants_page(request: Request) -> bool:
    return request.method == "GET" and not request.url.path.startswith("/api/")


def refused(request: Request, words: str) -> Response:
    """For who is signed in and may not see a page."""
    told = page(request, "refused", getattr(request.state, "person", None), words=words)
    told.status_code = 403
    return told


def to_sign_in() -> Response:
    return RedirectResponse("/sign-in", 303)


@router.get("/")
def label(request: Request, person: SignedIn) -> Response:
    return page(request, "label", person)


@router.get("/sign-in")
def sign_in(request: Request, person: Anybody) -> Response:
    return page(request, "sign_in", person)


@router.get("/start/{token}")
def start(request: Request, token: str) -> Response:
    """The link that is printed on the machine the server runs on."""
    session = people_of(request).take_start_link(token)
    response = RedirectResponse("/" if session else "/sign-in", 303)
    if session:
        start_session(request, response, session)
    return response


@router.get("/join/{token}")
def join(request: Request, token: str) -> Response:
    invitation = people_of(request).invitation(token)
    return page(request, "join", token=token, invitation=invitation)


@router.get("/dashboard")
def dashboard(request: Request, person: Owner) -> Response:
    return page(request, "dashboard", person)


@router.get("/people")
def people(request: Request, person: Owner) -> Response:
    return page(request, "people", person)


@router.get("/decide")
def decide(request: Request, person: Owner) -> Response:
    return page(request, "decide", person)


@router.get("/files")
def files(request: Request, person: Owner) -> Response:
    return page(request, "files", person)


@router.get("/account")
def account(request: Request, person: SignedIn) -> Response:
    return page(request, "account", person)


@router.get("/api")
def api_page(request: Request, person: SignedIn) -> Response:
    return page(request, "api", person)


@router.get("/api/openapi.json")
def openapi(request: Request, person: SignedIn) -> Response:
    return JSONResponse(request.app.openapi())
