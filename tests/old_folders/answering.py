"""The people of tests/old_folders: what each of them says about each item, over HTTP.

Knows the APIs and nothing else, so that the same people answered the code that made the folders.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

Question: TypeAlias = dict[str, Any]

PEOPLE = ("ana", "ben", "cleo")  # olga, the owner, decides where they differ
OWNER = "olga"
NAMES = ("bread", "clouds", "dogs", "engines", "flutes", "gardens", "harbours", "ink")
NONE = -1


def truth(number: int) -> int:
    """The class of text t003 is `truth(3)`."""
    return (5 * number + 3) % len(NAMES)


def opinion(person: str, number: int) -> tuple[str, int]:
    """A kind of answer and, for a label, the class: they differ about every tenth text and some more."""
    if number % 29 == 11:
        return "none", NONE
    if number % 31 == 13:
        return "unreadable", NONE
    if person == "cleo" and number % 17 == 5:
        return "skip", NONE
    wrong = {"ana": 0, "ben": int(number % 10 == 0 or number % 15 == 6), "cleo": 2 * int(number % 10 == 0)}
    return "label", (truth(number) + wrong[person]) % len(NAMES)


def number_of(question: Question) -> int:
    return int(question["item"]["key"].removeprefix("t"))


def answer_to(question: Question, kind: str, label: int) -> dict[str, Any]:
    """The body of a POST to /api/answers."""
    number, cuts = number_of(question), question["cuts"]
    rank = question["classes"].index(label) if label in question["classes"] else len(NAMES)
    misses = {"label": sum(rank >= cut for cut in cuts), "none": len(cuts) + 1}.get(kind, 0)
    path = [NONE] * misses + [label] * (kind == "label")
    stages = max(1, len(path))
    body = {"question": question["id"], "kind": kind, "path": path, "stage_seconds": [1 + number % 7 / 4] * stages}
    return body | {"wall_seconds": 20.0, "note": "nothing but dots" if kind == "unreadable" else None}


class Person:
    """Somebody with a token for programs."""

    def __init__(self, client: Any, name: str, token: str) -> None:
        self.client, self.name = client, name
        self.headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> Any:
        got = self.client.get(path, headers=self.headers)
        assert got.status_code == 200, got.text
        return got.json()

    def post(self, at: str, /, **body: Any) -> Any:
        got = self.client.post(at, json=body, headers=self.headers)
        assert got.status_code == 200, got.text
        return got.json()

    def questions(self, n: int) -> list[Question]:
        found: list[Question] = self.get(f"/api/questions?n={n}")["questions"]
        return found

    def answer(self, question: Question) -> None:
        self.post("/api/answers", **answer_to(question, *opinion(self.name, number_of(question))))

    def correct(self, said: dict[str, Any], kind: str, label: int = NONE) -> None:
        """Another answer in place of one of theirs."""
        question = self.get(f"/api/questions/{said['question']}")
        self.post("/api/answers", **answer_to(question, kind, label), supersedes=said["id"])

    def decide(self) -> None:
        """Settle whatever people differ about."""
        for dispute in self.get("/api/disputes")["disputes"]:
            self.post("/api/decisions", question=dispute["question"], label=truth(number_of(dispute)))


def everybody(client: Any, tokens: dict[str, str]) -> dict[str, Person]:
    return {name: Person(client, name, token) for name, token in tokens.items()}


def answer_all(people: dict[str, Person]) -> None:
    """In turn each takes one question and answers it, until nobody gets any; then the owner decides."""
    while sum(_answer_one(people[name]) for name in PEOPLE):  # all of them, each time
        pass
    people[OWNER].decide()


def _answer_one(person: Person) -> bool:
    taken = person.questions(1)
    for question in taken:
        person.answer(question)
    return bool(taken)


def last_label(person: Person) -> dict[str, Any]:
    """The newest label that this person gave and has not taken back."""
    said: list[dict[str, Any]] = person.get("/api/answers?limit=1000")["answers"]
    return next(one for one in said if one["kind"] == "label")


def go_on(people: dict[str, Person]) -> None:
    """One takes back what they said last, then everybody answers."""
    one = last_label(people["ben"])
    people["ben"].correct(one, "label", (one["path"][-1] + 3) % len(NAMES))
    answer_all(people)


def seen(people: dict[str, Person]) -> dict[str, Any]:
    """What the pages show of a campaign that has just been opened."""
    owner, ana = people[OWNER], people["ana"]
    status, numbers = owner.get("/api/status"), owner.get("/api/dashboard")
    # lists, and what asking conventionally costs, are counted in another way since, and the floor was not kept
    for round in numbers["rounds"]:
        for name in ("coverage", "lists", "full", "conventional_cost", "floor"):
            round.pop(name, None)
    return {
        "status": {  # "left" is what earlier versions called the questions that are open
            "left": status.get("open", status["left"]),
            **{name: status[name] for name in ("round", "state", "done", "cost", "unit")},
        },
        "numbers": {name: numbers[name] for name in ("rounds", "ledger", "notes", "ending")},
        "people": owner.get("/api/people"),
        "disputes": owner.get("/api/disputes")["disputes"],
        "set_aside": owner.get("/api/set-aside")["items"],
        "answers": {name: people[name].get("/api/answers?limit=1000")["answers"] for name in PEOPLE},
        "questions": ana.questions(20),
    }


# --- the study -------------------------------------------------------------------------------------------------


class Visitor:
    """Somebody who takes part in the study, as their browser would."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def headers(self) -> dict[str, str]:
        shown = self.client.get("/", follow_redirects=True).text
        found = re.search(r'<meta name="csrf" content="([0-9a-f]+)">', shown)
        assert found
        return {"X-CSRF-Token": found[1]}

    def questions(self) -> list[Question]:
        found: list[Question] = self.client.get("/api/questions").json()["questions"]
        return found

    def start(self, name: str) -> None:
        reply = self.client.post("/api/start", json={"consent": True, "name": name}, headers=self.headers())
        assert reply.status_code == 200, reply.text

    def answer(self, n: int | None = None) -> None:
        """The next n questions, or all that are left."""
        headers = self.headers()
        for question in self.questions()[:n]:
            reply = self.client.post("/api/answers", json=choice(question), headers=headers)
            assert reply.status_code == 200, reply.text


def choice(question: Question) -> dict[str, Any]:
    """The first by name or the last, in a time that grows with the options."""
    item, options = question["item"], sorted(question["options"], key=lambda option: str(option["name"]))
    seconds = 1.5 + len(options) / 4 + 7 * item % 5 / 16
    chosen = options[-(item % 3 == 0)]["class"]
    return {"item": item, "chosen": chosen, "active_seconds": seconds, "wall_seconds": seconds + 0.5}
