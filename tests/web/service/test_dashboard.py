"""The numbers an owner looks at, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shortlist.campaign.accounting.timing import Timed
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.storage.store import AnswerRow
from shortlist.types import Answer
from shortlist.web.service import dashboard
from shortlist.web.service.dashboard import disputes, pace, set_aside, speed
from tests.campaign.toys import campaign, data, work

BLANK = AnswerRow(1, 1, 0, "ana", "label", 0, 2, 1.0, None, None, None, "2026-01-01T10:00", None, None, False)


def test_how_long_stages_took_by_how_many_options_they_showed() -> None:
    times = Timed([4, 2, 4, 4, 4, 4], [5.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    assert speed(times) == [
        {"options": 2, "n": 1, "median": 1.0, "low": 1.0, "high": 1.0},
        {"options": 4, "n": 5, "median": 3.0, "low": 2.0, "high": 4.0},
    ]
    assert speed(Timed()) == []


def test_how_much_a_person_has_answered_and_in_what_time() -> None:
    answers = [
        replace(BLANK, active_seconds=30.0),
        replace(BLANK, active_seconds=60.0, misses=1, at="2026-01-02T10:00"),
        replace(BLANK, kind="skip", label=None),
        replace(BLANK, active_seconds=90.0, misses=2),
    ]
    assert pace(answers) == {
        "answers": 4,
        "skips": 1,
        "nones": 2,
        "minutes": 3.0,
        "median_seconds": 60.0,
        "last": "2026-01-02T10:00",
    }
    assert pace([]) == {"answers": 0, "skips": 0, "nones": 0, "minutes": 0, "median_seconds": None, "last": None}


def test_no_more_is_listed_than_anybody_looks_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disputes with every vote, and items set aside: the first of them."""
    known = data()
    with campaign(tmp_path / "run", known, overlap=Overlap(2, 1.0)) as going:
        work(going)
        asked = going.open_questions()
        for person, label in (("ana", 1), ("ben", 2)):
            going.record([Answer(q.id, "label", (label,), person, note="?") for q in asked[:3]])
            going.record([Answer(q.id, "none", (-1,), person) for q in asked[3:6]])
        open_ = disputes(going)
        assert [case["item"] for case in open_] == [q.item for q in asked[:3]]
        assert open_[0]["votes"] == [
            {"person": person, "kind": "label", "label": label, "note": "?"}
            for person, label in (("ana", 1), ("ben", 2))
        ]
        aside = set_aside(going)
        assert sorted(case["item"] for case in aside) == sorted(q.item for q in asked[3:6])
        assert {(case["why"], case["person"]) for case in aside} == {("none", "ben")}  # as it was said last
        monkeypatch.setattr(dashboard, "MOST", 2)
        assert (disputes(going), set_aside(going)) == (open_[:2], aside[:2])
