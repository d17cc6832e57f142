"""The floor beside computations by hand: what was said, how far it was believed, what was told."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import measures
from shortlist.acquisition.random import Random
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.accounting.floor import SHARES, TEMPERATURES, ideal_length, kept
from shortlist.campaign.questions.resolution import Overlap
from shortlist.campaign.schedule import Doubling
from shortlist.campaign.storage.store import Store
from shortlist.campaign.view import View
from shortlist.costs import Seconds
from shortlist.plans import QueryDesign
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.nested import Nested
from shortlist.queries.one_bit import OneBit
from shortlist.queries.oracle import Oracle
from shortlist.queries.recalibration import Recalibration
from shortlist.types import Answer, Round, ShortlistError
from tests.campaign.toys import Fixed, answers, asked, campaign, data, run, snapshot, work

N, L = 400, 8
DATA = data(N, L, test=0)


def knowing(strength: float, confidence: float = 1.0, seed: int = 3) -> Any:
    """(N, L) probabilities that favour the truth by so much, and take themselves for so much surer than they are."""
    logits = np.random.default_rng(seed).normal(size=(N, L))
    logits[np.arange(N), DATA.labels] += strength
    raised = np.exp(confidence * logits)
    return raised / raised.sum(axis=1, keepdims=True)


def labelled(folder: Path, strength: float = 3.0, confidence: float = 1.0, **settings: Any) -> list[Round]:
    settings = {"acquisition": Random(), "query": Conventional(), "initial": 50, "budget": 100, "rounds": 4} | settings
    return run(folder, DATA, model=Fixed(knowing(strength, confidence)), **settings)


def steps(rounds: list[Round]) -> list[float]:
    """What each round adds."""
    floors = [0.0, *(r.floor or math.nan for r in rounds)]
    return [b - a for a, b in pairwise(floors)]


def said(folder: Path, number: int) -> tuple[Any, Any]:
    kept = asked(folder, number)
    return kept.probs, DATA.labels[kept.items]


def code(left: Any, even: Any) -> float:
    """−log2 of how probable all answers are together on average, from (n,) probabilities by temperature."""
    beliefs = [-np.log2((1 - share) * left[t] + share * even).sum() for t in TEMPERATURES for share in SHARES]
    return float(min(beliefs) - math.log2(sum(2 ** (min(beliefs) - bits) for bits in beliefs) / 28))


def of_labels(probs: Any, truth: Any, n_classes: int = L) -> float:
    believed = {t: Recalibration(temperature=t)(np.asarray(probs, np.float64)) for t in TEMPERATURES}
    return code({t: q[np.arange(len(truth)), truth] for t, q in believed.items()}, 1 / n_classes)


# --- by hand ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [Conventional(), CandidateSet(n_cal=20), CandidateSet(n_cal=0), Nested()])
@pytest.mark.parametrize("confidence", [0.3, 1.0, 4.0])
def test_round_by_round_by_hand(tmp_path: Path, query: QueryDesign, confidence: float) -> None:
    first, *later = steps(labelled(tmp_path, confidence=confidence, query=query))
    assert first == pytest.approx(50 * math.log2(L))
    assert later == pytest.approx([of_labels(*said(tmp_path, number)) for number in (2, 3, 4)], rel=1e-5)


def test_one_answer_at_a_time_is_believed_as_far_as_those_before_it_bear_out() -> None:
    """The same number by the chain rule: each answer under the beliefs weighed by how they told the others."""
    rng = np.random.default_rng(0)
    left, even = rng.random((4, 50)), np.full(50, 0.1)
    q = np.concatenate([(1 - share) * row + share * even for row in left for share in SHARES]).reshape(28, 50)
    weights, bits = np.full(28, 1 / 28), 0.0
    for answer in q.T:
        bits -= math.log2(weights @ answer)
        weights = weights * answer / (weights @ answer)
    assert ideal_length(-np.log2(q).sum(axis=1)) == pytest.approx(bits)


# --- laws ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [Conventional(), CandidateSet(n_cal=20), Nested(), OneBit()])
def test_it_is_had_from_the_folder_alone(tmp_path: Path, query: QueryDesign) -> None:
    rounds = labelled(tmp_path, query=query, ahead=9)
    found = measures.floor(tmp_path)
    assert [(f.number, f.ideal) for f in found] == [(r.number, r.floor) for r in rounds]
    if not isinstance(query, OneBit):
        assert [f.oracle for f in found] == [r.cost for r in measures.recharge(tmp_path, Oracle())]
    else:
        assert {f.oracle for f in found} == {None}


def test_probabilities_that_say_nothing_have_a_floor_at_the_conventional_price(tmp_path: Path) -> None:
    rounds = run(tmp_path, DATA, model=Fixed(np.full((N, L), 1 / L)), query=Conventional(), initial=50, budget=100)
    for done in rounds:
        assert done.floor == pytest.approx(done.labelled * math.log2(L))
        assert measures.times_floor(done) == pytest.approx(1)


def test_a_model_that_knows_more_has_a_lower_floor(tmp_path: Path) -> None:
    ends = [labelled(tmp_path / str(strength), strength)[-1].floor for strength in (0.0, 1.0, 2.0, 4.0, 6.0)]
    assert all(more > less for more, less in pairwise(end or math.nan for end in ends))


def test_confidence_without_ground_is_no_knowledge(tmp_path: Path) -> None:
    """A model that takes itself for four times as sure is as good as an honest one."""
    honest, sure = (labelled(tmp_path / str(c), 2.0, c) for c in (1.0, 4.0))
    assert sum(steps(sure)[1:]) == pytest.approx(sum(steps(honest)[1:]), rel=0.02)


def test_one_that_errs_costs_at_most_a_few_bits_more_than_asking_conventionally(tmp_path: Path) -> None:
    rounds = labelled(tmp_path, strength=-9.0, confidence=9.0)
    assert all(bits <= 100 * math.log2(L) + math.log2(28) for bits in steps(rounds)[1:])
    assert rounds[-1].floor == pytest.approx(rounds[-1].conventional_cost, rel=0.05)


@pytest.mark.parametrize("query", [Conventional(), CandidateSet(n_cal=20), CandidateSet(n_cal=0), Nested(), OneBit()])
@pytest.mark.parametrize("strength", [0.5, 2.0, 5.0])
def test_no_design_is_below_it(tmp_path: Path, query: QueryDesign, strength: float) -> None:
    """In the mean, by Kraft's inequality: of a few hundred answers under an honest model, to within a hundredth."""
    for done in labelled(tmp_path, strength, query=query):
        assert done.floor is not None
        assert done.cost >= 0.99 * done.floor


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_not_knowing_whom_to_believe_costs_a_few_bits_more_than_the_best(lengths: list[float]) -> None:
    assert min(lengths) - 1e-6 <= ideal_length(np.asarray(lengths)) <= min(lengths) + math.log2(len(lengths)) + 1e-6


# --- what counts -----------------------------------------------------------------------------------------------


def test_twins_have_the_same_floor(tmp_path: Path) -> None:
    """It is of the model and the labels, not of how they were asked for."""
    conventional = [r.floor for r in labelled(tmp_path / "cq")]
    for query in (CandidateSet(n_cal=20), Nested()):
        found = [r.floor for r in labelled(tmp_path / type(query).__name__, query=query)]
        assert found == pytest.approx(conventional, rel=1e-9)


def test_partial_labels_count_for_what_they_rule_out(tmp_path: Path) -> None:
    rounds = labelled(tmp_path, strength=0.5, query=OneBit(), rounds=2)
    probs, truth = said(tmp_path, 2)
    best = probs.argmax(axis=1)
    shown = {t: Recalibration(temperature=t)(probs)[np.arange(len(best)), best].astype(float) for t in TEMPERATURES}
    left = {t: np.where(best == truth, q, 1 - q) for t, q in shown.items()}
    assert {True, False} == set((best == truth).tolist())
    assert steps(rounds)[1] == pytest.approx(code(left, np.where(best == truth, 1 / L, 1 - 1 / L)), rel=1e-5)


def test_items_asked_ahead_count_in_their_round(tmp_path: Path) -> None:
    """After round 1 there is no model that had spoken of them, later that of the round before."""
    with campaign(tmp_path, DATA, model=Fixed(knowing(3.0)), query=Nested(), initial=50, budget=60, ahead=20) as going:
        for _ in range(3):
            work(going)
            going.record(answers(going.open_questions(), DATA.labels))
            going.record(answers(going.ahead(12), DATA.labels))
        work(going)
        rounds = going.finished_rounds()
    with View.of(tmp_path) as view:
        ahead = {n: view.asked_items(n, "ahead") for n in (2, 3)}
        told = {n: [t.purpose for t in view.told(n, n)] for n in (2, 3)}
    assert [len(items) for items in ahead.values()] == [12, 12]
    assert all(purposes.count("ahead") == 12 and "query" in purposes for purposes in told.values())
    assert steps(rounds)[1] == pytest.approx(12 * math.log2(L) + of_labels(*said(tmp_path, 2)), rel=1e-5)
    before, (probs, truth) = asked(tmp_path, 2), said(tmp_path, 3)
    at = [before.ahead_items.tolist().index(item) for item in ahead[3]]
    both = np.concatenate([probs, before.ahead_probs[at]]), np.concatenate([truth, DATA.labels[ahead[3]]])
    assert steps(rounds)[2] == pytest.approx(of_labels(*both), rel=1e-5)


def test_what_says_nothing_of_a_class_counts_nothing(tmp_path: Path) -> None:
    with campaign(tmp_path, DATA, model=Fixed(knowing(3.0)), query=Conventional(), initial=20, budget=20) as going:
        work(going)
        questions = going.open_questions()
        odd = [
            Answer(questions[0].id, "skip"),
            Answer(questions[1].id, "unreadable"),
            Answer(questions[2].id, "none", (-1,)),
        ]
        going.record([*odd, *answers(questions[3:], DATA.labels)])
        work(going)
        (done,) = going.finished_rounds()
    assert done.floor == pytest.approx(17 * math.log2(L))


def test_every_persons_answer_counts_and_a_correction_instead_of_what_it_corrects(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"query": Conventional(), "initial": 50, "rounds": 1, "overlap": Overlap(2, 1.0)}
    with campaign(tmp_path / "two", DATA, model=Fixed(knowing(3.0)), **parts) as going:
        (done,) = going.run(Simulated(np.stack([DATA.labels, DATA.labels])))
        assert done.floor == pytest.approx(done.cost) == pytest.approx(100 * math.log2(L))
    with campaign(tmp_path / "one", DATA, query=Conventional(), model=Fixed(knowing(3.0)), initial=20) as going:
        work(going)
        question = going.open_questions()[0]
        (number,) = going.record([Answer(question.id, "label", (0,))])
        going.record([Answer(question.id, "label", (int(DATA.labels[question.item]),), supersedes=number)])
        going.record(answers(going.open_questions(), DATA.labels))
        work(going)
        (done,) = going.finished_rounds()
        assert done.floor == pytest.approx(20 * math.log2(L))
        (late,) = [a for a in going.view.answers() if a.question == question.id and a.supersedes]
        going.record([Answer(question.id, "label", (1,), supersedes=late.id)])  # learnt from in round 2
        going.record(answers(going.open_questions(), DATA.labels))
        work(going)
        rounds = going.finished_rounds()
    assert steps(rounds)[1] == pytest.approx(math.log2(L) + of_labels(*said(tmp_path / "one", 2)), rel=1e-5)
    assert [f.ideal for f in measures.floor(tmp_path / "one")] == [r.floor for r in rounds]


def test_other_units_have_none(tmp_path: Path) -> None:
    rounds = labelled(tmp_path, query=CandidateSet(n_cal=20, cost=Seconds()), rounds=2)
    assert {r.floor for r in rounds} == {None}
    assert measures.times_floor(rounds[-1]) is None
    with pytest.raises(ShortlistError, match="its costs are not in bits"):
        measures.floor(tmp_path)


def forget(folder: Path) -> None:
    """As an earlier version would have left it."""
    with Store(folder / "campaign.db") as store, store.writing() as w:
        for row in store.rounds():
            assert row.result is not None
            w.set_round(row.number, result=replace(row.result, floor=None))


def test_rounds_of_earlier_versions_have_none_and_those_after_them_count_from_the_start(tmp_path: Path) -> None:
    whole = labelled(tmp_path / "whole")
    labelled(tmp_path / "old", rounds=3)
    forget(tmp_path / "old")
    assert [f.ideal for f in measures.floor(tmp_path / "old")] == [r.floor for r in whole[:3]]
    assert [r.floor for r in labelled(tmp_path / "old")] == [None, None, None, whole[3].floor]


def test_a_round_is_finished_without_what_was_said_in_earlier_ones(tmp_path: Path) -> None:
    query = CandidateSet(n_cal=20)
    labelled(tmp_path, query=query, rounds=3)
    (tmp_path / "rounds" / "002" / "asked.npz").unlink()
    forget(tmp_path)
    assert {r.floor for r in labelled(tmp_path, query=query)} == {None}
    with pytest.raises(ShortlistError, match=r"asked\.npz: cannot be read"):
        measures.floor(tmp_path)


def test_a_killed_campaign_comes_to_the_same_floor(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"query": Nested(), "schedule": Doubling(first=20, most=90)}
    plain = {"model": Fixed(knowing(3.0)), "acquisition": Random(), "rounds": 4, "initial": None, "budget": None}
    run(tmp_path / "whole", DATA, **plain, **settings)
    for _ in range(30):  # a process for every piece of work
        with campaign(tmp_path / "pieces", DATA, **plain, **settings) as going:
            if not going.advance():
                if not (questions := going.open_questions()):
                    break
                going.record(Simulated(DATA.labels).answer(questions))
    assert snapshot(tmp_path / "pieces") == snapshot(tmp_path / "whole")


def test_classes_that_came_later(tmp_path: Path) -> None:
    """A label that nobody had spoken of is as probable as the uniform share says."""
    fewer = data(N, L, test=0, classes=[f"c{i}" for i in range(L)])
    more = data(N, L, test=0, classes=[f"c{i}" for i in range(L + 1)])

    def says(_: Any, width: int = L) -> Any:
        return np.pad(knowing(3.0), ((0, 0), (0, width - L)))

    parts: dict[str, Any] = {"query": Conventional(), "acquisition": Random(), "initial": 20, "budget": 20, "rounds": 3}
    with campaign(tmp_path, fewer, model=Fixed(says), **parts) as going:
        for _ in range(2):
            work(going)
            going.record(answers(going.open_questions(), DATA.labels) if not going.finished_rounds() else [])
    with campaign(tmp_path, more, model=Fixed(lambda _: says(_, L + 1)), **parts) as going:
        work(going)
        new = [Answer(q.id, "label", (L,)) for q in going.open_questions()]
        going.record(new)
        work(going)
        rounds = going.finished_rounds()
        assert kept(going.view, 2, going.view.last_answer()) == rounds[1].floor
    assert steps(rounds)[1] == pytest.approx(20 * math.log2(L + 1) + math.log2(7), abs=0.01)
