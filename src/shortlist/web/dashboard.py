"""The campaign in numbers for whoever owns it: cost, accuracy, lists, speed, people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from shortlist import measures
from shortlist.campaign.engine import Campaign
from shortlist.campaign.resolution import live
from shortlist.campaign.store import AnswerRow, Store
from shortlist.campaign.timing import Timed
from shortlist.types import Round
from shortlist.web.people.agreement import pairwise_agreement, team_kappa
from shortlist.web.people.people import People
from shortlist.web.people.schema import Trust


def dashboard(campaign: Campaign, times: Timed) -> dict[str, Any]:
    """Everything the figures are drawn from."""
    record, fit, held = measures.read(campaign.folder.path), times.fitted(), campaign.store.coverage()
    return {
        "name": campaign.folder.path.name,
        "unit": record.unit,
        "price": campaign.settings.price,
        "items": record.n_items,
        "classes": len(record.classes),
        "rounds": [{**asdict(round), "coverage": _coverage(round, held)} for round in record.rounds],
        "ledger": [asdict(line) for line in record.ledger],
        "saving": record.saving,
        "speed": speed(times),
        "fit": None if fit is None else {"a": fit.a, "b": fit.b},
        "ending": record.ending,
        "notes": record.notes,
    }


def _coverage(round: Round, held: Mapping[int, float]) -> float | None:
    """%, to stand beside 1 − alpha; None in rounds without lists."""
    return 100 * held[round.number] if round.threshold and round.number in held else None


def speed(times: Timed) -> list[dict[str, Any]]:
    """How long stages took, by how many options they showed."""
    found = []
    options, seconds = times.arrays
    for n in np.unique(options):
        took = seconds[options == n]
        low, middle, high = np.percentile(took, [25, 50, 75])
        found.append(
            {"options": int(n), "n": len(took), "median": float(middle), "low": float(low), "high": float(high)}
        )
    return found


def team(campaign: Campaign, people: People) -> dict[str, Any]:
    """Everybody: how much, how fast, how often like the others, and how they take a wrong list."""
    said = live(campaign.store.answers())
    given, trust = votes(campaign.store), people.trust()
    agreement, kappa = pairwise_agreement(given), team_kappa(given)
    by: dict[str, list[AnswerRow]] = defaultdict(list)
    for answer in said:
        by[answer.person].append(answer)
    known = {person.name: asdict(person) for person in people.everyone()}
    names = [*known, *(name for name in by if name not in known)]  # imports and simulations have no account
    return {
        "people": [
            {
                "name": name,
                **known.get(name, {"role": None, "active": None}),
                **pace(by[name]),
                "agreement": asdict(agreement[name]) if name in agreement else None,
                "trust": asdict(trust.get(name, Trust())),
            }
            for name in names
        ],
        "kappa": asdict(kappa),
    }


def votes(store: Store) -> dict[int, dict[str, Any]]:
    """Item → person → what they said, where several people were asked; skips say nothing."""
    shared = {id for id, q in store.resolved_together().items() if q.wanted > 1}
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    for answer in live(store.answers_to(shared)):
        if answer.kind != "skip" and not answer.final:
            found[answer.item][answer.person] = answer.kind if answer.label is None else answer.label
    return found


def pace(said: list[AnswerRow]) -> dict[str, Any]:
    """How much somebody has answered, and in what time."""
    times = [a.active_seconds for a in said if a.active_seconds is not None]
    return {
        "answers": len(said),
        "skips": sum(a.kind == "skip" for a in said),
        "nones": sum(a.misses > 0 for a in said),
        "minutes": sum(times) / 60,
        "median_seconds": float(np.median(times)) if times else None,
        "last": max((a.at for a in said), default=None),
    }
