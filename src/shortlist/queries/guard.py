"""Never dearer than asking conventionally, by evidence: whether lists have been cheaper on answers not learnt from."""

from __future__ import annotations

from array_api_compat import array_namespace

from shortlist.types import Array, ShortlistError

Z = 1.6449  # of a normal law 95% lie above −Z
FEWEST = 20  # answers; fewer are no evidence


def pays(lists: Array, conventional: Array) -> bool:
    """Whether lists are cheaper, from what the same answers cost with them and without.

    They have to be by the lower 95% limit of the mean saving, answer by answer.

    >>> import numpy as np
    >>> whole = np.full(40, 4.0)
    >>> pays(np.tile([1.0, 5.0], 20), whole), pays(np.tile([1.0, 6.9], 20), whole), pays(np.ones(19), np.ones(19) * 4)
    (True, False, False)
    """
    saving = conventional - lists
    n = saving.shape[0]
    if n < FEWEST:
        return False
    xp = array_namespace(saving)
    spread = float(xp.std(saving, correction=1)) / n**0.5
    return bool(float(xp.mean(saving)) > Z * spread)


def check_guard(name: str, guard: bool, n_cal: int) -> None:
    """Refuse a guard that could never be convinced."""
    if guard and 0 < n_cal < FEWEST:
        raise ShortlistError(
            f"{name}: n_cal must be 0 or at least {FEWEST} with a guard, got {n_cal}: fewer are no evidence"
        )
