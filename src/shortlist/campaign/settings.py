"""What a campaign is made of, checked before anything is written."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields, is_dataclass, replace
from typing import Any, get_args

from shortlist.campaign.accounting.stopping import Stopping
from shortlist.campaign.accounting.timing import Pricing
from shortlist.campaign.config import describe
from shortlist.campaign.learning.learner import features_of
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.schedule import Fixed, Schedule
from shortlist.plans import QueryDesign
from shortlist.queries.oracle import Oracle
from shortlist.types import Acquisition, Dataset, Model, ShortlistError

PARTS = {  # what a campaign calls on each of its parts, and an example of one
    "dataset": (("keys", "classes", "labels", "inputs"), "Arrays(inputs, labels)"),
    "model": (("prepare", "fit", "predict", "predict_test", "save", "load"), "Scikit(estimator)"),
    "query": (("calibrate", "restored", "state", "price", "plan", "n_cal", "cost"), "CandidateSet()"),
    "acquisition": (("select", "needs"), "Entropy()"),
    "stop": (("reason",), "Stopping(accuracy=0.9)"),
    "schedule": (("first_batch", "batch", "most", "rounds"), "Doubling(first=20, most=500)"),
}
# whole numbers and their least; they stand in every campaign.toml, at their defaults too
LEAST = {"initial": 1, "budget": 1, "seed": 0, "holdout": 0, "ahead": 0}
FIXED = ("initial", "budget")  # short for a schedule of batches of one size, and how it is recorded


@dataclass(frozen=True)
class Settings:
    """What a campaign is asked to do.

    Parameters
    ----------
    dataset, model, query, acquisition : its parts
    initial, budget : how many random items are asked first, conventionally, and how many in every round after that;
        short for `schedule=Fixed(initial, budget)`
    rounds : stop after so many; short for `stop=Stopping(rounds=…)`
    seed : of everything random
    holdout : how many random items are asked before everything else, and only measured with
    ahead : how many next-ranked items a round keeps ready for people who would otherwise wait while a model trains
    stop : when to end
    overlap : which items are answered by several people
    annotator : where answers will come from, for the record
    price : `measured` makes lists and selects items by the seconds that people have taken so far; answers are charged
        by the query's cost all the same
    schedule : how many items are asked before the model learns again
    """

    dataset: Dataset
    model: Model
    query: QueryDesign
    acquisition: Acquisition
    initial: InitVar[int | None] = None
    budget: InitVar[int | None] = None
    rounds: InitVar[int | None] = None
    seed: int = 0
    holdout: int = 0
    ahead: int = 0
    stop: Stopping = field(default_factory=Stopping)
    overlap: Overlap | None = None
    annotator: Mapping[str, Any] | None = None
    price: Pricing = "cost"
    schedule: Schedule = None  # type: ignore[assignment]  # once made, there is one

    def __post_init__(self, initial: int | None, budget: int | None, rounds: int | None) -> None:
        self._set(schedule=_schedule(self.schedule, initial, budget))
        for name, wanted in PARTS.items():
            _check_part(name, getattr(self, name), wanted)
        rounds = self.schedule.rounds if rounds is None else rounds
        if rounds is not None:
            self._set(stop=replace(self.stop, rounds=rounds))
        self._set(**{name: _whole(name, getattr(self, name), LEAST[name]) for name in LEAST.keys() - FIXED})
        self._check_sizes()
        self._check_parts()
        # D_cal is never asked ahead, so that many of a batch are not there to hand out
        self._set(ahead=min(self.ahead, self.schedule.most - self.query.n_cal))

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_sizes(self) -> None:
        n = len(self.dataset.keys)
        if self.holdout >= n:
            raise ShortlistError(f"holdout: {self.holdout} items leave nothing to label; the dataset has {n}")
        if self.query.n_cal > self.schedule.most:
            larger = "budget" if isinstance(self.schedule, Fixed) else "schedule.most"
            raise ShortlistError(
                f"n_cal: {self.query.n_cal} calibration items do not fit in a batch of {self.schedule.most}; "
                f"lower n_cal of the query or raise {larger}"
            )

    def _check_parts(self) -> None:
        query: object = self.query
        if self.query.state is not None:
            raise ShortlistError("query: it is calibrated already; a campaign calibrates by itself, every round")
        if isinstance(query, Oracle):
            raise ShortlistError(
                "query: an oracle sees the truth and cannot be asked; charge a finished campaign with measures.recharge"
            )
        if self.price not in get_args(Pricing):
            raise ShortlistError(f"price: {self.price!r} is none of {', '.join(get_args(Pricing))}")
        if self.price == "measured" and not is_dataclass(query):
            raise ShortlistError("price: measured seconds are the cost of a copy of the query; make it a dataclass")
        if self.stop.watches_accuracy and not self.holdout and self.dataset.test_labels is None:
            raise ShortlistError("stop: accuracy is not known with neither a test split nor a holdout; set holdout")
        if self.acquisition.needs & {"features", "labelled_features"} and features_of(self.dataset) is None:
            method = getattr(self.acquisition, "inner", self.acquisition)  # the one that looks at them
            raise ShortlistError(
                f"acquisition: {type(method).__name__} needs features, and the dataset has none; "
                "give it some, one row per item, as Arrays(inputs, features=…)"
            )
        if "losses" in self.acquisition.needs:
            _check_part("model", self.model, (("perturbed_loss",), "Scikit(LogisticRegression())"))
            if hasattr(self.model, "check_perturbed_loss"):
                self.model.check_perturbed_loss()

    def try_model(self) -> None:
        """Refuse a model that fails on the dataset, before anybody is asked."""
        if hasattr(self.model, "check_dataset"):
            self.model.check_dataset(self.dataset, self.schedule.first_batch(known=0))

    def remarks(self) -> list[str]:
        """What is allowed and worth a word all the same."""
        if self.dataset.test_labels is None and not self.holdout:
            return ["accuracy is not measured: the dataset has no test split; set holdout to ask for one first"]
        return []

    @property
    def config(self) -> dict[str, Any]:
        """What was asked for, as plain values; what is at its default is left out, but for LEAST."""
        fixed = self.schedule if isinstance(self.schedule, Fixed) else None
        asked_for = {name: getattr(fixed, name) for name in FIXED if fixed}
        asked_for |= {name: getattr(self, name) for name in LEAST if name not in FIXED}
        for f in fields(self):  # a setting that a campaign of an earlier version does not know is at its default there
            if f.name not in LEAST and getattr(self, f.name) != f.default and not (fixed and f.name == "schedule"):
                asked_for[f.name] = getattr(self, f.name)
        config: dict[str, Any] = describe(asked_for)
        for name in config.keys() & {"stop", "overlap"}:
            del config[name]["name"]  # only one class fits there
        return config


def _check_part(name: str, part: Any, wanted: tuple[tuple[str, ...], str]) -> None:
    attributes, example = wanted
    if isinstance(part, type):
        raise ShortlistError(f"{name}: {part.__name__} is a class; give an instance of it, {part.__name__}(…)")
    for attribute in attributes:
        if not hasattr(type(part), attribute) and attribute not in getattr(part, "__dict__", {}):
            raise ShortlistError(f"{name}: {part!r} has no {attribute!r}; give something like {example}")


def _schedule(schedule: Schedule | None, initial: int | None, budget: int | None) -> Schedule:
    """The one that was given, or that of fixed batches."""
    given = {name: value for name, value in zip(FIXED, (initial, budget), strict=True) if value is not None}
    if schedule is not None and not isinstance(schedule, Fixed):
        if given:
            raise ShortlistError(f"{next(iter(given))}: give it or a schedule, not both")
        return schedule
    if schedule is not None:
        given |= {name: getattr(schedule, name) for name in FIXED}
    if missing := [name for name in FIXED if name not in given]:
        raise ShortlistError(f"{missing[0]}: a campaign needs it, or a schedule, such as Doubling(first=20, most=500)")
    whole = {name: _whole(name, value, LEAST[name]) for name, value in given.items()}
    return Fixed(**whole, rounds=schedule.rounds if schedule else None)


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ShortlistError(f"{name}: must be a whole number, got {value!r}") from None
    if number < least:
        raise ShortlistError(f"{name}: must be at least {least}, got {number}")
    return number
