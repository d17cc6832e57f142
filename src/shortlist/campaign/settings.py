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
from shortlist.plans import QueryDesign
from shortlist.queries.oracle import Oracle
from shortlist.types import Acquisition, Dataset, Model, ShortlistError

PARTS = {  # what a campaign calls on each of its parts, and an example of one
    "dataset": (("keys", "classes", "labels", "inputs"), "Arrays(inputs, labels)"),
    "model": (("prepare", "fit", "predict", "predict_test", "save", "load"), "Scikit(estimator)"),
    "query": (("calibrate", "restored", "state", "price", "plan", "n_cal", "cost"), "CandidateSet()"),
    "acquisition": (("select", "needs"), "Entropy()"),
    "stop": (("reason",), "Stopping(accuracy=0.9)"),
}
# whole numbers and their least; they stand in every campaign.toml, at their defaults too
LEAST = {"initial": 1, "budget": 1, "seed": 0, "holdout": 0, "ahead": 0}


@dataclass(frozen=True)
class Settings:
    """What a campaign is asked to do.

    Parameters
    ----------
    dataset, model, query, acquisition : its parts
    initial : how many random items are asked first, conventionally
    budget : how many items are asked in every round after that
    rounds : stop after so many; short for `stop=Stopping(rounds=…)`
    seed : of everything random
    holdout : how many random items are asked before everything else, and only measured with
    ahead : how many next-ranked items a round keeps ready for people who would otherwise wait while a model trains
    stop : when to end
    overlap : which items are answered by several people
    annotator : where answers will come from, for the record
    price : `measured` makes lists and selects items by the seconds that people have taken so far; answers are charged
        by the query's cost all the same
    """

    dataset: Dataset
    model: Model
    query: QueryDesign
    acquisition: Acquisition
    initial: int
    budget: int
    rounds: InitVar[int | None] = None
    seed: int = 0
    holdout: int = 0
    ahead: int = 0
    stop: Stopping = field(default_factory=Stopping)
    overlap: Overlap | None = None
    annotator: Mapping[str, Any] | None = None
    price: Pricing = "cost"

    def __post_init__(self, rounds: int | None) -> None:
        for name, wanted in PARTS.items():
            _check_part(name, getattr(self, name), wanted)
        if rounds is not None:
            object.__setattr__(self, "stop", replace(self.stop, rounds=rounds))
        for name, least in LEAST.items():
            object.__setattr__(self, name, _whole(name, getattr(self, name), least))
        self._check_sizes()
        self._check_parts()
        # D_cal is never asked ahead, so that many of a batch are not there to hand out
        object.__setattr__(self, "ahead", min(self.ahead, self.budget - self.query.n_cal))

    def _check_sizes(self) -> None:
        n = len(self.dataset.keys)
        if self.holdout >= n:
            raise ShortlistError(f"holdout: {self.holdout} items leave nothing to label; the dataset has {n}")
        if self.query.n_cal > self.budget:
            raise ShortlistError(
                f"n_cal: {self.query.n_cal} calibration items do not fit in a batch of {self.budget}; "
                "lower n_cal of the query or raise budget"
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
            self.model.check_dataset(self.dataset, self.initial)

    def remarks(self) -> list[str]:
        """What is allowed and worth a word all the same."""
        if self.dataset.test_labels is None and not self.holdout:
            return ["accuracy is not measured: the dataset has no test split; set holdout to ask for one first"]
        return []

    @property
    def config(self) -> dict[str, Any]:
        """What was asked for, as plain values; what is at its default is left out, but for LEAST."""
        asked_for = {name: getattr(self, name) for name in LEAST}
        for f in fields(self):  # a setting that a campaign of an earlier version does not know is at its default there
            if f.name not in LEAST and getattr(self, f.name) != f.default:
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


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ShortlistError(f"{name}: must be a whole number, got {value!r}") from None
    if number < least:
        raise ShortlistError(f"{name}: must be at least {least}, got {number}")
    return number
