"""The pages. Each is a template with the person's name and token; what it shows it asks the API for."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zlib import crc32

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader

from shortlist.campaign.formats import FORMATS
from shortlist.web.api.accounts import start_session
from shortlist.web.security import SignedIn, is_owner, people_of, person_if_any, signed_in

router = APIRouter(include_in_schema=False)
templates = Environment(loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True)
templates.globals["formats"] = FORMATS.values()


def page(request: Request, name: str, person: Any = None, *, status: int = 200, **values: Any) -> HTMLResponse:
    folder: Path = request.app.state.campaign.folder.path
    values |= {"person": person, "csrf": getattr(request.state, "csrf", "")}
    values |= {"campaign": folder.name, "campaign_id": crc32(str(folder).encode())}
    return HTMLResponse(templates.get_template(f"{name}.html").render(values), status)


def wants_page(request: Request) -> bool:
    return request.method == "GET" and not request.url.path.startswith("/api/")


def _add(path: str, template: str, may_see: Any) -> None:
    def show(request: Request, person: Any = may_see) -> Response:
        return page(request, template, person)

    router.add_api_route(path, show)


_add("/", "label", Depends(signed_in))
_add("/sign-in", "sign_in", Depends(person_if_any))
for name in ("dashboard", "people", "decide", "files"):
    _add(f"/{name}", name, Depends(is_owner))
for name in ("account", "api"):
    _add(f"/{name}", name, Depends(signed_in))


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
    return page(request, "join", token=token, invitation=people_of(request).invitation(token))


@router.get("/api/openapi.json")
def openapi(request: Request, person: SignedIn) -> Response:
    return JSONResponse(request.app.openapi())
