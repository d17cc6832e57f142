"""What an owner has to look at: items that people differ about, and items that were set aside."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from shortlist.campaign.engine import Campaign
from shortlist.campaign.overlap import rule_of
from shortlist.campaign.questions import shown
from shortlist.campaign.resolution import live, resolve
from shortlist.campaign.store import AnswerRow
from shortlist.types import NONE, ShortlistError

MOST = 500  # shown at once


def disputes(campaign: Campaign) -> list[dict[str, Any]]:
    """Open disputes, with every vote."""
    store, known = campaign.store, campaign.known
    shared = store.resolved_together()
    found = resolve(store.heard(0), shared, rule_of(campaign.config))
    listed = [q for q in shared.values() if q.item in found.disputed][:MOST]
    votes = _votes(store.answers_to(q.id for q in listed))
    return [
        {
            "question": q.id,
            "item": int(known.positions[q.item]),
            "votes": [_vote(campaign, vote) for vote in votes[q.id]],
        }
        for q in listed
    ]


def set_aside(campaign: Campaign) -> list[dict[str, Any]]:
    """Items without a class, or that nobody could read: by people, or by the dataset when it was read."""
    store, known = campaign.store, campaign.known
    found = resolve(store.heard(0), store.resolved_together(), rule_of(campaign.config))
    said = {a.item: a for a in live(store.answers()) if a.item in found.set_aside and a.kind in ("none", "unreadable")}
    people = [
        {"item": int(known.positions[item]), "why": a.kind, "person": a.person, "note": a.note, "question": a.question}
        for item, a in sorted(said.items())
    ]
    files = [
        {"item": int(known.positions[item]), "why": "unreadable", "person": None, "note": why, "question": None}
        for item, why in store.unreadable().items()
        if item not in said and item not in found.labels
    ]
    return [*people, *files][:MOST]


def _votes(answers: list[AnswerRow]) -> dict[int, list[AnswerRow]]:
    votes: dict[int, list[AnswerRow]] = defaultdict(list)
    for answer in live(answers):
        votes[answer.question].append(answer)
    return votes


def _vote(campaign: Campaign, vote: AnswerRow) -> dict[str, Any]:
    label = None if vote.label is None else int(campaign.known.dataset_class[vote.label])
    return {"person": vote.person, "kind": vote.kind, "label": label, "note": vote.note}


def decision_path(campaign: Campaign, question: int, kind: str, label: int | None) -> tuple[int, ...]:
    """The way through a question's stages that ends in what was decided."""
    row = campaign.store.questions_by_id([question]).get(question)
    if row is None:
        raise ShortlistError(f"question {question}: there is none such")
    asked = shown(row, campaign.known)
    if kind == "label":
        if label is None:
            raise ShortlistError("decision: a label is missing")
        misses = asked.path_to(label).count(NONE)
        return (NONE,) * misses + (label,)  # also one that the question would not have asked about
    return (NONE,) * len(asked.stages) if kind == "none" else ()
