"""One round of a campaign can be read through in an afternoon."""

from __future__ import annotations

from tests.walk import round_files


def test_a_simulated_round_walks_through_few_files() -> None:
    files = round_files()
    assert "campaign/engine.py" in files
    # 28 before how many to ask became a part of its own, campaign/schedule.py, and the floor, accounting/floor.py
    assert len(files) <= 30, files
