"""What may be sent to the API, checked before anything is done with it, and what is said when it will not do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from shortlist.types import AnswerKind
from shortlist.web.people.schema import Role

Seconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Number = Annotated[int, Field(ge=-(2**53), le=2**53)]
Question = Annotated[int, Field(ge=-(2**31), le=2**53, description="control questions have negative ones")]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Password = Annotated[str, Field(max_length=1000)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AnswerBody(Body):
    model_config = ConfigDict(
        json_schema_extra={"example": {"question": 17, "kind": "label", "path": [-1, 3], "stage_seconds": [1.4, 2.1]}}
    )
    question: Question
    kind: AnswerKind
    path: list[Number] = Field(default=[], max_length=64, description="one entry a stage: −1 for none, or the class")
    stage_seconds: list[Seconds] | None = Field(default=None, max_length=64)
    wall_seconds: Seconds | None = None
    note: str | None = Field(default=None, max_length=2000)
    supersedes: Number | None = None
    n: int = Field(default=0, ge=0, le=20, description="how many questions the page wants to have in all")
    holding: list[Question] = Field(default=[], max_length=40)


class ReleaseBody(Body):
    questions: list[Question] = Field(max_length=100)


class DecisionBody(Body):
    question: Question
    kind: Literal["label", "none", "unreadable"] = "label"
    label: Number | None = Field(default=None, description="the class, for kind label")
    note: str | None = Field(default=None, max_length=2000)


class SignInBody(Body):
    name: Name
    password: Password


class JoinBody(Body):
    token: str = Field(max_length=200)
    name: Name
    password: Password


class PasswordBody(Body):
    old: Password | None = None
    new: Password


class PersonBody(Body):
    role: Role | None = None
    active: bool | None = None


class InvitationBody(Body):
    role: Role = "annotator"
    hours: float = Field(default=72, gt=0, le=24 * 90)


class TokenBody(Body):
    label: str = Field(min_length=1, max_length=64)


class Problem(BaseModel):
    error: str = Field(description="a sentence")
