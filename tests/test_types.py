"""What a question shows stage by stage, and which paths through it there are, against walking through it."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist.types import NONE, Answer, AnswerKind, Question, ShortlistError, check_numbers
from tests.cases import in_turn


@st.composite
def questions(draw: st.DrawFn) -> Question:
    n_classes = draw(st.integers(1, 6))
    order = draw(st.permutations(range(n_classes)))
    rejected = order[n_classes - draw(st.integers(0, n_classes - 1)) :]
    left = n_classes - len(rejected)
    cuts = tuple(sorted(draw(st.sets(st.integers(1, left)))))
    exhaustive = draw(st.booleans()) or not cuts
    if exhaustive and cuts and cuts[-1] == left:
        cuts = cuts[:-1]  # the last stage shows what is left, and that is something
    listed = tuple(order[: cuts[-1] if cuts else 0])
    return Question(1, 2, 0, "a", "query", listed, cuts, n_classes, exhaustive, tuple(rejected))


@given(questions())
def test_stages_share_out_what_has_not_been_ruled_out(question: Question) -> None:
    shown = [cls for stage in question.stages for cls in stage]
    left = set(range(question.n_classes)) - set(question.rejected)
    assert len(shown) == len(set(shown))
    assert set(shown) == (left if question.exhaustive else set(question.classes))
    assert question.n_left == len(left)
    assert question.shortlist == (question.stages[0] if question.cuts else None)
    remaining = len(left)
    for stage, classes in enumerate(question.stages):
        remaining -= len(classes)
        assert question.options[stage] == len(classes) + (remaining > 0)  # and "None of the above"
        shows = [cls for cls in range(-1, question.n_classes + 2) if question.shows(stage, cls)]
        assert shows == sorted(classes)
    assert len(question.options) == len(question.stages) == len(question.edges) - 1


@given(questions())
def test_paths_are_those_that_one_can_walk(question: Question) -> None:
    """ "None" at stage after stage, then a class shown there; or the end: of all stages, or before one that is seen."""
    n = len(question.stages)
    walks = {("none", (NONE,) * n)}
    walks |= {(kind, (NONE,) * stage) for kind in ("skip", "unreadable") for stage in range(n)}
    walks |= {("label", (*(NONE,) * stage, cls)) for stage in range(n) for cls in (*question.stages[stage], 7)}
    tried = [path for length in range(n + 2) for path in product((NONE, 7, *range(question.n_classes)), repeat=length)]
    for path in tried if len(tried) < 3000 else []:
        for kind in (*get_args(AnswerKind), "maybe"):
            can: bool = question.can_end(kind, path)
            assert can == ((kind, path) in walks or (kind == "label" and _is_walk(path, n))), (kind, path)


def _is_walk(path: tuple[int, ...], n: int) -> bool:
    """To some class; whether it is shown there is `shows` to say."""
    return 0 < len(path) <= n and set(path[:-1]) <= {NONE} and path[-1] != NONE


@given(questions())
def test_who_knows_the_label_says_it_where_it_is_shown(question: Question) -> None:
    for label in set(range(question.n_classes)) - set(question.rejected):
        path, decided = question.path_to(label), question.path_to(label, decided=True)
        stage = next((i for i, classes in enumerate(question.stages) if label in classes), None)
        if stage is None:  # nothing asks about it
            assert path == (NONE,) * len(question.cuts)
            assert decided == (*path, label)
        else:
            assert path == decided == (*(NONE,) * stage, label)
            assert question.can_end("label", path)
        assert question.decided_path("label", label) == decided
    assert question.decided_path("none", None) == (NONE,) * len(question.stages)
    assert question.decided_path("skip", None) == question.decided_path("label", None) == ()


@in_turn(
    ("answer", "label", "seen"),
    [
        (Answer(1, "label", (NONE, 3)), 3, 2),
        (Answer(1, "none", (NONE, NONE)), None, 2),
        (Answer(1, "skip", (NONE,)), None, 2),
        (Answer(1, "unreadable"), None, 1),
    ],
)
def test_what_an_answer_says_and_has_seen(answer: Answer, label: int | None, seen: int) -> None:
    assert (answer.label, answer.stages_seen) == (label, seen)


def test_a_number_is_a_number() -> None:
    check_numbers("part", none=None, whole=3, real=0.5, numpy=np.float32(2))
    for wrong in ("3", True, [1], np.bool_(True)):
        settings: dict[str, Any] = {"fine": 1, "k": wrong}
        with pytest.raises(ShortlistError, match="part: k must be a number, got "):
            check_numbers("part", **settings)
