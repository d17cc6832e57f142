"""The API's part about the campaign: questions and answers, decisions, and the campaign in numbers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shortlist.types import Answer, AnswerKind, Dataset
from shortlist.web import items
from shortlist.web.security import Owner, SignedIn, people_of
from shortlist.web.service.dashboard import dashboard, disputes, set_aside, team
from shortlist.web.service.guide import Guide
from shortlist.web.service.labelling import LabellingService

router = APIRouter(prefix="/api")
PICTURE_SECONDS = 3600  # how long a browser may keep a picture
GUIDED = 30  # classes whose examples are looked up at once
SHARE = 0.1  # of a core that may go into numbers, however many look at them


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("this is no number")  # true and "1" are not class 1
    return value


Seconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False), BeforeValidator(_number)]
Number = Annotated[int, Field(ge=-(2**53), le=2**53), BeforeValidator(_number)]
QuestionId = Annotated[
    int, Field(ge=-(2**31), le=2**53, description="control questions have negative ones"), BeforeValidator(_number)
]


def service_of(request: Request) -> LabellingService:
    return cast(LabellingService, request.app.state.service)


def dataset_of(request: Request) -> Dataset:
    return service_of(request).campaign.settings.dataset


def guide_of(request: Request) -> Guide:
    return cast(Guide, request.app.state.guide)


class Body(BaseModel):
    """What may be sent to the API, checked before anything is done with it."""

    model_config = ConfigDict(extra="forbid")


# --- labelling -------------------------------------------------------------------------------------------------


class AnswerBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"example": {"question": 17, "kind": "label", "path": [-1, 3], "stage_seconds": [1.4, 2.1]}}
    )
    question: QuestionId
    kind: AnswerKind
    path: list[Number] = Field(default=[], max_length=64, description="one entry a stage: −1 for none, or the class")
    stage_seconds: list[Seconds] | None = Field(default=None, max_length=64)
    wall_seconds: Seconds | None = None
    note: str | None = Field(default=None, max_length=2000)
    supersedes: Number | None = None
    n: int = Field(default=0, ge=0, le=20, description="how many questions the page wants to have in all")
    holding: list[QuestionId] = Field(default=[], max_length=40)

    def by(self, person: str) -> Answer:
        """What this person has answered; the rest of the body is about the page's next questions.

        >>> answer = AnswerBody(question=17, kind="label", path=[-1, 3], stage_seconds=[1.5, 2], note=" ").by("ana")
        >>> answer.person, answer.path, answer.active_seconds, answer.note
        ('ana', (-1, 3), 3.5, None)
        """
        seconds = None if self.stage_seconds is None else tuple(self.stage_seconds)
        return Answer(
            self.question,
            self.kind,
            tuple(self.path),
            person,
            active_seconds=None if seconds is None else sum(seconds),
            wall_seconds=self.wall_seconds,
            supersedes=self.supersedes,
            stage_seconds=seconds,
            note=(self.note or "").strip() or None,
        )


class ReleaseBody(Body):
    questions: list[QuestionId] = Field(max_length=100)


@router.get("/classes", tags=["labelling"])
async def classes(request: Request, person: SignedIn) -> dict[str, Any]:
    """The names of all classes; their places are their numbers. `about`: what each is, in a line, if that is known."""
    return guide_of(request).classes


@router.get("/guide", tags=["labelling"])
def guide(
    request: Request,
    person: SignedIn,
    classes: Annotated[str, Query(max_length=400, pattern=r"^([0-9]{1,9}(,[0-9]{1,9})*)?$")] = "",
) -> dict[str, Any]:
    """The guidelines, and of these classes (at most 30) descriptions and examples.

    Examples are those of the file or folder of classes; where it has none, items that people have labelled so.
    """
    return guide_of(request).page([int(cls) for cls in classes.split(",") if cls][:GUIDED])


@router.get("/classes/{cls}/examples/{n}", tags=["labelling"], response_class=Response)
def example(request: Request, person: SignedIn, cls: int, n: int) -> Response:
    """An example of a class that is an image."""
    data = guide_of(request).picture(cls, n)
    return Response(data, media_type="image/png", headers={"Cache-Control": f"private, max-age={PICTURE_SECONDS}"})


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
    return _with_item(request, await service_of(request).question(id, person.name))


@router.post("/answers", tags=["labelling"])
async def answer(request: Request, person: SignedIn, body: AnswerBody) -> dict[str, Any]:
    """Say what an item is. Once this returns, the answer is safe; the next questions come with it."""
    number = await service_of(request).answer(body.by(person.name))
    return {"answer": number, **await _answered(request, person.name, body.n, body.holding)}


async def _answered(request: Request, person: str, n: int, holding: list[int]) -> dict[str, Any]:
    service = service_of(request)
    views = [_with_item(request, view) for view in await service.questions(person, n, holding)]
    return {"questions": views, "progress": service.progress()}


def _with_item(request: Request, view: dict[str, Any]) -> dict[str, Any]:
    return {**view, "item": items.view(dataset_of(request), view["item"])}


@router.get("/answers", tags=["labelling"])
async def answers(
    request: Request, person: SignedIn, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> dict[str, Any]:
    """What this person has said, newest first."""
    return {"answers": await service_of(request).mine(person.name, limit)}


@router.post("/leases/release", tags=["labelling"])
async def release(request: Request, person: SignedIn, body: ReleaseBody) -> dict[str, Any]:
    """Give questions back that are not going to be answered."""
    service_of(request).release(person.name, body.questions)
    return {}


@router.get("/status", tags=["labelling"])
async def status(request: Request, person: SignedIn) -> dict[str, Any]:
    """How far the campaign is and what is happening."""
    return service_of(request).progress()


@router.get("/items/{item}", tags=["labelling"], response_class=Response)
async def item(request: Request, person: SignedIn, item: int) -> Response:
    """An item's picture."""
    data, kind = await cast(items.Pictures, request.app.state.pictures).of(item)
    return Response(data, media_type=kind, headers={"Cache-Control": f"private, max-age={PICTURE_SECONDS}"})


# --- reviewing -------------------------------------------------------------------------------------------------


class DecisionBody(Body):
    question: QuestionId
    kind: Literal["label", "none", "unreadable"] = "label"
    label: Number | None = Field(default=None, description="the class, for kind label")
    note: str | None = Field(default=None, max_length=2000)


@router.get("/disputes", tags=["owner"])
def disputed(request: Request, person: Owner) -> dict[str, Any]:
    """Items that people differ about, and what each of them said."""
    return {"disputes": [_with_item(request, case) for case in disputes(service_of(request).campaign)]}


@router.post("/decisions", tags=["owner"])
async def decide(request: Request, person: Owner, body: DecisionBody) -> dict[str, Any]:
    """Say what an item is, whatever others have said."""
    if body.question < 0:
        raise HTTPException(404, "there is no such question")
    label = body.label if body.kind == "label" else None
    number = await service_of(request).decide(person.name, body.question, body.kind, label, body.note)
    return {"answer": number}


@router.get("/set-aside", tags=["owner"])
def aside(request: Request, person: Owner) -> dict[str, Any]:
    """Items that belong to no class or cannot be read."""
    return {"items": [_with_item(request, case) for case in set_aside(service_of(request).campaign)]}


# --- numbers ---------------------------------------------------------------------------------------------------


@router.get("/dashboard", tags=["owner"])
def numbers(request: Request, owner: Owner) -> dict[str, Any]:
    """Cost, accuracy, lists and speed, round by round.

    Rates are shares from 0 to 1: `accuracy`, the ends of its 95 % `interval`, `macro_f1`, `coverage`, `alpha`, `saving`
    (below 0 where lists came dearer) and `relative_cost`. Costs are in `unit`, times in seconds. `floor` is in bits:
    the least that the answers could have cost with the model's probabilities, item by item; `times_floor` is the cost
    over it, null where costs are not in bits.
    """
    service = service_of(request)
    return cached(request, "dashboard").get(lambda: dashboard(service.campaign, service.times))


@router.get("/people", tags=["owner"])
def people_in_numbers(request: Request, owner: Owner) -> dict[str, Any]:
    """Each person's speed, agreement, and trust in the lists."""
    return cached(request, "people").get(lambda: team(service_of(request).campaign, people_of(request)))


class Cached:
    """Numbers that take long to work out are used again for a while: the longer they took, the longer."""

    def __init__(self, share: float = SHARE, clock: Callable[[], float] = time.monotonic) -> None:
        self.share, self.clock = share, clock
        self._lock = threading.Lock()
        self._value: dict[str, Any] = {}
        self._until = float("-inf")

    def get(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        with self._lock:  # requests that come meanwhile get the same
            if (began := self.clock()) >= self._until:
                self._value = work()
                ended = self.clock()
                self._until = ended + (ended - began) / self.share
            return self._value


def cached(request: Request, name: str) -> Cached:
    return cast(Cached, request.app.state.cached.setdefault(name, Cached()))
