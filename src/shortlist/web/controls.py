"""Control questions from items whose class is sure: half of the lists hold it, half lack it.

They are asked like any other question and tell how far somebody trusts a list that is wrong. They label nothing and
cost the campaign nothing on its ledger.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shortlist.campaign.engine import Campaign
from shortlist.campaign.resolution import live
from shortlist.campaign.store import QuestionRow
from shortlist.types import Rng
from shortlist.web.people.people import People

KEPT = 60  # control questions a campaign has
LISTED = 4  # classes, where the item was asked about without a list


def top_up(campaign: Campaign, people: People, rng: Rng) -> int:
    """Make control questions of items that are sure now, up to a number; how many are new."""
    made = {control.item for control in people.every_control()}
    sure = {item: cls for item, cls in sure_labels(campaign).items() if item not in made}
    chosen = rng.permutation(sorted(sure))[: max(0, KEPT - len(made))].tolist()
    asked = {q.item: q for q in campaign.store.questions() if q.item in set(chosen)} if chosen else {}
    for item in chosen:
        wrong = bool(rng.random() < 0.5)
        listed = control_list(asked.get(item), sure[item], wrong, len(campaign.known.classes), rng)
        people.add_control(item, listed, sure[item], wrong)
    return len(chosen)


def control_list(question: QuestionRow | None, truth: int, wrong: bool, n_classes: int, rng: Rng) -> list[int]:
    """The list the item was asked with, or as long a one, with the truth or without it.

    >>> control_list(None, 2, True, 5, np.random.default_rng(0))
    [4, 3, 0, 1]
    """
    shown = list(question.classes[: question.cuts[0]]) if question and question.cuts else []
    if not shown:
        shown = rng.permutation(n_classes)[: min(LISTED, n_classes - 1)].tolist()
    others = [cls for cls in shown if cls != truth]
    if not wrong:
        return shown if truth in shown else [truth, *others[:-1]] if len(others) > 1 else [truth, *others]
    spare = [cls for cls in rng.permutation(n_classes).tolist() if cls != truth and cls not in others]
    return (others + spare)[: len(shown)]


def sure_labels(campaign: Campaign) -> dict[int, int]:
    """Item → class where it is known: from the dataset, decided by an owner, or the same from several people."""
    known, dataset = campaign.known, campaign.learner.dataset
    given = known.own_labels(np.asarray(dataset.labels)[known.positions])
    sure = {item: int(cls) for item, cls in enumerate(given.tolist()) if cls >= 0}
    said: dict[int, list[tuple[int | None, bool]]] = {}
    for answer in live(campaign.store.answers()):
        if answer.kind != "skip":
            said.setdefault(answer.item, []).append((answer.label, answer.final))
    return sure | _agreed(said)


def _agreed(said: Mapping[int, list[tuple[int | None, bool]]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for item, votes in said.items():
        decided = [label for label, final in votes if final]
        labels = {label for label, _ in votes}
        if decided and decided[-1] is not None:
            found[item] = decided[-1]
        elif not decided and len(votes) > 1 and len(labels) == 1 and None not in labels:
            found[item] = votes[0][0] or 0
    return found
