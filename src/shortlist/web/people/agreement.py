"""How far people agree beyond chance. A label is anything that can be compared: a class, or "none"."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from shortlist.types import ShortlistError

Votes: TypeAlias = Mapping[Any, Mapping[str, Hashable]]  # item -> person -> label


@dataclass(frozen=True)
class Agreement:
    """Of one person with the others."""

    n: int  # items that somebody else has labelled too
    share: float | None  # of the others that say the same, averaged over these items


@dataclass(frozen=True)
class Kappa:
    """1: always the same label; 0: no more often than by chance."""

    value: float | None  # None: nothing to compare, or one label only
    kind: Literal["Cohen", "Fleiss"]
    items: int  # with two votes at least
    people: int  # who voted on them


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """(p_o − p_e) / (1 − p_e) of two people's labels of the same items; None where p_e is 1 or there is no item.

    p_o is the share of items with the same label, p_e what it would be if each kept their shares of labels and
    dealt them out blindly.

    >>> cohen_kappa(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "dog"])
    0.5
    """
    if len(a) != len(b):
        raise ShortlistError(
            f"agreement: {len(a)} labels of one person, {len(b)} of the other; give both for each item"
        )
    n, same, of_b = len(a), sum(x == y for x, y in zip(a, b, strict=True)), Counter(b)
    by_chance = sum(count * of_b[label] for label, count in Counter(a).items())  # n² p_e, a whole number
    return None if by_chance == n * n else (n * same - by_chance) / (n * n - by_chance)


def fleiss_kappa(counts: npt.ArrayLike) -> float | None:
    """Of counts (n, k): how many people gave item i the label j. None where p_e is 1 or there is no item.

    Items need not have equally many votes. Those with fewer than two say nothing about agreement and are left out;
    of the others each counts the same: p_o is the mean of the items' shares of agreeing pairs, and p_e the sum of the
    squares of the labels' mean shares. With equally many votes everywhere this is Fleiss' kappa.

    >>> fleiss_kappa([[2, 0], [1, 1], [0, 2], [0, 2]])
    0.4666666666666667
    """
    table = np.asarray(counts)
    if table.size == 0:
        return None
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer) or (table < 0).any():
        raise ShortlistError(
            "agreement: counts must be whole numbers from 0 on, one row per item, one column per label"
        )
    return _fleiss({j: int(row[j]) for j in np.flatnonzero(row).tolist()} for row in table)


def _fleiss(items: Iterable[Mapping[Hashable, int]]) -> float | None:
    """Of each item's label -> votes, with the zeros left out: there may be 10,000 classes."""
    rows = [row for row in items if sum(row.values()) >= 2]
    shares: defaultdict[Hashable, list[float]] = defaultdict(list)
    for row in rows:
        for label, votes in row.items():
            shares[label].append(votes / sum(row.values()))
    if len(shares) <= 1:  # p_e is 1
        return None
    observed = fsum(map(_agreeing_pairs, rows)) / len(rows)
    expected = fsum((fsum(share) / len(rows)) ** 2 for share in shares.values())
    return (observed - expected) / (1 - expected)


def _agreeing_pairs(row: Mapping[Hashable, int]) -> float:
    total = sum(row.values())
    return sum(votes * (votes - 1) for votes in row.values()) / (total * (total - 1))


def pairwise_agreement(votes: Votes) -> dict[str, Agreement]:
    """By person: on how many items there is somebody to agree with, and what share of them do.

    >>> pairwise_agreement({1: {"ana": 5, "bo": 5, "cy": 7}, 2: {"ana": 3}})["ana"]
    Agreement(n=1, share=0.5)
    """
    shares: dict[str, list[float]] = {person: [] for given in votes.values() for person in given}
    for given in votes.values():
        said = Counter(given.values())
        others = len(given) - 1
        for person, label in given.items() if others else ():
            shares[person].append((said[label] - 1) / others)
    return {
        person: Agreement(len(share), fsum(share) / len(share) if share else None)
        for person, share in sorted(shares.items())
    }


def team_kappa(votes: Votes) -> Kappa:
    """Cohen's kappa where exactly two people have voted on items with two votes at least, else Fleiss'.

    Items with fewer than two votes are left out. Of the others each counts the same, however many votes it has, as
    `fleiss_kappa` defines it.

    >>> team_kappa({1: {"ana": 5, "bo": 5}, 2: {"ana": 3, "bo": 3}, 3: {"ana": 3}})
    Kappa(value=1.0, kind='Cohen', items=2, people=2)
    """
    shared = [given for given in votes.values() if len(given) >= 2]
    people = sorted({person for given in shared for person in given})
    if len(people) == 2:
        first, second = people
        value = cohen_kappa([given[first] for given in shared], [given[second] for given in shared])
        return Kappa(value, "Cohen", len(shared), 2)
    return Kappa(_fleiss(Counter(given.values()) for given in shared), "Fleiss", len(shared), len(people))
