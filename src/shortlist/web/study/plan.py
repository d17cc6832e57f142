"""What a user study shows to whom: the items, the options of every group, and who comes into which group.

As in the paper: one image each of so many classes, the same for all groups; the truth is always among the options. A
group's options are those of the next larger group with some taken away, so that groups differ in nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from shortlist.campaign.streams import stream
from shortlist.types import Array, Ints, ShortlistError

KEYS = "123456789abcdefghijklmnopqrstuvwxyz"  # one for each option
UNDER_WAY = timedelta(hours=1)  # whoever takes longer has given up, as far as groups are concerned


@dataclass(frozen=True)
class Item:
    """One item of the study, and what each group chooses from, in the order it is shown."""

    position: int  # in the dataset
    truth: int
    options: dict[int, tuple[int, ...]]  # how many -> classes
    practice: bool = False  # to get used to the page; does not count


def plan_study(
    labels: Ints,
    n_classes: int,
    *,
    items: int = 20,
    groups: Sequence[int] = (4, 8, 16, 32),
    practice: int = 3,
    seed: int = 0,
    probs: Array | None = None,
) -> list[Item]:
    """The items, those to practise with first, and what every group is shown with each.

    Wrong options are drawn at random; with `probs` (N, L) they are the item's likeliest.

    >>> first, second = plan_study(np.arange(10), 10, items=1, groups=(2, 4), practice=1)
    >>> first.practice, second.practice, second.truth in second.options[2], len(set(second.options[4]))
    (True, False, True, 4)
    >>> set(second.options[2]) < set(second.options[4])
    True
    """
    check_groups(groups, n_classes)
    if items < 1:
        raise ShortlistError(f"items is {items}; a study has at least 1")
    chosen = draw_items(labels, items + practice, seed)
    count = [False] * items + [True] * practice
    planned = [
        Item(
            position,
            int(labels[position]),
            _options(position, int(labels[position]), n_classes, groups, seed, probs),
            p,
        )
        for position, p in zip(chosen, count, strict=True)
    ]
    return planned[items:] + planned[:items]


def check_groups(groups: Sequence[int], n_classes: int) -> None:
    if not groups or sorted(set(groups)) != list(groups):
        raise ShortlistError(f"groups are {list(groups)}; give numbers of options that grow, such as 4,8,16,32")
    if groups[0] < 2 or groups[-1] > len(KEYS):
        raise ShortlistError(f"groups are {list(groups)}; each has from 2 to {len(KEYS)} options: one for every key")
    if groups[-1] > n_classes:
        raise ShortlistError(
            f"groups: {groups[-1]} options need as many classes, and there are {n_classes}; "
            f"give smaller ones, such as {','.join(map(str, _fitting(n_classes)))}"
        )


def _fitting(n_classes: int) -> list[int]:
    return [k for k in (2, 4, 8, 16) if k <= n_classes] if n_classes > 2 else [2]


def draw_items(labels: Ints, n: int, seed: int) -> list[int]:
    """Positions of n labelled items: one of each class, at random, and of classes again only when all had a turn."""
    known = [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]
    if sum(map(len, known)) < n:
        raise ShortlistError(
            f"items: {n} are needed (practice included), and only {sum(map(len, known))} have a known class; "
            "add images in folders of their class, or ask for fewer"
        )
    left = [stream(seed, int(labels[members[0]]), "study item").permutation(members).tolist() for members in known]
    rng, drawn = stream(seed, 0, "study classes"), list[int]()
    while len(drawn) < n:
        turns = rng.permutation(len(left))
        drawn += [int(left[c].pop()) for c in turns if left[c]]
    return drawn[:n]


def _options(
    position: int, truth: int, n_classes: int, groups: Sequence[int], seed: int, probs: Array | None
) -> dict[int, tuple[int, ...]]:
    others = np.delete(np.arange(n_classes), truth)
    ranked = stream(seed, position, "study options").permutation(others)
    if probs is not None:  # equally likely ones stay in their random order
        ranked = ranked[np.argsort(-np.asarray(probs[position])[ranked], kind="stable")]
    return {k: _places([truth, *ranked[: k - 1].tolist()], seed, position, k) for k in groups}


def _places(classes: list[int], seed: int, position: int, k: int) -> tuple[int, ...]:
    return tuple(classes[i] for i in stream(seed, position, f"study places {k}").permutation(k))


# --- people ----------------------------------------------------------------------------------------------------


def counts(people: Iterable[tuple[int, datetime, bool]], now: datetime) -> Counter[int]:
    """How many a group has, of (group, when they started, whether they finished); who gave up does not count.

    >>> noon = datetime(2025, 1, 1, 12)
    >>> counts([(4, noon, False), (4, noon - timedelta(hours=2), True), (8, noon - timedelta(hours=2), False)], noon)
    Counter({4: 2})
    """
    return Counter(group for group, started, finished in people if finished or now - started < UNDER_WAY)


def next_group(groups: Sequence[int], there: Counter[int], seed: int, person: int) -> int:
    """The group with the fewest people; among several, one at random.

    >>> next_group((4, 8, 16), Counter({4: 2, 8: 1, 16: 2}), seed=0, person=5)
    8
    """
    fewest = min(there[k] for k in groups)
    tied = [k for k in groups if there[k] == fewest]
    return tied[int(stream(seed, person, "study group").integers(len(tied)))]


def order_for(person: int, practice: Sequence[bool], seed: int) -> list[int]:
    """Numbers of the items in the order a person sees them: practice first, then the rest, shuffled for everybody.

    So no item is always met fresh, and none always tired.

    >>> order_for(1, [True, True, False, False, False], seed=0)[:2]
    [0, 1]
    """
    first, rest = np.flatnonzero(practice), np.flatnonzero(~np.asarray(practice, np.bool_))
    return [int(i) for i in (*first, *stream(seed, person, "study order").permutation(rest))]
