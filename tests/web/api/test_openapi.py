"""The API keeps to its own description: Schemathesis sends what is described, and what is not, to every operation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import APIOperation, BaseSchema, GenerationMode, Response
from schemathesis import Case as AnyCase
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from shortlist.datasets.arrays import Arrays
from shortlist.datasets.classes import Classes
from shortlist.web.items import png
from tests.cases import torture
from tests.web.doors import routes
from tests.web.serving import served
from tests.web.wire import Wire, wired

Operation: TypeAlias = APIOperation[Any, Any, Any, Any]
Case: TypeAlias = AnyCase[Operation]

SEED = 20261117
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SETTINGS = settings(
    phases=[Phase.generate],  # a failure is kept as it is, and the others are sent too
    database=None,
    suppress_health_check=list(HealthCheck),
)
ITEMS, ASKED = 40, 20
PICTURES, LABELS = np.zeros((ITEMS, 8, 8), np.uint8), np.arange(ITEMS) % 5
HARD_TO_GUESS = {  # nobody gets through here without a secret
    "POST /api/sign-in",
    "POST /api/join",
    "POST /api/me/password",
    "POST /api/import",
}


def test_the_description_leaves_no_operation_out(tmp_path: Path) -> None:
    with served(tmp_path / "run") as app:
        described = app.sign_in("ana").get("/api/openapi.json")
        there = {route for route in routes(app) if route[1].startswith("/api/")}
    assert operations(described) == {" ".join(route) for route in there} - {"GET /api/openapi.json"}


def operations(description: dict[str, Any]) -> set[str]:
    return {f"{method.upper()} {path}" for path, of in description["paths"].items() for method in of}


@pytest.mark.parametrize("examples", [3, pytest.param(15, marks=torture)])
def test_every_operation_keeps_to_its_description(examples: int, tmp_path: Path) -> None:
    """No request makes the server fail, and every answer is one that the description foretells.

    There are so many examples of each kind for every operation; what is at the edge of its description comes besides.
    """
    (tmp_path / "shown.png").write_bytes(png(PICTURES[0]))
    examples_of = dict.fromkeys("abcde", 3 * ((tmp_path / "shown.png").resolve(),))
    pictures = Arrays(PICTURES, LABELS, classes=Classes(tuple("abcde"), examples=examples_of))
    with wired(tmp_path / "run", pictures, initial=ASKED) as wire, requests.Session() as session:
        wire.people.add("ben", "annotator", "a long password")
        told = Conversation(wire, session, examples)
        schema = schemathesis.openapi.from_dict(told.description(), config=schemathesis.Config(seed=SEED))
        for found in schema.get_all_operations():
            assert isinstance(found, Ok), found
            told.ask_everything(schema, found.ok())
        expected = operations(told.description())  # and it goes on
    assert not told.failures, "\n\n".join(told.failures[:5])
    assert told.statuses.keys() == expected
    for operation, seen in told.statuses.items():
        assert sum(seen.values()) > 2 * examples, operation
        assert seen[200] >= 1 or operation in HARD_TO_GUESS, (operation, seen)
        assert seen.total() > seen[401] + seen[403] + seen[405], operation


@dataclass
class Conversation:
    """What was asked and what came back, as an owner's program."""

    wire: Wire
    session: requests.Session
    examples: int
    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[str] = field(default_factory=list)
    token: str = ""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.wire.port}"

    def headers(self) -> dict[str, str]:
        """With a token that is good: one of the operations takes tokens back."""
        if self.wire.people.token(self.token) is None:
            self.token = self.wire.people.make_token("olga", "schema")
        return {"Authorization": f"Bearer {self.token}"}

    def description(self) -> dict[str, Any]:
        got: dict[str, Any] = self.session.get(f"{self.base}/api/openapi.json", headers=self.headers()).json()
        return got

    def ask_everything(self, schema: BaseSchema, operation: Operation) -> None:
        for case in edges(schema, operation):
            self.ask(case)
        for mode in GenerationMode:
            self.ask_at_random(operation, mode)
        self.ask_at_random(operation, GenerationMode.POSITIVE, aimed=True)

    def ask_at_random(self, operation: Operation, mode: GenerationMode, *, aimed: bool = False) -> None:
        @seed(SEED)
        @settings(SETTINGS, max_examples=self.examples)
        @given(case=operation.as_strategy(generation_mode=mode))
        def asked(case: Case) -> None:
            self.ask(aim(case) if aimed else case)

        asked()

    def ask(self, case: Case) -> None:
        got: Response = case.call(base_url=self.base, headers=self.headers(), session=self.session)
        self.statuses[case.operation.label][got.status_code] += 1
        try:
            case.validate_response(got, checks=CHECKS)
        except FailureGroup as problem:
            self.failures.append(str(problem))


def edges(schema: BaseSchema, operation: Operation) -> Iterator[Case]:
    """Each value at the least and the most it may be, one beyond, of another type, missing, unknown, and so on."""
    generation = schema.config.generation
    return schema.iter_coverage_cases(operation, generation_modes=list(GenerationMode), generation_config=generation)


def aim(case: Case) -> Case:
    """The same about something that there is: at random nobody would hit a question."""
    if isinstance(case.body, dict) and "question" in case.body:
        case.body = aimed_at_a_question(case.body)
    for name, value in case.path_parameters.items():
        case.path_parameters[name] = "ben" if name == "name" else 1 + len(str(value)) % 3
    return case


def aimed_at_a_question(body: dict[str, Any]) -> dict[str, Any]:
    label, path = body.get("label"), body.get("path")
    aimed = {**body, "question": 1 + body["question"] % ASKED, "supersedes": None}
    if "supersedes" not in body:
        del aimed["supersedes"]
    if label is not None:
        aimed |= {"kind": "label", "label": label % 5}
    if path:
        aimed |= {"kind": "label", "path": [path[0] % 5], "stage_seconds": [1.0]}
    return aimed
