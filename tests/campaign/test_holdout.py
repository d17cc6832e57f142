from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist.acquisition.core_set import CoreSet
from shortlist.campaign.accounting import ledger
from shortlist.campaign.learning.learner import wilson
from shortlist.campaign.storage.store import Store
from shortlist.queries.candidate_set import CandidateSet
from shortlist.types import Round
from tests.campaign.toys import Fixed, asked_about, data, learning, run

DATA = data(test=0)


def held_out(folder: Path, **settings: object) -> tuple[list[Round], Fixed]:
    model = Fixed(learning(DATA.labels, 5))
    return run(folder, DATA, model=model, holdout=10, **settings), model


def test_it_is_asked_first_and_never_selected_or_trained_on(tmp_path: Path) -> None:
    rounds, model = held_out(tmp_path, rounds=9)
    held = set(asked_about(tmp_path, 0))
    assert len(held) == 10
    assert sum(r.asked for r in rounds) == 30
    for number in range(1, len(rounds) + 1):
        assert not held & set(asked_about(tmp_path, number))
    for taught in model.taught:
        assert not held & set(taught.items.tolist())
    assert rounds[-1].labelled == 30


def test_it_has_its_own_line_in_the_ledger(tmp_path: Path) -> None:
    rounds, _ = held_out(tmp_path, rounds=2)
    with Store(tmp_path / "campaign.db", read_only=True) as store:
        lines = {(line.round, line.purpose): line for line in ledger.lines(store.costs())}
    assert lines[0, "holdout"].answers == 10
    assert lines[0, "holdout"].cost == pytest.approx(10 * np.log2(5))
    assert [r.holdout_cost for r in rounds] == [lines[0, "holdout"].cost] * 2
    assert rounds[0].cost == lines[1, "initial"].cost


def test_accuracy_is_measured_on_it_with_its_interval(tmp_path: Path) -> None:
    rounds, model = held_out(tmp_path, rounds=2)
    held = asked_about(tmp_path, 0)
    right = int((model.probs[held].argmax(axis=1) == DATA.labels[held]).sum())
    assert rounds[-1].accuracy == right / 10
    assert rounds[-1].interval == wilson(right, 10)


def test_a_test_split_goes_before_it(tmp_path: Path) -> None:
    dataset = data(test=20)
    model = Fixed(learning(dataset.labels, 5), np.eye(5)[dataset.test_labels])
    (first,) = run(tmp_path, dataset, model=model, holdout=10, rounds=1)
    assert first.accuracy == 1


def test_with_neither_accuracy_is_not_known(tmp_path: Path) -> None:
    rounds = run(tmp_path, DATA, rounds=2)
    assert [(r.accuracy, r.interval, r.macro_f1) for r in rounds] == [(None, None, None)] * 2


def test_an_acquisition_is_not_told_of_it(tmp_path: Path) -> None:
    """CoreSet keeps away from labelled items; a holdout must not push it around."""
    seen: list[int] = []

    class Watching(CoreSet):
        def select(self, pool, **settings):  # type: ignore[no-untyped-def]
            seen.append(len(pool.labelled_embeddings))
            return super().select(pool, **settings)

    z = np.random.default_rng(0).normal(size=(40, 3))
    model = Fixed(learning(DATA.labels, 5), embeddings=z)
    run(tmp_path, DATA, model=model, holdout=10, acquisition=Watching(), rounds=3)
    assert seen == [8, 16]


def test_wilson_by_hand() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)
    assert wilson(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)


def test_calibration_works_beside_it(tmp_path: Path) -> None:
    rounds, _ = held_out(tmp_path, rounds=3, query=CandidateSet(n_cal=4))
    assert rounds[-1].threshold is not None
