"""How long an answer can have taken, and what a plan becomes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shortlist.campaign.questions.questions import check_seconds, conventional_rows, question_rows
from shortlist.plans import nested
from shortlist.types import NONE, Answer, AnswerKind, ShortlistError
from tests.cases import in_turn


@in_turn(
    ("kind", "path", "stages", "right"),
    [
        ("label", (NONE, 2), (0.0, 1.5), True),
        ("label", (NONE, 2), (1.5,), False),
        ("label", (2,), (1.5, 1.5), False),
        ("label", (2,), (), False),
        ("label", (2,), None, True),
        ("none", (NONE, NONE), (1.0, 1.0), True),
        ("none", (NONE, NONE), (1.0,), True),  # said without looking at every stage
        ("none", (NONE, NONE), (), False),
        ("none", (NONE,), (1.0, 1.0), False),
        ("skip", (NONE,), (1.0, 1.0), True),
        ("skip", (NONE,), (1.0,), False),
        ("unreadable", (), (1.0,), True),
    ],
)
def test_a_time_for_every_stage_that_was_seen(kind: AnswerKind, path: Any, stages: Any, right: bool) -> None:
    answer = Answer(7, kind, path, stage_seconds=stages)
    if right:
        check_seconds(answer)
    else:
        with pytest.raises(ShortlistError, match=f"question 7 was answered in {answer.stages_seen} stages, not"):
            check_seconds(answer)


@in_turn("field", ["stage_seconds", "active_seconds", "wall_seconds"])
@in_turn("seconds", [-0.1, math.inf, -math.inf, math.nan])
def test_no_time_is_negative_or_endless(field: str, seconds: float) -> None:
    right: dict[str, Any] = {"stage_seconds": (0.0,), "active_seconds": 0.0, "wall_seconds": 0.0}
    check_seconds(Answer(7, "label", (1,), **right))
    wrong = (seconds,) if field == "stage_seconds" else seconds
    with pytest.raises(ShortlistError, match="question 7 cannot have taken"):
        check_seconds(Answer(7, "label", (1,), **{**right, field: wrong}))


def test_a_plan_becomes_a_question_an_item() -> None:
    probs = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    plan = nested(probs, np.array([[1, 3], [2, 3]]), reach=0.1)
    first, second = question_rows(plan, np.array([4, 9]), 2, "query", {9: {0}}, "reserved")
    shown = [np.frombuffer(row["classes"], "<i4").tolist() for row in (first, second)]
    assert shown[0][:1] == [0]
    assert shown[1][:2] == [2, 1]
    assert [(row["cuts"], row["size"], row["rejected"]) for row in (first, second)] == [([1], 1, []), ([2], 2, [0])]
    assert {(row["round"], row["n_classes"], row["state"]) for row in (first, second)} == {(2, 3, "reserved")}
    (whole,) = conventional_rows(np.array([4]), 3, 1, "initial")
    assert (whole["item"], whole["cuts"], whole["size"], whole["classes"]) == (4, [], 3, b"")
    assert (whole["exhaustive"], whole["state"], whole["purpose"]) == (True, "open", "initial")


def test_a_conventional_question_shows_what_is_not_ruled_out() -> None:
    plan = nested(np.array([[0.5, 0.3, 0.2]]), np.array([[3]]), reach=0.0)
    (row,) = question_rows(plan, np.array([4]), 2, "query", {4: {1}})
    assert (row["cuts"], row["size"]) == ([], 2)
