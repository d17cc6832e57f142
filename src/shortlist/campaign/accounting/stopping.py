"""When a campaign has had enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from shortlist.rates import DIGITS, percent
from shortlist.types import Round, ShortlistError

SENSIBLE = 0.05  # of a batch asked conventionally: what is left for less would go on rounds of a few items
IN_PERCENT = ("accuracy", "tolerance")  # where they are written in a file


@dataclass(frozen=True)
class Stopping:
    """Any of these ends a campaign at the end of a round; what is None never does.

    Parameters
    ----------
    rounds : how many
    cost : in the unit of the cost model; also trims the last round to what is expected to fit, and ends the campaign
        when what is left would pay for less than a twentieth of a batch
    accuracy : a share, 0.9 for 90%
    flat : rounds in which accuracy has not risen by more than `tolerance` above its best before them
    tolerance : a share too, 0.001 for a tenth of a point

    In files both are in percent, and always were: `accuracy = 90`, `tolerance = 0.1`.

    >>> Stopping.written(accuracy=90) == Stopping(accuracy=0.9)
    True
    """

    rounds: int | None = None
    cost: float | None = None
    accuracy: float | None = None
    flat: int | None = None
    tolerance: float = 0.001

    def __post_init__(self) -> None:
        for name in ("rounds", "cost", "accuracy", "flat"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not (isinstance(value, int | float) and value > 0)):
                raise ShortlistError(f"stop: {name} must be above 0, got {value!r}")
            if name in ("rounds", "flat") and value is not None and value != int(value):
                raise ShortlistError(f"stop: {name} must be a whole number, got {value!r}")
        if self.accuracy is not None and self.accuracy > 1:
            never = f"stop: an accuracy of {100 * self.accuracy:g}% is never reached"
            raise ShortlistError(f"{never}; in Python it is a share, 0.9 for 90%")
        if not (isinstance(self.tolerance, int | float) and self.tolerance < 1):
            raise ShortlistError(f"stop: tolerance is a share, 0.001 for a tenth of a point; got {self.tolerance!r}")

    @classmethod
    def written(cls, **table: Any) -> Self:
        """From `[stop]` of a recipe or a campaign.toml, which has percent."""
        accuracy = table.get("accuracy")
        if accuracy is not None and 0 < accuracy <= 1:
            raise ShortlistError(f"stop: accuracy is in percent here; {accuracy:g} would be reached at once")
        return cls(**table | {name: table[name] / 100 for name in IN_PERCENT if table.get(name) is not None})

    def spec(self) -> dict[str, Any]:
        """As `written` takes it."""
        return asdict(self) | {name: percent(getattr(self, name)) for name in IN_PERCENT}

    @property
    def watches_accuracy(self) -> bool:
        return self.accuracy is not None or self.flat is not None

    def reason(self, finished: Sequence[Round], batch_cost: float = 0.0) -> str | None:
        """Why to stop now, in words; None to go on. `batch_cost` is what a batch costs conventionally."""
        last = finished[-1]
        if self.rounds is not None and last.number >= self.rounds:
            return f"{self.rounds} rounds done"
        if self.cost is not None and self.cost - last.cost < max(SENSIBLE * batch_cost, 1e-9 * self.cost):
            return f"cost: {last.cost:.1f} of {self.cost:g} is spent"
        if self.accuracy is not None and last.accuracy is not None and _above(self.accuracy, last.accuracy) <= 0:
            return f"accuracy {last.accuracy:.2%} has reached {percent(self.accuracy):g}%"
        known = [r.accuracy for r in finished if r.accuracy is not None]
        if self.flat is not None and len(known) > self.flat:
            risen = _above(max(known[-self.flat :]), max(known[: -self.flat]))
            if _above(risen, self.tolerance) <= 0:
                return f"accuracy has been flat for {self.flat} rounds"
        return None


def _above(one: float, other: float) -> float:
    """By how much, where 0.573 and 57.3 / 100 are the same."""
    return round(one - other, DIGITS)
