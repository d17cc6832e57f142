"""What answers say about lists that no model had learnt from yet: what a query learns from without asking for it, and
whether its lists have been cheaper than asking conventionally."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from shortlist.plans import QueryDesign
from shortlist.queries.conventional import Conventional
from shortlist.types import Ints

ENOUGH = 1000  # answers to learn from, the newest: earlier ones were said by models that knew less
RECENT = 3  # rounds that tell whether lists have paid
FADES = 0.5  # by which the round before weighs less


@dataclass(frozen=True)
class Said:
    """What a model said of items before it learnt their labels."""

    probs: Any  # (n, L)
    labels: Ints  # (n,)

    def __len__(self) -> int:
        return len(self.labels)


def newest(rounds: Iterable[Said]) -> Said:
    """The answers to learn from, of rounds of which the newest comes first: whole rounds, until there are enough."""
    taken: list[Said] = []
    for said in rounds:
        if taken and sum(map(len, taken)) + len(said) > ENOUGH:
            break
        taken.append(said)
    if not taken:
        return Said(np.empty((0, 1)), np.empty(0, np.int64))
    return Said(np.concatenate([said.probs for said in taken]), np.concatenate([said.labels for said in taken]))


def have_paid(rounds: Iterable[tuple[QueryDesign, Said]]) -> bool:
    """Whether lists were no dearer than asking conventionally in the latest rounds, newest first, which weigh most.

    By what the query of each round would have asked and what was answered, also where lists were not shown.
    """
    saved = 0.0
    for age, (query, said) in enumerate(islice(rounds, RECENT)):
        if len(said):
            charges = query.plan(said.probs).charge(said.labels, query.cost)
            saved += FADES**age * float((Conventional(query.cost).price(said.probs) - charges).sum())
    return saved >= 0
