"""The JSON API: everything the pages do. Programs use the same routes with `Authorization: Bearer TOKEN`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response

from shortlist.web.bodies import AnswerBody, DecisionBody, ReleaseBody
from shortlist.web.guard import Owner, SignedIn
from shortlist.web.items import Items
from shortlist.web.live import Live, Said
from shortlist.web.review import disputes, set_aside

router = APIRouter(prefix="/api")
PICTURE_SECONDS = 3600  # how long a browser may keep a picture


def live_of(request: Request) -> Live:
    live: Live = request.app.state.live
    return live


def items_of(request: Request) -> Items:
    items: Items = request.app.state.items
    return items


# --- labelling -------------------------------------------------------------------------------------------------


@router.get("/classes", tags=["labelling"])
async def classes(request: Request, person: SignedIn) -> dict[str, Any]:
    """The names of all classes; their places are their numbers."""
    return {"names": list(live_of(request).campaign.learner.dataset.classes)}


@router.get("/questions", tags=["labelling"])
async def questions(
    request: Request,
    person: SignedIn,
    n: Annotated[int, Query(ge=0, le=20)] = 3,
    holding: Annotated[str, Query(max_length=800, pattern=r"^(-?[0-9]{1,15}(,-?[0-9]{1,15})*)?$")] = "",
) -> dict[str, Any]:
    """Questions to have ready, lent to this person: n in all with those that are held already."""
    held = [int(id) for id in holding.split(",") if id]
    return await _answered(request, person.name, n, held)


@router.get("/questions/{id}", tags=["labelling"])
async def question(request: Request, person: SignedIn, id: int) -> dict[str, Any]:
    """A question gone back to, with what this person said."""
    if abs(id) > 2**53:
        raise HTTPException(404, "there is no such question")
    return _with_item(request, await live_of(request).question(id, person.name))


@router.post("/answers", tags=["labelling"])
async def answer(request: Request, person: SignedIn, body: AnswerBody) -> dict[str, Any]:
    """Say what an item is. Once this returns, the answer is safe; the next questions come with it."""
    said = Said(
        question=body.question,
        kind=body.kind,
        path=tuple(body.path),
        stage_seconds=None if body.stage_seconds is None else tuple(body.stage_seconds),
        wall_seconds=body.wall_seconds,
        note=(body.note or "").strip() or None,
        supersedes=body.supersedes,
    )
    number = await live_of(request).answer(person.name, said)
    return {"answer": number, **await _answered(request, person.name, body.n, body.holding)}


async def _answered(request: Request, person: str, n: int, holding: list[int]) -> dict[str, Any]:
    live = live_of(request)
    views = [_with_item(request, view) for view in await live.questions(person, n, holding)]
    return {"questions": views, "progress": live.progress()}


def _with_item(request: Request, view: dict[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in view.items() if name != "key"}
    return {**shown, "item": items_of(request).view(view["item"])}


@router.get("/answers", tags=["labelling"])
async def answers(
    request: Request, person: SignedIn, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> dict[str, Any]:
    """What this person has said, newest first."""
    return {"answers": await live_of(request).mine(person.name, limit)}


@router.post("/leases/release", tags=["labelling"])
async def release(request: Request, person: SignedIn, body: ReleaseBody) -> dict[str, Any]:
    """Give questions back that are not going to be answered."""
    live_of(request).release(person.name, body.questions)
    return {}


@router.get("/status", tags=["labelling"])
async def status(request: Request, person: SignedIn) -> dict[str, Any]:
    """How far the campaign is and what is happening."""
    return live_of(request).progress()


@router.get("/items/{item}", tags=["labelling"], response_class=Response)
def item(request: Request, person: SignedIn, item: int) -> Response:
    """An item's picture."""
    data, kind = items_of(request).picture(item)
    keep = {"Cache-Control": f"private, max-age={PICTURE_SECONDS}"}
    return Response(data, media_type=kind, headers=keep)


# --- reviewing -------------------------------------------------------------------------------------------------


@router.get("/disputes", tags=["owner"])
def disputed(request: Request, person: Owner) -> dict[str, Any]:
    """Items that people differ about, and what each of them said."""
    found = disputes(live_of(request).campaign)
    return {"disputes": [{**one, "item": items_of(request).view(one["item"])} for one in found]}


@router.post("/decisions", tags=["owner"])
async def decide(request: Request, person: Owner, body: DecisionBody) -> dict[str, Any]:
    """Say what an item is, whatever others have said."""
    if body.question < 0:
        raise HTTPException(404, "there is no such question")
    label = body.label if body.kind == "label" else None
    number = await live_of(request).decide(person.name, body.question, body.kind, label, body.note)
    return {"answer": number}


@router.get("/set-aside", tags=["owner"])
def aside(request: Request, person: Owner) -> dict[str, Any]:
    """Items that belong to no class or cannot be read."""
    found = set_aside(live_of(request).campaign)
    return {"items": [{**one, "item": items_of(request).view(one["item"])} for one in found]}
