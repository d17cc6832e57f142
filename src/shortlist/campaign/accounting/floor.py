"""The floor: the least that answers could have cost with what a model said of their items, one by one, in bits.

An answer that was held for q probable has an ideal length of −log2 q bits. What asks about one item at a time and costs
c bits for an answer believes, as a code does, in 2^−c: if answers come as q says, it cannot do with less on average. A
model that knows more has a lower floor. Pages and finishing, which settle several items at once, are not bound by it.

    q = (1 − share)·p^(1/T)/Z + share/L

where p is what was said of the item before it was asked. How far to believe it is left to the answers: those of a round
are together as probable as they are on average over TEMPERATURES and SHARES. So each is believed as far as those before
it bear out, and all of them are at most log2(28) bits longer than with the best of these, and so than when asked
conventionally. It is the same however they were asked. Where nothing had been said, in the first round, the length is
that of the conventional question.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from shortlist.campaign.storage.store import Told
from shortlist.campaign.view import View
from shortlist.probabilities import tempered
from shortlist.types import Floats, Ints, ShortlistError

TEMPERATURES = (0.5, 1.0, 2.0, 4.0)
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
ROWS = 64  # tempered together: what they need stays in the cache


def lengths(view: View) -> Iterator[float]:
    """After each finished round the ideal length of all answers so far, in bits."""
    so_far = 0.0
    for row in view.rounds():
        if row.result is not None:
            yield (so_far := so_far + _of_round(view, row.number, row.trained_through))


def kept(view: View, number: int, through: int) -> float | None:
    """What a round that has learnt from the answers up to `through` keeps; None where costs are not in bits.

    None, too, where what was said in earlier rounds is gone: a round can be finished without it.
    """
    if not counts_bits(view.config()):
        return None
    done = [row.result for row in view.rounds() if row.result is not None and row.number < number]
    so_far = done[-1].floor if done else 0.0
    try:
        if so_far is None:  # rounds of an earlier version did not keep it
            *_, so_far = lengths(view)
        return so_far + _of_round(view, number, through)
    except ShortlistError:
        return None


def counts_bits(config: Mapping[str, Any]) -> bool:
    return str(config["query"].get("cost", {}).get("name", "bits")) == "bits"


def ideal_length(lengths: Floats) -> float:
    """Bits of answers that are as probable as on average over beliefs, from their bits by each of them.

    >>> ideal_length(np.array([3.0, 3.0])), ideal_length(np.array([2.0, np.inf]))
    (3.0, 3.0)
    """
    return math.log2(len(lengths)) - float(np.logaddexp2.reduce(-lengths))


# --- round by round ----------------------------------------------------------------------------------------------


def _of_round(view: View, number: int, through: int | None) -> float:
    """Of the answers that a round has learnt from and the round before has not; late ones to earlier questions too."""
    told = view.told(number, number, through=through)
    before = next((row.trained_through for row in view.rounds() if row.number == number - 1), None)
    if before is not None:
        told += view.told(1, number - 1, after=before, through=through)
    asked_in = attrgetter("round")
    by_round = groupby(sorted(told, key=asked_in), key=asked_in)
    return math.fsum(_of_questions(view, asked, list(answers)) for asked, answers in by_round)


def _of_questions(view: View, number: int, told: Sequence[Told]) -> float:
    """Of answers to questions of one round."""
    lots = _lots(view, number, told)
    spoken_of = {answer.id for lot in lots for answer in lot.told}
    unspoken = [math.log2(answer.n_possible / answer.n_left) for answer in told if answer.id not in spoken_of]
    if not spoken_of:
        return math.fsum(unspoken)
    each = np.sum([lot.lengths() for lot in lots], axis=0)
    return math.fsum([*unspoken, ideal_length(each)])


# --- what was said of what was told ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lot:
    """Answers, and what one model had said of their items."""

    told: Sequence[Told]  # (n,)
    rows: Ints  # (n,) of probs
    probs: Any  # (m, L)

    def lengths(self) -> Floats:
        """(28,) the bits of all answers, by each temperature and share.

        An answer leaves the class that it names, or all but those that it says it is not.
        """
        n, width = len(self.told), self.probs.shape[1]
        at, cls = np.asarray([(at, c) for at, answer in enumerate(self.told) for c in answer.named], np.int64).T
        there = cls < width  # classes that were added later had not been spoken of
        is_label = np.asarray([answer.label is not None for answer in self.told], np.bool_)
        even = np.asarray([answer.n_left / answer.n_possible for answer in self.told])
        result = []
        for temperature in TEMPERATURES:
            said = self._said(at[there], cls[there], temperature)
            named = np.bincount(at[there], weights=said, minlength=n)
            left = np.where(is_label, named, np.clip(1 - named, 0.0, None))
            result += [-np.log2((1 - share) * left + share * even).sum() for share in SHARES]
        return np.asarray(result)

    def _said(self, at: Ints, cls: Ints, temperature: float) -> Any:
        """What was said of classes of answers, the first answers first."""
        if temperature == 1:
            return self.probs[self.rows[at], cls]
        parts = []
        for start in range(0, len(self.told), ROWS):
            first, last = np.searchsorted(at, [start, start + ROWS])
            heated = tempered(self.probs[self.rows[start : start + ROWS]], temperature)
            parts.append(heated[at[first:last] - start, cls[first:last]])
        return np.concatenate(parts)


def _lots(view: View, number: int, told: Sequence[Told]) -> list[Lot]:
    """Answers to questions of one round by the model that had spoken of them; those asked before there was one are left
    out."""
    own = [answer for answer in told if answer.purpose in ("query", "calibration")]
    early = [answer for answer in told if answer.purpose == "ahead"]
    lots = []
    if own:
        asked = view.asked(number)
        lots.append(_lot(own, asked.items, asked.probs))
    if early and number > 2:
        asked = view.asked(number - 1)
        lots.append(_lot(early, asked.ahead_items, asked.ahead_probs))
    return lots


def _lot(told: Sequence[Told], items: Ints, probs: Any) -> Lot:
    row_of = {item: row for row, item in enumerate(items.tolist())}
    return Lot(told, np.asarray([row_of[answer.item] for answer in told], np.int64), probs)
