"""What a campaign came to, read from its folder: finished, running or killed alike.

Accuracy, macro-F1, relative cost, coverage, savings and alpha are shares, from 0 to 1; costs are in the unit of the
query's cost model (bits, seconds, options), added up over rounds; set sizes are numbers of classes; a threshold is on
the scale of the score.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.campaign.accounting import floor as floors
from shortlist.campaign.accounting.evidence import Said, have_paid, newest
from shortlist.campaign.accounting.ledger import Line, conventional_item_cost
from shortlist.campaign.schedule import largest_batch
from shortlist.campaign.storage.folder import Asked
from shortlist.campaign.storage.schema import IS_ANSWERED, questions
from shortlist.campaign.view import View
from shortlist.plans import QueryDesign
from shortlist.queries.conventional import Conventional
from shortlist.queries.oracle import Oracle
from shortlist.types import Ints, Round, ShortlistError


@dataclass(frozen=True)
class Record:
    """A campaign as a reader sees it."""

    folder: Path
    config: dict[str, Any]
    rounds: list[Round]
    ledger: list[Line]
    n_items: int
    classes: list[str]
    notes: list[str]
    open_questions: int
    ending: str | None  # why it is over; None if it is not

    @property
    def saving(self) -> float | None:
        """The share by which the labels came cheaper than asked conventionally."""
        return saving(self.rounds[-1]) if self.rounds else None

    @property
    def unit(self) -> str:
        return str(self.config["query"].get("cost", {}).get("name", "bits"))


def read(folder: str | Path) -> Record:
    with View.of(folder) as view:
        return record_of(view)


def record_of(view: View) -> Record:
    return Record(
        folder=view.folder,
        config=view.config(),
        rounds=view.finished(),
        ledger=view.ledger(),
        n_items=view.n_items(),
        classes=view.class_names(),
        notes=view.notes(),
        open_questions=len(view.open_questions()),
        ending=view.ending(),
    )


def accuracy_per_cost(round: Round) -> float | None:
    """Accuracy over relative cost: the paper's table."""
    return round.accuracy / round.relative_cost if round.accuracy is not None and round.relative_cost else None


def saving(round: Round) -> float | None:
    return saved(round.cost, round.conventional_cost)


def saved(cost: float, conventional_cost: float) -> float | None:
    """The share by which labels came cheaper than asked conventionally; below 0: dearer."""
    return 1 - cost / conventional_cost if conventional_cost else None


def times_floor(round: Round) -> float | None:
    """The cost over the floor: how many times as much as the answers come to under what was believed."""
    return round.cost / round.floor if round.floor else None


def labels(folder: str | Path) -> dict[str, str]:
    """Item key -> class name, everything that has a label now."""
    with View.of(folder) as view:
        return view.labels()


def coverages(folder: str | Path, truth: Mapping[str, str]) -> dict[int, float]:
    """By round, of the lists outside D_cal that were short of all classes the share that held the *true* class, where
    it is known: differs under label noise."""
    with View.of(folder) as view:
        keys, class_at = view.keys(), {name: i for i, name in enumerate(view.class_names())}
        shown = view.questions(questions.c.purpose.in_(["query", "ahead"]), IS_ANSWERED)
    held: dict[int, list[bool]] = defaultdict(list)
    for q in shown:
        if keys[q.item] in truth and q.shortlist is not None:
            held[q.round].append(class_at.get(truth[keys[q.item]], -1) in q.shortlist)
    return {round: float(np.mean(those)) for round, those in held.items()}


# --- other designs on the same labels --------------------------------------------------------------------------


@dataclass(frozen=True)
class Recharged:
    """One round under another query design: the same items, the same labels, no training."""

    number: int
    cost: float  # so far
    relative_cost: float
    coverage: float | None  # of the lists outside D_cal that are short of all classes: hold the label
    mean_set_size: float | None
    lists: int  # outside D_cal, short of all classes
    full: int  # items outside D_cal asked with all classes


def recharge(folder: str | Path, query: QueryDesign | Oracle) -> list[Recharged]:
    """What each finished round's labels would have cost under `query`, from what the model said at the time.

    D_cal is drawn as a campaign with this query would have drawn it, so a conventional campaign is charged for
    candidate sets just as their own campaign is, as long as both choose the same items. Skips and corrections are
    left out.
    """
    with View.of(folder) as view:
        if view.partly_answered():
            raise ShortlistError(f"{folder}: its answers left partial labels, so no other design can be charged")
        known = view.resolution(first=0).labels
        draws, budget = view.draws, largest_batch(view.config())
        finished = [round.number for round in view.finished()]
        ahead = {number: set(view.asked_items(number, "ahead")) for number in finished}
        first = [q.n_classes for q in view.questions(questions.c.round == 1) if q.item in known]
        whole = view.n_items() * conventional_item_cost(len(view.class_names()), query.cost)
        asked_in = {number: view.asked(number) for number in finished[1:]}
    paid = [math.fsum(conventional_item_cost(n_classes, query.cost) for n_classes in first)]  # whatever the design
    result = [Recharged(1, paid[0], paid[0] / whole, None, None, 0, len(first))] if finished else []
    current = learnt = query.restored(query.state)
    before: Asked | None = None
    guarded, history = getattr(query, "guard", False), list[tuple[Any, Said]]()
    for number in finished[1:]:
        asked = asked_in[number]
        early = _early_lists(current, before, ahead[number], known, asked.probs.shape[1])
        if not query.n_cal and history and not isinstance(query, Oracle):
            said = newest(said for _, said in history)
            learnt = query.calibrate(said.probs, said.labels) if len(said) else learnt
        have_lists_paid = not guarded or have_paid(history)
        current = learnt if have_lists_paid else query.restored(None)
        in_cal = draws.calibration(number, asked.items, query.n_cal, len(ahead[number]), budget)
        cal = _lists(current, asked.items[in_cal], asked.probs[in_cal], known)
        if len(cal.truth):
            learnt = query.calibrate(cal.probs, cal.truth)
            current = learnt if have_lists_paid else current
        rest = _lists(current, asked.items[~in_cal], asked.probs[~in_cal], known)
        paid += [math.fsum(lists.costs) for lists in (early, cal, rest)]  # the lines of the ledger
        total = math.fsum(paid)
        held, sizes = [*early.held, *rest.held], [*early.sizes, *rest.sizes]
        share = float(np.mean(held)) if held else None
        size, full = float(np.mean(sizes)) if sizes else None, len(sizes) - len(held)
        result.append(Recharged(number, total, total / whole, share, size, len(held), full))
        before = asked
        probs, truth = ([getattr(lists, name) for lists in (cal, rest)] for name in ("probs", "truth"))
        history.insert(0, (learnt, Said(np.concatenate(probs), np.concatenate(truth))))
    return result


@dataclass(frozen=True)
class Floor:
    """What a round's labels would have cost at least, so far, in bits."""

    number: int
    ideal: float  # under what was believed of every item: −log2 of the probability of its answer
    oracle: float | None  # asked with the best list there is; None of partial labels


def floor(folder: str | Path) -> list[Floor]:
    """Below what each finished round's labels can hardly be had, worked out anew from what the model said at the time.

    `ideal` is what rounds keep as `floor`, which those of earlier versions do not. Skips, items of no class and
    imports are left out; where several people are asked about an item, each one's answer counts.

    >>> from tempfile import TemporaryDirectory
    >>> from shortlist import Campaign, CandidateSet, Digits, Random, Scikit, Simulated
    >>> parts = {"dataset": Digits(), "model": Scikit(), "query": CandidateSet(n_cal=20), "acquisition": Random()}
    >>> with TemporaryDirectory() as folder, Campaign(folder, **parts, initial=50, budget=50, rounds=2) as campaign:
    ...     *_, last = campaign.run(Simulated(Digits().labels))
    ...     found = floor(folder)
    >>> round(last.cost), round(found[-1].ideal), round(found[-1].oracle)
    (271, 181, 219)
    """
    with View.of(folder) as view:
        if not floors.counts_bits(view.config()):
            raise ShortlistError(f"{folder}: its costs are not in bits, and there is a floor only to those")
        numbers = [round.number for round in view.finished()]
        ideal = [*floors.lengths(view)]
        is_whole = not view.partly_answered()
    oracle = [round.cost for round in recharge(folder, Oracle())] if is_whole else [None] * len(numbers)
    return [Floor(*line) for line in zip(numbers, ideal, oracle, strict=True)]


@dataclass(frozen=True)
class _Lists:
    """Lists for items whose label is known, and what their answers come to."""

    probs: Any  # (n, L)
    truth: Ints  # (n,)
    costs: list[float]
    held: list[bool]  # by those that are short of all classes
    sizes: list[int]


def _lists(query: Any, items: Ints, probs: Any, labels: Mapping[int, int]) -> _Lists:
    truth = np.asarray([labels.get(i, -1) for i in items.tolist()], np.int64)
    known = (truth >= 0) & (truth < probs.shape[1])  # a class may have been added since
    probs, truth = probs[known], truth[known]
    plan = query.plan(probs, truth) if isinstance(query, Oracle) else query.plan(probs)
    costs, held = plan.charge(truth, query.cost), plan.holds(truth)[plan.sizes < plan.n_classes]
    return _Lists(probs, truth, costs.tolist(), held.tolist(), plan.sizes.tolist())


def _early_lists(
    query: Any, before: Asked | None, items: set[int], labels: Mapping[int, int], n_classes: int
) -> _Lists:
    """Items asked ahead, with the model and the query of the round before; after round 1, conventionally."""
    if before is not None:
        which = np.asarray([i in items for i in before.ahead_items.tolist()], np.bool_)
        return _lists(query, before.ahead_items[which], before.ahead_probs[which], labels)
    listed = np.asarray(sorted(items), np.int64)
    return _lists(Conventional(query.cost), listed, np.full((len(listed), n_classes), 1 / n_classes), labels)
