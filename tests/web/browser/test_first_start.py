"""From a folder of pictures to the first label, as somebody who has just installed it."""

from __future__ import annotations

import getpass
from pathlib import Path

from PIL import Image

from tests.web.browser.conftest import Sit
from tests.web.browser.labelling import Labelling, shortlist
from tests.web.chromium import faults
from tests.web.conftest import Picture


def coloured_squares(root: Path) -> Path:
    for name, colour in {"blue": (20, 60, 200), "green": (30, 160, 60), "red": (200, 30, 40)}.items():
        (root / name).mkdir(parents=True)
        for i in range(8):
            Image.new("RGB", (48, 32), tuple(min(255, c + 6 * i) for c in colour)).save(root / name / f"{i}.png")
    return root


def test_first_start_to_first_label(tmp_path: Path, sit: Sit, picture: Picture) -> None:
    campaign = tmp_path / "colours"
    said = shortlist("init", campaign, "--images", coloured_squares(tmp_path / "photos"))
    assert f"next: shortlist label {campaign}" in said
    with Labelling(campaign) as served:
        seat = sit(served, served.start_link)
        seat.next_item()
        picture(seat.page, "first-start")
        assert seat.options == {"blue": "1", "green": "2", "red": "3"}
        assert faults(seat.page) == []
        seat.press("2")
        seat.next_item()
        seat.saved()
        (answer,) = served.answers()
        assert (answer["key"], answer["class"], answer["kind"]) == (seat.seen[0], "green", "label")
        assert answer["person"] == getpass.getuser()
        assert len(answer["stage_seconds"]) == 1
        assert 0 < answer["active_seconds"] == sum(answer["stage_seconds"]) <= answer["wall_seconds"]
