"""Ahead questions: the next-ranked items, for people who would wait while a model trains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist import measures
from shortlist.campaign.engine import Campaign
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.types import Answer, Question, Round
from tests.campaign.toys import answers, asked, asked_about, campaign, data, rows, run, work

DATA = data(60)


def answer(going: Campaign, questions: list[Question] | None = None) -> None:
    going.record(answers(going.open_questions() if questions is None else questions, DATA.labels))


def finish_asking(going: Campaign) -> None:
    """Answer what is open, calibration first, until the round's model can be trained."""
    number = going.store.rounds()[-1].number
    while waiting := [q for q in going.open_questions() if q.round == number]:
        answer(going, waiting)
        if going.store.rounds()[-1].state == "calibrating":
            going.advance()


def in_round(tmp_path: Path, number: int, **settings: Any) -> Campaign:
    """Where round `number` has been asked and answered, and its model is still to be trained."""
    going = campaign(tmp_path, DATA, **{"ahead": 4, "rounds": 6, **settings})
    for _ in range(number):
        work(going)
        finish_asking(going)
    return going


def test_they_are_the_next_ranked_items(tmp_path: Path) -> None:
    with in_round(tmp_path, 2) as going:
        handed = going.ahead(3)
        said = asked(tmp_path, 2)
    assert [q.item for q in handed] == said.ahead_items[:3].tolist()
    assert {q.purpose for q in handed} == {"ahead"}
    entropies = -(said.probs * np.log(said.probs)).sum(axis=1)
    next_ones = -(said.ahead_probs * np.log(said.ahead_probs)).sum(axis=1)
    assert next_ones.max() <= entropies.min()
    assert list(next_ones) == sorted(next_ones, reverse=True)


def test_they_are_asked_with_the_current_threshold(tmp_path: Path) -> None:
    with in_round(tmp_path, 2) as going:
        handed = going.ahead(4)
        row = going.store.rounds()[-1]
        query = going.query.restored({"alpha": row.alpha, "threshold": row.threshold})
    plan = query.plan(asked(tmp_path, 2).ahead_probs)
    assert [q.cuts[0] if q.cuts else 5 for q in handed] == plan.sizes.tolist()


def test_they_count_in_the_next_rounds_budget_and_never_in_d_cal(tmp_path: Path) -> None:
    with in_round(tmp_path, 2) as going:
        answer(going, going.ahead(3))
        work(going)
        finish_asking(going)
        work(going)
        finished = going.finished_rounds()
    third = [q for q in rows(tmp_path) if q.round == 3 and q.state == "open"]
    assert [q.purpose for q in third].count("ahead") == 3
    assert [q.purpose for q in third].count("calibration") == 3
    assert [q.purpose for q in third].count("query") == 2
    assert finished[2].asked == 8
    assert finished[2].labelled == 24


def test_those_nobody_was_given_return_to_the_pool(tmp_path: Path) -> None:
    with in_round(tmp_path, 1) as going:
        (handed,) = going.ahead(1)
        answer(going, [handed])
        work(going)
    kept = [q for q in rows(tmp_path) if q.round == 2 and q.purpose == "ahead"]
    assert [(q.item, q.state) for q in kept] == [(handed.item, "open")]


def test_none_is_handed_out_twice(tmp_path: Path) -> None:
    with in_round(tmp_path, 1) as going:
        first, then = going.ahead(3), going.ahead(3)
        assert len(first) == 3
        assert len(then) == 1
        assert {q.item for q in first}.isdisjoint(q.item for q in then)
        assert going.ahead(3) == []


def test_an_unanswered_one_holds_up_the_end_of_the_next_round_only(tmp_path: Path) -> None:
    with in_round(tmp_path, 1) as going:
        (handed,) = going.ahead(1)
        work(going)
        assert going.store.rounds()[-1].state == "calibrating"  # round 1 is done, round 2 has begun
        answer(going, [q for q in going.open_questions() if q.purpose == "calibration"])
        work(going)
        assert going.store.rounds()[-1].state == "asking"  # and its threshold is found
        answer(going, [q for q in going.open_questions() if q.purpose == "query"])
        assert not going.advance()
        assert going.open_questions() == [handed]
        answer(going, [handed])
        assert going.advance()
        assert going.finished_rounds()[-1].number == 2


def test_a_skipped_one_waits_for_the_round_after(tmp_path: Path) -> None:
    with in_round(tmp_path, 1) as going:
        (handed,) = going.ahead(1)
        going.record([Answer(handed.id, "skip")])
        work(going)
        assert sum(q.item == handed.item for q in rows(tmp_path)) == 1
        finish_asking(going)
        work(going)
        assert handed.item in going._pool(going._resolution(), 4)


def test_the_last_round_prepares_none(tmp_path: Path) -> None:
    with in_round(tmp_path, 3, rounds=3) as going:
        assert going.ahead(3) == []


def test_a_campaign_that_is_over_hands_out_none(tmp_path: Path) -> None:
    from shortlist.campaign.accounting.stopping import Stopping

    with in_round(tmp_path, 2, rounds=None, stop=Stopping(accuracy=0.02)) as going:
        work(going)
        assert going.ending is not None
        assert going.ahead(3) == []


def test_before_the_start_there_are_none(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA, ahead=3) as going:
        assert going.ahead(3) == []


def test_a_simulation_uses_none_and_is_not_changed_by_them(tmp_path: Path) -> None:
    without, ready = run(tmp_path / "a", DATA), run(tmp_path / "b", DATA, ahead=4)
    assert [r.cost for r in without] == [r.cost for r in ready]
    for number in (1, 2, 3, 4):
        assert asked_about(tmp_path / "a", number) == asked_about(tmp_path / "b", number)


def handing_out(folder: Path, n: int, **settings: Any) -> list[Round]:
    """Every round with n questions asked ahead."""
    with in_round(folder, 1, **settings) as going:
        while True:
            answer(going, going.ahead(n))
            work(going)
            if not going.open_questions():
                return going.finished_rounds()
            finish_asking(going)


def test_conventional_can_hand_out_a_whole_round(tmp_path: Path) -> None:
    rounds = handing_out(tmp_path, 8, query=Conventional(), ahead=8)
    assert [r.asked for r in rounds] == [8] * 6
    assert [q.purpose for q in rows(tmp_path) if q.round == 2] == ["ahead"] * 8
    assert rounds[-1].cost == pytest.approx(48 * np.log2(5))


def test_a_round_all_but_d_cal_of_which_was_handed_out_still_calibrates(tmp_path: Path) -> None:
    rounds = handing_out(tmp_path, 99, query=CandidateSet(n_cal=3), ahead=99)
    purposes = [q.purpose for q in rows(tmp_path) if q.round == 3]
    assert (purposes.count("ahead"), purposes.count("calibration")) == (5, 3)
    assert all(r.threshold is not None for r in rounds[1:])


def test_a_pool_that_was_handed_out_to_the_end(tmp_path: Path) -> None:
    rounds = handing_out(tmp_path, 99, rounds=None, ahead=5)
    assert rounds[-1].labelled == 60
    assert sum(r.asked for r in rounds) == 60


def test_recharging_reproduces_them(tmp_path: Path) -> None:
    rounds = handing_out(tmp_path, 3)
    again = measures.recharge(tmp_path, CandidateSet(n_cal=3))
    assert [r.cost for r in again] == [r.cost for r in rounds]
    assert [r.mean_set_size for r in again][1:] == pytest.approx([r.mean_set_size for r in rounds][1:])
    assert [r.coverage for r in again][1:] == pytest.approx([r.coverage for r in rounds][1:])


def test_what_somebody_has_in_hand_is_not_selected_again(tmp_path: Path) -> None:
    """Not answered yet as the next round is chosen, which takes all there is, it is one of that round's already."""
    with in_round(tmp_path, 1, budget=99, query=Conventional()) as going:
        going.record(answers(going.open_questions(), DATA.labels))
        held = {q.item for q in going.ahead(3)}
        work(going)
        asked = [q.item for q in going.view.questions() if q.round == 2]
        assert held <= set(asked)
        assert len(asked) == len(set(asked))
