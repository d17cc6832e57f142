"""The API's part about people: signing in and out, invitations, roles, tokens for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from anyio import from_thread
from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import Field

from shortlist.types import ShortlistError
from shortlist.web.api.labelling import Body, service_of
from shortlist.web.people.people import People
from shortlist.web.people.people_db import Role
from shortlist.web.security import COOKIE, Owner, SignedIn, people_of, same_origin, session_cache, token_of

router = APIRouter(prefix="/api")
YEAR = 365 * 24 * 3600  # seconds

Name = Annotated[str, Field(min_length=1, max_length=64)]
Password = Annotated[str, Field(max_length=1000)]


class SignInBody(Body):
    name: Name
    password: Password


class JoinBody(SignInBody):
    token: str = Field(max_length=200)


class PasswordBody(Body):
    old: Password | None = None
    new: Password


@router.get("/me", tags=["people"])
def me(person: SignedIn) -> dict[str, Any]:
    """Who is signed in."""
    return {"name": person.name, "role": person.role, "has_password": person.has_password}


@router.post("/sign-in", tags=["people"])
def sign_in(request: Request, response: Response, body: SignInBody) -> dict[str, Any]:
    """Start a session with a name and a password."""
    same_origin(request)
    start_session(request, response, _proved(request, body.name, body.password))
    return {}


def _proved(request: Request, name: str, password: str) -> str:
    """A new session's token, if the password is right."""
    people, address = people_of(request), request.client.host if request.client else ""
    return people.sign_in(name, password, address, request.cookies.get(_mark(people), ""))


@router.post("/sign-out", tags=["people"])
def sign_out(request: Request, response: Response, person: SignedIn) -> dict[str, Any]:
    """End this session."""
    people_of(request).sign_out(token_of(request))
    session_cache(request).forget()
    for name in {people_of(request).cookie, COOKIE} & request.cookies.keys():
        response.delete_cookie(name)
    return {}


@router.post("/join", tags=["people"])
def join(request: Request, response: Response, body: JoinBody) -> dict[str, Any]:
    """Make an account from an invitation."""
    same_origin(request)
    if body.name.strip() in (".", ".."):  # browsers drop them from addresses: such a person could not be deactivated
        raise ShortlistError(f"name: {body.name.strip()!r} will not do; take one with a letter in it")
    start_session(request, response, people_of(request).accept(body.token, body.name, body.password))
    return {}


@router.post("/me/password", tags=["people"])
def set_password(request: Request, response: Response, person: SignedIn, body: PasswordBody) -> dict[str, Any]:
    """Choose a password; all other sessions end."""
    people = people_of(request)
    if person.has_password:  # raises where the old one is wrong, and slows down guesses
        people.sign_out(_proved(request, person.name, body.old or ""))
    people.set_password(person.name, body.new)
    session_cache(request).forget()
    if token_of(request):
        start_session(request, response, people.new_session(person.name))
    return {}


def start_session(request: Request, response: Response, token: str) -> None:
    """Until the browser is closed; the browser is known again for a year."""
    people = people_of(request)
    if session := people.session(token):
        set_cookie(request, response, _mark(people), people.mark(session.person.name), seconds=YEAR)
    set_cookie(request, response, people.cookie, token)


def set_cookie(request: Request, response: Response, name: str, value: str, *, seconds: int | None = None) -> None:
    """A cookie that scripts cannot read; what other sites send with it lacks the token that changes need.

    It lasts for so many seconds, or until the browser is closed.
    """
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=secure, path="/")


def _mark(people: People) -> str:
    """The cookie of a browser that a person has signed in from."""
    return f"{people.cookie}_known"


# --- for owners ------------------------------------------------------------------------------------------------


class PersonBody(Body):
    role: Role | None = None
    active: bool | None = None


class InvitationBody(Body):
    role: Role = "annotator"
    hours: float = Field(default=72, gt=0, le=24 * 90)


@router.post("/people/{name:path}", tags=["owner"])  # names may have slashes
def change_person(request: Request, owner: Owner, name: str, body: PersonBody) -> dict[str, Any]:
    """Another role, or no way in any more; the person's sessions end."""
    people = people_of(request)
    person = people.person(name)
    if person is None:
        raise HTTPException(404, f"there is no person called {name}")
    if body.role is not None:
        people.set_role(name, body.role)
    if body.active is not None:
        people.set_active(name, body.active)
        from_thread.run_sync(service_of(request).leases.leave, name)  # leases belong to the loop
    session_cache(request).forget()
    request.app.state.cached.pop("people", None)
    return asdict(people.person(name) or person)


@router.get("/invitations", tags=["owner"])
def invitations(request: Request, owner: Owner) -> dict[str, Any]:
    """Invitations that were made, and what became of them."""
    return {"invitations": [one._asdict() for one in people_of(request).invitations()]}


@router.post("/invitations", tags=["owner"])
def invite(request: Request, owner: Owner, body: InvitationBody) -> dict[str, Any]:
    """A link with which one person can make an account. It is shown only now."""
    token = people_of(request).invite(body.role, owner.name, body.hours)
    return {"link": f"{request.base_url}join/{token}"}


@router.delete("/invitations/{id}", tags=["owner"])
def revoke(request: Request, owner: Owner, id: int) -> dict[str, Any]:
    """Take an invitation back."""
    if not 0 <= id < 2**53:
        raise HTTPException(404, "there is no such invitation")
    people_of(request).revoke_invitation(id)
    return {}


# --- tokens for programs ---------------------------------------------------------------------------------------


class TokenBody(Body):
    label: str = Field(min_length=1, max_length=64)


@router.get("/tokens", tags=["people"])
def tokens(request: Request, person: SignedIn) -> dict[str, Any]:
    """This person's tokens for programs."""
    return {"tokens": [one._asdict() for one in people_of(request).tokens(person.name)]}


@router.post("/tokens", tags=["people"])
def make_token(request: Request, person: SignedIn, body: TokenBody) -> dict[str, Any]:
    """A token with which a program does what this person may do. It is shown only now."""
    return {"token": people_of(request).make_token(person.name, body.label)}


@router.delete("/tokens/{id}", tags=["people"])
def revoke_token(request: Request, person: SignedIn, id: int) -> dict[str, Any]:
    """End a token."""
    if not 0 <= id < 2**53:
        raise HTTPException(404, "there is no such token")
    people_of(request).revoke_token(id, person.name)
    return {}
