"""Settings that tests of acquisition functions share."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def tiles_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes every tile hold so many numbers, wherever the arrays are."""

    def hold(numbers: int) -> None:
        for name in ("TILE", "CUDA_TILE"):
            monkeypatch.setattr(f"shortlist.acquisition.geometry.points.{name}", numbers)

    return hold
