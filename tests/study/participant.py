"""Somebody who takes part in a study over HTTP, as fast and as well as a test wants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2

Choice = Callable[[dict[str, Any]], tuple[int, float]]  # a question -> the class chosen, and after how many seconds


def first(question: dict[str, Any]) -> tuple[int, float]:
    return question["options"][0]["class"], 1.0


class Participant:
    def __init__(self, client: httpx2.Client, choose: Choice = first) -> None:
        self.client = client
        self.choose = choose
        self.acknowledged: list[tuple[int, int]] = []  # item, class

    @property
    def headers(self) -> dict[str, str]:
        """With the token that the page in front of them holds."""
        shown = self.client.get("/", follow_redirects=True).text
        found = re.search(r'<meta name="csrf" content="([0-9a-f]+)">', shown)
        assert found
        return {"X-CSRF-Token": found[1]}

    def start(self, name: str | None = None) -> None:
        reply = self.client.post("/api/start", json={"consent": True, "name": name}, headers=self.headers)
        assert reply.status_code == 200, reply.text

    def questions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.get("/api/questions").json()["questions"]
        return found

    def post(self, question: dict[str, Any], headers: dict[str, str] | None = None) -> httpx2.Response:
        chosen, seconds = self.choose(question)
        body = {"item": question["item"], "chosen": chosen, "active_seconds": seconds, "wall_seconds": seconds + 0.5}
        return self.client.post("/api/answers", json=body, headers=headers or self.headers)

    def answer(self, n: int | None = None) -> None:
        """The next n questions, or all that are left."""
        headers = self.headers
        for question in self.questions()[:n]:
            reply = self.post(question, headers)
            assert reply.status_code == 200, reply.text
            self.acknowledged.append((question["item"], self.choose(question)[0]))

    def take_part(self, name: str | None = None) -> None:
        self.start(name)
        self.answer()
