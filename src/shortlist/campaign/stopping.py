"""When a campaign has had enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.types import Round, ShortlistError


@dataclass(frozen=True)
class Stopping:
    """Any of these ends a campaign at the end of a round; what is None never does.

    `cost` also trims the last round to what is expected to fit. `flat` counts rounds in which accuracy has not
    risen by more than `tolerance` points above its best before them.
    """

    rounds: int | None = None
    cost: float | None = None  # in the unit of the cost model
    accuracy: float | None = None  # %
    flat: int | None = None  # rounds
    tolerance: float = 0.1  # points

    def __post_init__(self) -> None:
        for name in ("rounds", "cost", "accuracy", "flat"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ShortlistError(f"stop: {name} must be above 0, got {value}")

    @property
    def watches_accuracy(self) -> bool:
        return self.accuracy is not None or self.flat is not None

    def reason(self, finished: Sequence[Round]) -> str | None:
        """Why to stop now, in words; None to go on."""
        last = finished[-1]
        if self.rounds is not None and last.number >= self.rounds:
            return f"{self.rounds} rounds done"
        if self.cost is not None and last.cost >= self.cost * (1 - 1e-9):  # sums round
            return f"cost {last.cost:.1f} has reached {self.cost:g}"
        if self.accuracy is not None and last.accuracy is not None and last.accuracy >= self.accuracy:
            return f"accuracy {last.accuracy:.2f}% has reached {self.accuracy:g}%"
        if self.flat is not None and self._is_flat([r.accuracy for r in finished]):
            return f"accuracy has been flat for {self.flat} rounds"
        return None

    def _is_flat(self, accuracies: Sequence[float | None]) -> bool:
        known = [a for a in accuracies if a is not None]
        if self.flat is None or len(known) <= self.flat:
            return False
        return max(known[-self.flat :]) <= max(known[: -self.flat]) + self.tolerance
