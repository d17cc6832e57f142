"""The paper's round, step by step, with a model whose every word is the test's."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from shortlist.acquisition.cost_aware import CostAware
from shortlist.acquisition.entropy import Entropy
from shortlist.acquisition.random import Random
from shortlist.annotators.simulated import Simulated
from shortlist.campaign.accounting import ledger
from shortlist.campaign.randomness import Draws
from shortlist.campaign.storage.store import Store
from shortlist.costs import Linear
from shortlist.plans import QueryDesign, conventional
from shortlist.queries.candidate_set import CandidateSet
from shortlist.queries.conventional import Conventional
from shortlist.queries.top_k import TopK
from shortlist.types import Round
from tests.campaign.toys import Fixed, asked, asked_about, campaign, data, learning, rows, run, work

L = 5
DATA = data(60, L)
QUERY = CandidateSet(n_cal=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 items: 10 at random, then 3 × 16, the last batch of 2."""
    return tmp_path_factory.mktemp("paper") / "run"


@pytest.fixture(scope="module")
def rounds(folder: Path) -> list[Round]:
    return run(folder, DATA, query=QUERY, acquisition=CostAware(Entropy()), initial=10, budget=16, rounds=9)


def test_the_first_round_is_random_and_conventional(rounds: list[Round], folder: Path) -> None:
    first = [q for q in rows(folder) if q.round == 1]
    assert len(first) == 10
    assert {q.purpose for q in first} == {"initial"}
    assert {q.cuts for q in first} == {()}
    assert rounds[0].cost == pytest.approx(10 * math.log2(L))
    assert rounds[0].alpha is None
    assert rounds[0].threshold is None


def test_every_item_is_asked_once_and_the_last_batch_takes_what_is_left(rounds: list[Round], folder: Path) -> None:
    assert [r.asked for r in rounds] == [10, 16, 16, 16, 2]
    assert [r.labelled for r in rounds] == [10, 26, 42, 58, 60]
    assert sorted(q.item for q in rows(folder)) == list(range(60))


def test_calibration_items_count_in_the_budget(rounds: list[Round], folder: Path) -> None:
    for number in (2, 3, 4):
        purposes = [q.purpose for q in rows(folder) if q.round == number]
        assert purposes.count("calibration") == 6
        assert purposes.count("query") == 10
        said = asked(folder, number)
        assert np.array_equal(said.calibration, Draws(0).calibration(number, said.items, 6))


def test_the_first_active_round_asks_calibration_conventionally(rounds: list[Round], folder: Path) -> None:
    assert all(q.cuts == () for q in rows(folder) if q.round == 2 and q.purpose == "calibration")
    assert math.isnan(asked(folder, 2).threshold_before)
    assert asked(folder, 2).prices == pytest.approx(np.full(16, math.log2(L)))


@pytest.mark.parametrize("number", [3, 4])
def test_calibration_is_asked_with_the_threshold_before(rounds: list[Round], folder: Path, number: int) -> None:
    said, before = asked(folder, number), rounds[number - 2]
    assert said.threshold_before == before.threshold
    assert said.alpha_before == before.alpha
    assert before.threshold is not None
    plan = QUERY.restored({"alpha": before.alpha, "threshold": before.threshold}).plan(said.probs[said.calibration])
    shown = {q.item: q for q in rows(folder) if q.round == number and q.purpose == "calibration"}
    for row, item in enumerate(said.items[said.calibration]):
        own = plan.classes[plan.offsets[row] : plan.offsets[row + 1]]
        assert shown[item].classes == tuple(own)


@pytest.mark.parametrize("number", [2, 3, 4])
def test_the_rest_is_asked_with_the_new_threshold(rounds: list[Round], folder: Path, number: int) -> None:
    said, result = asked(folder, number), rounds[number - 1]
    truth = DATA.labels[said.items]
    fresh = QUERY.calibrate(said.probs[said.calibration], truth[said.calibration])
    assert (result.alpha, result.threshold) == (fresh.alpha, fresh.threshold)
    assert (said.alpha, said.threshold) == (fresh.alpha, fresh.threshold)
    plan = fresh.plan(said.probs[~said.calibration])
    shown = {q.item: q for q in rows(folder) if q.round == number and q.purpose == "query"}
    for row, item in enumerate(said.items[~said.calibration]):
        assert shown[item].cuts == (() if plan.sizes[row] == L else (plan.sizes[row],))
    assert result.mean_set_size == pytest.approx(plan.sizes.mean())
    short = plan.sizes < L
    held = plan.holds(truth[~said.calibration])[short]
    assert (result.lists, result.full) == (short.sum(), (~short).sum())
    assert result.coverage == (pytest.approx(held.mean()) if short.any() else None)


def test_a_last_batch_within_n_cal_carries_the_threshold_over(rounds: list[Round], folder: Path) -> None:
    assert not asked(folder, 5).calibration.any()
    assert {q.purpose for q in rows(folder) if q.round == 5} == {"query"}
    assert (rounds[4].alpha, rounds[4].threshold) == (rounds[3].alpha, rounds[3].threshold)


def test_prices_are_those_of_the_threshold_before(rounds: list[Round], folder: Path) -> None:
    said, before = asked(folder, 3), rounds[1]
    assert before.alpha is not None
    assert before.threshold is not None
    k = (said.probs >= before.threshold).sum(axis=1)
    some = (k > 0) & (k < L)
    with np.errstate(divide="ignore"):
        price = np.where(some, np.log2(k + 1) + before.alpha * np.log2(L - k), math.log2(L))
    assert said.prices == pytest.approx(price)


def test_every_answer_costs_what_the_plan_charges(rounds: list[Round], folder: Path) -> None:
    with Store(folder / "campaign.db", read_only=True) as store:
        paid = {a.item: a.cost for a in store.answers()}
    for number in (2, 3, 4, 5):
        said = asked(folder, number)
        old = _as_of(said.alpha_before, said.threshold_before)
        new = _as_of(said.alpha, said.threshold)
        truth = DATA.labels[said.items]
        for query, which in ((old, said.calibration), (new, ~said.calibration)):
            charged = query.plan(said.probs[which]).charge(truth[which])
            assert [paid[i] for i in said.items[which]] == charged.tolist()


def test_cost_accumulates_and_is_relative_to_the_whole_training_set(rounds: list[Round], folder: Path) -> None:
    with Store(folder / "campaign.db", read_only=True) as store:
        asked_in = {q.id: q.round for q in store.questions()}
        answers, lines = store.answers(), ledger.lines(store.costs())
    for result in rounds:
        paid = math.fsum(a.cost for a in answers if asked_in[a.question] <= result.number)
        assert result.cost == pytest.approx(paid, abs=1e-9)
        assert result.relative_cost == pytest.approx(paid / (60 * math.log2(L)))
        assert result.conventional_cost == pytest.approx(result.labelled * math.log2(L))
    assert sum(line.answers for line in lines) == 60
    assert {(line.round, line.purpose) for line in lines} >= {(1, "initial"), (2, "calibration"), (2, "query")}


def test_the_model_is_taught_everything_labelled(tmp_path: Path) -> None:
    model = Fixed(learning(DATA.labels, L), np.full((20, L), 1 / L))
    run(tmp_path, DATA, model=model, rounds=3)
    assert [len(t.items) for t in model.taught] == [8, 16, 24]
    for taught in model.taught:
        assert np.array_equal(taught.labels, DATA.labels[taught.items])
        assert taught.n_classes == L


def test_accuracy_is_that_of_the_last_model_on_the_test_split(tmp_path: Path) -> None:
    right = np.eye(L)[DATA.test_labels]
    half = np.where(np.arange(20)[:, None] < 10, right, np.roll(right, 1, axis=1))
    (first,) = run(tmp_path, DATA, model=Fixed(learning(DATA.labels, L), half), rounds=1)
    assert first.accuracy == 0.5
    assert first.interval == pytest.approx((0.2993, 0.7007), abs=0.0001)


def test_a_fixed_alpha_stays_and_the_threshold_moves(tmp_path: Path) -> None:
    rounds = run(tmp_path, DATA, query=CandidateSet(n_cal=6, alpha=0.2), initial=10, budget=16)
    assert [r.alpha for r in rounds[1:]] == [0.2, 0.2, 0.2]
    assert len({r.threshold for r in rounds[1:]}) > 1


@pytest.mark.parametrize("query", [Conventional(), TopK(2), Conventional(Linear(2.0, start=1.0))])
def test_designs_without_calibration_have_no_d_cal(tmp_path: Path, query: Conventional | TopK) -> None:
    rounds = run(tmp_path, DATA, query=query, rounds=2)
    said = asked(tmp_path, 2)
    assert not said.calibration.any()
    initial = conventional(np.full((8, L), 1 / L)).expected(query.cost).sum()
    charged = query.plan(said.probs).charge(DATA.labels[said.items], query.cost).sum()
    assert rounds[1].cost == pytest.approx(initial + charged)
    assert rounds[1].alpha is None


# --- twins -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acquisition", [Random(), Entropy()])
def test_twins_label_the_same_items_in_every_round(tmp_path: Path, acquisition: Random | Entropy) -> None:
    cq = run(tmp_path / "cq", DATA, query=Conventional(), acquisition=acquisition, seed=3)
    csq = run(tmp_path / "csq", DATA, query=QUERY, acquisition=acquisition, seed=3)
    for number in (1, 2, 3, 4):
        assert asked_about(tmp_path / "cq", number) == asked_about(tmp_path / "csq", number)
    assert [r.accuracy for r in cq] == [r.accuracy for r in csq]
    assert [r.conventional_cost for r in cq] == [r.conventional_cost for r in csq] == [r.cost for r in cq]


def test_the_first_random_set_depends_on_the_seed_alone(tmp_path: Path) -> None:
    run(tmp_path / "a", DATA, seed=1, rounds=1)
    other = Fixed(np.full((60, L), 1 / L), np.full((20, L), 1 / L))
    settings = {"query": TopK(1), "acquisition": Random(), "model": other, "budget": 20, "ahead": 3}
    run(tmp_path / "b", DATA, seed=1, rounds=2, **settings)
    run(tmp_path / "c", DATA, seed=2, rounds=1)
    assert asked_about(tmp_path / "a", 1) == asked_about(tmp_path / "b", 1)
    assert asked_about(tmp_path / "a", 1) != asked_about(tmp_path / "c", 1)


def test_a_holdout_takes_its_items_out_of_the_same_random_order(tmp_path: Path) -> None:
    run(tmp_path / "without", DATA, rounds=1, initial=30)
    run(tmp_path / "with", DATA, rounds=1, initial=30, holdout=5)
    held = set(asked_about(tmp_path / "with", 0))
    assert set(asked_about(tmp_path / "without", 1)) - held <= set(asked_about(tmp_path / "with", 1))


def test_the_same_seed_twice_gives_the_same_bits(tmp_path: Path) -> None:
    from .toys import snapshot

    run(tmp_path / "a", DATA, query=QUERY, seed=5)
    run(tmp_path / "b", DATA, query=QUERY, seed=5)
    run(tmp_path / "c", DATA, query=QUERY, seed=6)
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")
    assert snapshot(tmp_path / "a")["labels"] != snapshot(tmp_path / "c")["labels"]


# --- the questions themselves ----------------------------------------------------------------------------------


def test_open_questions_show_the_shortlist_then_the_rest(tmp_path: Path) -> None:
    probs = np.full((60, L), 0.05)
    probs[:, 2] = 0.8
    with campaign(tmp_path, DATA, model=Fixed(probs, np.full((20, L), 0.2)), query=TopK(2)) as going:
        work(going)
        going.record(Simulated(DATA.labels).answer(going.open_questions()))
        work(going)
        question = going.open_questions()[0]
    assert question.stages == [(2, 0), (1, 3, 4)]
    assert question.round == 2


def _as_of(alpha: float, threshold: float) -> QueryDesign:
    """The query as a round asked with it; NaN: not calibrated yet."""
    return QUERY.restored(None if math.isnan(alpha) else {"alpha": alpha, "threshold": threshold})


def test_a_full_batch_that_is_all_calibration_still_calibrates(tmp_path: Path) -> None:
    rounds = run(tmp_path, DATA, query=CandidateSet(n_cal=8), initial=10, budget=8, rounds=3)
    assert rounds[0].alpha is None
    assert all(r.alpha is not None and r.threshold is not None for r in rounds[1:])
    assert asked(tmp_path, 2).calibration.all()
