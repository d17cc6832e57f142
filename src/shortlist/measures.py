"""What a campaign came to, read from its folder: finished, running or killed alike."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shortlist.campaign import ledger
from shortlist.campaign.asked import Asked
from shortlist.campaign.folder import Folder
from shortlist.campaign.overlap import rule_of
from shortlist.campaign.resolution import Resolution, resolve
from shortlist.campaign.schema import IS_ANSWERED, questions
from shortlist.campaign.store import QuestionRow, Store
from shortlist.campaign.streams import draw_calibration
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
    ledger: list[ledger.Line]
    n_items: int
    classes: list[str]
    notes: list[str]
    open_questions: int
    ending: str | None  # why it is over; None if it is not

    @property
    def saving(self) -> float | None:
        """% by which the labels came cheaper than asked conventionally."""
        if not self.rounds or not self.rounds[-1].conventional_cost:
            return None
        return 100 * (1 - self.rounds[-1].cost / self.rounds[-1].conventional_cost)

    @property
    def unit(self) -> str:
        return str(self.config["query"].get("cost", {}).get("name", "bits"))


def read(folder: str | Path) -> Record:
    with _open(folder) as store:
        return Record(
            folder=Path(folder),
            config=store.config(),
            rounds=[r.result for r in store.rounds() if r.result is not None],
            ledger=ledger.lines(store),
            n_items=store.n_items(),
            classes=store.class_names(),
            notes=[detail for _, step, detail in store.events() if step == "note"],
            open_questions=len(store.open_questions()),
            ending=_ending(store),
        )


def _ending(store: Store) -> str | None:
    """Why the campaign was over after its last round; one that has gone on since is not."""
    rows = store.rounds()
    said = [detail for round, step, detail in store.events() if step == "ending" and round == rows[-1].number]
    return said[-1] if said else None


def accuracy_per_cost(round: Round) -> float | None:
    """Accuracy (%) over relative cost (%): the paper's table."""
    return round.accuracy / round.relative_cost if round.accuracy is not None and round.relative_cost else None


def labels(folder: str | Path) -> dict[str, str]:
    """Item key -> class name, everything that has a label now."""
    with _open(folder) as store:
        keys, names = store.keys(), store.class_names()
        return {keys[item]: names[cls] for item, cls in sorted(_resolution(store).labels.items())}


def coverage(folder: str | Path, truth: Mapping[str, str]) -> float | None:
    """% of shortlists outside D_cal that held the *true* class, where it is known: differs under label noise."""
    held = [one for those in _held(folder, truth).values() for one in those]
    return 100 * float(np.mean(held)) if held else None


def coverages(folder: str | Path, truth: Mapping[str, str]) -> dict[int, float]:
    """The same for every round that has such shortlists."""
    return {round: 100 * float(np.mean(those)) for round, those in _held(folder, truth).items()}


def _held(folder: str | Path, truth: Mapping[str, str]) -> dict[int, list[bool]]:
    """Whether each list held the true class, by round."""
    with _open(folder) as store:
        keys, class_at = store.keys(), {name: i for i, name in enumerate(store.class_names())}
        shown = store.questions(questions.c.purpose.in_(["query", "ahead"]), IS_ANSWERED)
    found: dict[int, list[bool]] = defaultdict(list)
    for q in shown:
        if keys[q.item] in truth:
            found[q.round].append(_holds(q, class_at.get(truth[keys[q.item]], -1)))
    return found


def _holds(question: QuestionRow, cls: int) -> bool:
    return not question.cuts or cls in question.classes[: question.cuts[0]]


# --- other designs on the same labels --------------------------------------------------------------------------


@dataclass(frozen=True)
class Recharged:
    """One round under another query design: the same items, the same labels, no training."""

    number: int
    cost: float  # so far
    relative_cost: float  # %
    coverage: float | None  # %, of lists outside D_cal that hold the label
    mean_set_size: float | None


def recharge(folder: str | Path, query: QueryDesign | Oracle) -> list[Recharged]:
    """What each finished round's labels would have cost under `query`, from what the model said at the time.

    D_cal is drawn as a campaign with this query would have drawn it, so a conventional campaign is charged for
    candidate sets just as their own campaign is, as long as both choose the same items. Skips and corrections are
    left out.
    """
    with _open(folder) as store:
        if store.partly_answered():
            raise ShortlistError(f"{folder}: its answers left partial labels, so no other design can be charged")
        known = _resolution(store).labels
        seed, budget = int(store.config()["seed"]), int(store.config()["budget"])
        finished = [r.number for r in store.rounds() if r.result is not None]
        ahead = {number: set(store.asked_items(number, "ahead")) for number in finished}
        first = [q.n_classes for q in store.questions(questions.c.round == 1) if q.item in known]
        whole = store.n_items() * conventional_cost(query, len(store.class_names()))
    paid = [math.fsum(conventional_cost(query, n_classes) for n_classes in first)]  # whatever the design
    result = [Recharged(1, paid[0], 100 * paid[0] / whole, None, None)] if finished else []
    current, before = query, None
    for number in finished[1:]:
        asked = Asked.read(Folder(Path(folder)).asked(number))
        early = _early_lists(current, before, ahead[number], known, asked.probs.shape[1])
        in_cal = draw_calibration(seed, number, len(asked.items), query.n_cal, len(ahead[number]), budget)
        cal = _lists(current, asked.items[in_cal], asked.probs[in_cal], known)
        if len(cal.truth):
            current = query.calibrate(cal.probs, cal.truth)
        rest = _lists(current, asked.items[~in_cal], asked.probs[~in_cal], known)
        paid += [math.fsum(lists.costs) for lists in (early, cal, rest)]  # the lines of the ledger
        total = math.fsum(paid)
        held, sizes = _mean([*early.held, *rest.held]), _mean([*early.sizes, *rest.sizes])
        result.append(Recharged(number, total, 100 * total / whole, None if held is None else 100 * held, sizes))
        before = asked
    return result


def conventional_cost(query: QueryDesign | Oracle, n_classes: int) -> float:
    """What one item costs with all classes at once."""
    return ledger.stage_charges(n_classes, (), True, query.cost)[0]


@dataclass(frozen=True)
class _Lists:
    """Lists for items whose label is known, and what their answers come to."""

    probs: Any  # (n, L)
    truth: Ints  # (n,)
    costs: list[float]
    held: list[bool]
    sizes: list[int]


def _lists(query: Any, items: Ints, probs: Any, labels: Mapping[int, int]) -> _Lists:
    truth = np.asarray([labels.get(i, -1) for i in items.tolist()], np.int64)
    known = (truth >= 0) & (truth < probs.shape[1])  # a class may have been added since
    probs, truth = probs[known], truth[known]
    plan = query.plan(probs, truth) if isinstance(query, Oracle) else query.plan(probs)
    costs, held = plan.charge(truth, query.cost), plan.holds(truth)
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


def _mean(numbers: Sequence[float]) -> float | None:
    return float(np.mean(numbers)) if numbers else None


def _open(folder: str | Path) -> Store:
    return Store(Folder(Path(folder)).database, read_only=True)


def _resolution(store: Store) -> Resolution:
    return resolve(store.heard(0), store.resolved_together(), rule_of(store.config()))
