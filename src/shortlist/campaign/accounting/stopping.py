"""When a campaign has had enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.types import Round, ShortlistError

SENSIBLE = 0.05  # of a batch asked conventionally: what is left for less would go on rounds of a few items


@dataclass(frozen=True)
class Stopping:
    """Any of these ends a campaign at the end of a round; what is None never does.

    Parameters
    ----------
    rounds : how many
    cost : in the unit of the cost model; also trims the last round to what is expected to fit, and ends the campaign
        when what is left would pay for less than a twentieth of a batch
    accuracy : in %
    flat : rounds in which accuracy has not risen by more than `tolerance` above its best before them
    tolerance : in points
    """

    rounds: int | None = None
    cost: float | None = None
    accuracy: float | None = None
    flat: int | None = None
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        for name in ("rounds", "cost", "accuracy", "flat"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value > 0):
                raise ShortlistError(f"stop: {name} must be above 0, got {value!r}")
            if name in ("rounds", "flat") and value is not None and value != int(value):
                raise ShortlistError(f"stop: {name} must be a whole number, got {value!r}")
        if self.accuracy is not None and self.accuracy <= 1:
            raise ShortlistError(f"stop: accuracy is in percent; {self.accuracy:g} would be reached at once")

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
        if self.accuracy is not None and last.accuracy is not None and last.accuracy >= self.accuracy:
            return f"accuracy {last.accuracy:.2f}% has reached {self.accuracy:g}%"
        known = [r.accuracy for r in finished if r.accuracy is not None]
        if self.flat is not None and len(known) > self.flat:
            has_risen = max(known[-self.flat :]) > max(known[: -self.flat]) + self.tolerance
            if not has_risen:
                return f"accuracy has been flat for {self.flat} rounds"
        return None
