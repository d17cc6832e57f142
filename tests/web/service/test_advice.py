"""An owner is told why lists save nothing, and what would help; and how much time they save, once that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist import measures
from shortlist.campaign.accounting.timing import ENOUGH, Taken, Timed
from shortlist.campaign.engine import Campaign
from shortlist.datasets.arrays import Arrays
from shortlist.models.scikit import Scikit
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.top_k import TopK
from shortlist.types import Question
from shortlist.web.service.advice import advice
from tests.campaign.toys import Fixed, answers, campaign, data
from tests.models.installed import only
from tests.web.serving import Served, served, truth


def told(going: Campaign) -> Any:
    return advice(going, measures.record_of(going.view))


def answered(going: Campaign, rounds: int) -> None:
    """So many rounds, all of them answered, and the next one begun."""
    while len(going.finished_rounds()) < rounds:
        going.record(answers(going.questions(), data().labels))


def test_before_the_first_list_it_says_when_they_come(tmp_path: Path) -> None:
    with campaign(tmp_path / "run", query=TopK(2)) as going:
        going.questions()
        got = told(going)
        assert got["says"].startswith("Lists save nothing yet: all classes are shown until a model has learnt")


def test_lists_that_pay_need_no_advice(tmp_path: Path) -> None:
    sure = np.full((40, 5), 0.01)
    sure[np.arange(40), data().labels] = 0.96
    with campaign(tmp_path / "run", query=TopK(1), model=Fixed(sure, np.full((20, 5), 0.2))) as going:
        answered(going, 2)
        assert told(going) is None


def test_lists_that_cost_more_than_they_spare_are_told(tmp_path: Path) -> None:
    wrong = np.full((40, 5), 0.01)
    wrong[np.arange(40), (data().labels + 1) % 5] = 0.96
    with campaign(tmp_path / "run", query=TopK(1), model=Fixed(wrong, np.full((20, 5), 0.2))) as going:
        answered(going, 2)
        assert told(going)["says"].startswith("Lists have saved nothing so far: ")


@pytest.mark.parametrize("guard", [True, False])
def test_lists_that_are_switched_off_are_told_and_whether_they_come_back(tmp_path: Path, guard: bool) -> None:
    even = Fixed(np.full((40, 5), 0.2), np.full((20, 5), 0.2))
    query = CandidateSet(n_cal=0, guard=guard)
    with campaign(tmp_path / "run", query=query, model=even) as going:
        answered(going, 2)
        got = told(going)
        assert got["says"].startswith("Lists save nothing now: by the answers so far, asking with all classes is as")
        assert ("They come back by themselves" in got["says"]) == guard
        assert got["helps"] == [
            "More labels: 16 for 5 classes are few, and the model learns every round.",
            "Names that say what a class is: 5 of 5 are no words (such as 'c0'). People find words faster.",
        ]


def test_the_next_better_encoder_is_named_with_how_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"words of item {i}" for i in range(40)]
    mail = Arrays(texts, np.arange(40) % 2, classes=["ham mail", "spam mail"])
    only(monkeypatch)
    with Campaign(
        tmp_path / "run", dataset=mail, model=Scikit(), query=TopK(1), acquisition=_random(), initial=5, budget=5
    ) as going:
        going.questions()
        (help_,) = told(going)["helps"]
        assert help_.startswith("A better encoder, wordllama (pip install 'shortlist-al[text]'): on 753 labels of 77 ")
        assert help_.endswith(
            "begin another one with --model package:wordllama, and import the labels of this one there."
        )


def _random() -> Any:
    from shortlist.acquisition.random import Random

    return Random()


# --- as time -------------------------------------------------------------------------------------------------------


def question(cuts: tuple[int, ...]) -> Question:
    return Question(1, 2, 7, "7", "query", classes=(4, 2)[: len(cuts)], cuts=cuts, n_classes=9)


def test_time_is_what_all_classes_took_here_less_what_lists_took() -> None:
    times = Timed()
    for n in range(ENOUGH):
        assert times.saved is None
        times.add(question(()), [6.0 + n % 2])
        times.add(question((1,)), [1.0, 2.0] if n % 3 == 0 else [1.0])
    assert times.whole == Taken(ENOUGH, 6.5 * ENOUGH)
    assert times.saved == pytest.approx(ENOUGH * 6.5 - ENOUGH - 2 * ENOUGH / 3)


def test_no_time_is_told_before_there_are_answers_with_lists_and_without(tmp_path: Path) -> None:
    with served(tmp_path / "run", query=TopK(1), initial=30, budget=40, ahead=0) as app:
        ana, olga = app.sign_in("ana"), app.sign_in("olga", "owner")
        _answer(app, ana, 30, seconds=6.0)
        status = ana.get("/api/status")
        assert (status["saved_minutes"], status["accuracy"], status["left"]) == (None, None, 30)
        assert olga.get("/api/dashboard")["pace"] is None
        app.work()
        assert ana.get("/api/status")["accuracy"] is not None
        _answer(app, ana, 30, seconds=1.5)
        status, pace = ana.get("/api/status"), app.service.times
        assert status["saved_minutes"] == round((30 * 6 - pace.listed.seconds) / 60, 1)
        assert status["left"] == status["items"] - status["items_done"] == 0
        assert app.recounted() == status


def _answer(app: Served, person: Any, n: int, seconds: float) -> None:
    for _ in range(n):
        (asked,) = person.questions(1)
        label = truth(asked)
        stages = 1 if label in asked["classes"] or not asked["classes"] else 2
        path = [label] if stages == 1 else [-1, label]
        person.post("/api/answers", question=asked["id"], kind="label", path=path, stage_seconds=[seconds] * stages)
