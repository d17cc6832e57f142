"""What an owner looks at: the campaign in numbers, people and how far they agree, disputes, items set aside."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import fsum
from typing import Any, TypeAlias

import numpy as np

from shortlist import measures
from shortlist.campaign.accounting.timing import Timed
from shortlist.campaign.engine import Campaign
from shortlist.campaign.questions.resolution import standing
from shortlist.campaign.storage.store import AnswerRow
from shortlist.web.people.people import People
from shortlist.web.people.people_db import Trust
from shortlist.web.service.advice import advice

MOST = 500  # disputes, and items set aside, that are shown at once
Votes: TypeAlias = Mapping[Any, Mapping[str, Hashable]]  # item -> person -> label: a class, or "none"


def dashboard(campaign: Campaign, times: Timed) -> dict[str, Any]:
    """Everything the figures are drawn from."""
    record, fit = measures.record_of(campaign.view), times.fitted()
    return {
        "name": campaign.folder.path.name,
        "unit": record.unit,
        "price": campaign.settings.price,
        "items": record.n_items,
        "classes": len(record.classes),
        "rounds": [asdict(round) for round in record.rounds],
        "ledger": [asdict(line) for line in record.ledger],
        "saving": record.saving,
        "times_floor": measures.times_floor(record.rounds[-1]) if record.rounds else None,
        "speed": speed(times),
        "fit": None if fit is None else {"a": fit.a, "b": fit.b},
        "pace": None if times.saved is None else {"whole": times.whole.mean, "listed": times.listed.mean},
        "advice": None if record.ending else advice(campaign, record),
        "ending": record.ending,
        "notes": record.notes,
    }


def speed(times: Timed) -> list[dict[str, Any]]:
    """How long stages took, by how many options they showed."""
    rows = []
    options, seconds = times.arrays
    for n in np.unique(options).tolist():
        took = seconds[options == n]
        low, median, high = np.percentile(took, [25, 50, 75]).tolist()
        rows.append({"options": n, "n": len(took), "median": median, "low": low, "high": high})
    return rows


# --- people ------------------------------------------------------------------------------------------------------


def team(campaign: Campaign, people: People) -> dict[str, Any]:
    """Of each person: how much, how fast, how often like the others, and how they take a wrong list."""
    votes, trust = campaign.view.votes(), people.trust()
    agreement = pairwise_agreement(votes)
    by: dict[str, list[AnswerRow]] = defaultdict(list)
    for answer in campaign.view.standing():
        by[answer.person].append(answer)
    known = {person.name: asdict(person) for person in people.everyone()}
    names = [*known, *(name for name in by if name not in known)]  # imports and simulations have no account
    return {
        "people": [
            {
                "name": name,
                **known.get(name, {"role": None, "active": None}),
                **pace(by[name]),
                "agreement": agreement.get(name),
                "trust": asdict(trust.get(name, Trust())),
            }
            for name in names
        ],
        "kappa": team_kappa(votes),
    }


def pace(answers: list[AnswerRow]) -> dict[str, Any]:
    """How much a person has answered, and in what time."""
    times = [a.active_seconds for a in answers if a.active_seconds is not None]
    return {
        "answers": len(answers),
        "skips": sum(a.kind == "skip" for a in answers),
        "nones": sum(a.misses > 0 for a in answers),
        "minutes": sum(times) / 60,
        "median_seconds": float(np.median(times)) if times else None,
        "last": max((a.at for a in answers), default=None),
    }


# --- agreement beyond chance -------------------------------------------------------------------------------------


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """(p_o − p_e) / (1 − p_e) of two people's labels of the same items; None where p_e is 1 or there is no item.

    p_o is the share of items with the same label, p_e what it would be if each kept their shares of labels and
    dealt them out blindly.

    >>> cohen_kappa(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "dog"])
    0.5
    """
    n, same, of_b = len(a), sum(x == y for x, y in zip(a, b, strict=True)), Counter(b)
    by_chance = sum(count * of_b[label] for label, count in Counter(a).items())  # n² p_e, a whole number
    return None if by_chance == n * n else (n * same - by_chance) / (n * n - by_chance)


def fleiss_kappa(items: Iterable[Mapping[Hashable, int]]) -> float | None:
    """Of each item's label → votes, labels without a vote left out. None where p_e is 1 or there is no item.

    Items need not have equally many votes. Those with fewer than two say nothing about agreement and are left out;
    of the others each counts the same: p_o is the mean of the items' shares of agreeing pairs, and p_e the sum of the
    squares of the labels' mean shares. With equally many votes everywhere this is Fleiss' kappa.

    >>> fleiss_kappa([{"cat": 2}, {"cat": 1, "dog": 1}, {"dog": 2}, {"dog": 2}])
    0.4666666666666667
    """
    rows = [row for row in items if sum(row.values()) >= 2]
    shares: defaultdict[Hashable, list[float]] = defaultdict(list)
    agreeing = []  # share of the pairs of an item's votes
    for row in rows:
        total = sum(row.values())
        agreeing.append(sum(votes * (votes - 1) for votes in row.values()) / (total * (total - 1)))
        for label, votes in row.items():
            shares[label].append(votes / total)
    if len(shares) <= 1:  # p_e is 1
        return None
    observed = fsum(agreeing) / len(rows)
    expected = fsum((fsum(share) / len(rows)) ** 2 for share in shares.values())
    return (observed - expected) / (1 - expected)


def pairwise_agreement(votes: Votes) -> dict[str, dict[str, Any]]:
    """By person: how many items others have labelled too, and the share of the others who agree, averaged over them.

    >>> pairwise_agreement({1: {"ana": 5, "bo": 5, "cy": 7}, 2: {"ana": 3}})["ana"]
    {'n': 1, 'share': 0.5}
    """
    shares: dict[str, list[float]] = {person: [] for ballot in votes.values() for person in ballot}
    for ballot in votes.values():
        counts = Counter(ballot.values())
        others = len(ballot) - 1
        for person, label in ballot.items() if others else ():
            shares[person].append((counts[label] - 1) / others)
    return {
        person: {"n": len(share), "share": fsum(share) / len(share) if share else None}
        for person, share in sorted(shares.items())
    }


def team_kappa(votes: Votes) -> dict[str, Any]:
    """Cohen's kappa where exactly two people have voted on items with two votes at least, else Fleiss'.

    1: always the same label; 0: no more often than by chance; None: nothing to compare, or one label only.

    >>> team_kappa({1: {"ana": 5, "bo": 5}, 2: {"ana": 3, "bo": 3}, 3: {"ana": 3}})
    {'value': 1.0, 'kind': 'Cohen', 'items': 2, 'people': 2}
    """
    shared = [ballot for ballot in votes.values() if len(ballot) >= 2]
    people = {person for ballot in shared for person in ballot}
    if len(people) == 2:
        value = cohen_kappa(*([ballot[person] for ballot in shared] for person in people))
    else:
        value = fleiss_kappa(Counter(ballot.values()) for ballot in shared)
    kind = "Cohen" if len(people) == 2 else "Fleiss"
    return {"value": value, "kind": kind, "items": len(shared), "people": len(people)}


# --- items to look at --------------------------------------------------------------------------------------------


def disputes(campaign: Campaign) -> list[dict[str, Any]]:
    """Open disputes, with every vote."""
    view = campaign.view
    listed = view.disputed_questions()[:MOST]
    votes: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for vote in standing(view.answers_to(q.id for q in listed)):
        label = None if vote.label is None else int(view.ids.dataset_class[vote.label])
        shown = {"person": vote.person, "kind": vote.kind, "label": label, "note": vote.note}
        votes[vote.question].append(shown)
    return [{"question": q.id, "item": int(view.ids.positions[q.item]), "votes": votes[q.id]} for q in listed]


def set_aside(campaign: Campaign) -> list[dict[str, Any]]:
    """Items without a class, or that cannot be read: as people say, or the dataset when it was read."""
    view, positions = campaign.view, campaign.view.ids.positions
    resolution, whys = view.resolution(first=0), ("none", "unreadable")
    answers = {a.item: a for a in view.standing() if a.item in resolution.set_aside and a.kind in whys}
    people = [
        {"item": int(positions[item]), "why": a.kind, "person": a.person, "note": a.note, "question": a.question}
        for item, a in sorted(answers.items())
    ]
    files = [
        {"item": int(positions[item]), "why": "unreadable", "person": None, "note": why, "question": None}
        for item, why in view.unreadable().items()
        if item not in answers and item not in resolution.labels
    ]
    return [*people, *files][:MOST]
