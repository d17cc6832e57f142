from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlist.annotators.simulated import Simulated
from shortlist.campaign.accounting.stopping import Stopping
from shortlist.campaign.engine import Step
from shortlist.queries.conventional import Conventional
from shortlist.types import Labelled, Round, ShortlistError
from tests.campaign.toys import Fixed, campaign, data, learning, run, snapshot

DATA = data(60)
BLANK = Round(1, 8, 8, 10.0, 0.05, 10.0, 0.0, 0.5, None, None, None, None, None, None, 0.0)


def ending(folder: Path, **settings: Any) -> tuple[list[Round], str | None]:
    with campaign(folder, DATA, **settings) as going:
        return list(going.run(Simulated(DATA.labels))), going.ending


def improving(*accuracies: int) -> Fixed:
    """A model that is right on this many of the 20 test items, round by round (8 labels a round)."""
    right = np.eye(5)[DATA.test_labels]

    class Improving(Fixed):
        def fit(self, labelled: Labelled, *, rng: np.random.Generator) -> None:
            super().fit(labelled, rng=rng)
            n = accuracies[len(labelled.items) // 8 - 1]
            self.test = np.where(np.arange(20)[:, None] < n, right, np.roll(right, 1, axis=1))

    return Improving(learning(DATA.labels, 5))


def test_by_rounds(tmp_path: Path) -> None:
    rounds, why = ending(tmp_path, rounds=3)
    assert len(rounds) == 3
    assert why == "3 rounds done"


def test_by_rounds_given_either_way(tmp_path: Path) -> None:
    rounds, _ = ending(tmp_path, rounds=None, stop=Stopping(rounds=2))
    assert len(rounds) == 2


def test_by_an_empty_pool(tmp_path: Path) -> None:
    said: list[Step] = []
    rounds, why = ending(tmp_path, rounds=None, budget=30, watch=said.append)
    assert [r.asked for r in rounds] == [8, 30, 22]
    assert why == "every item of the pool has been asked"
    notes = [step for step in said if step.name == "note"]
    assert notes == [Step(3, "note", "budget asks for 30 items; the pool has 22, all are taken")]


def test_a_first_set_larger_than_the_pool_takes_it_all_and_says_so(tmp_path: Path) -> None:
    said: list[Step] = []
    rounds, _ = ending(tmp_path, initial=100, watch=said.append)
    assert [r.asked for r in rounds] == [60]
    assert Step(1, "note", "initial asks for 100 items; the pool has 60, all are taken") in said


def test_by_cost_trims_the_last_round(tmp_path: Path) -> None:
    bits = 20 * np.log2(5)
    rounds, why = ending(tmp_path, rounds=None, query=Conventional(), stop=Stopping(cost=bits))
    assert [r.asked for r in rounds] == [8, 8, 4]
    assert rounds[-1].cost == pytest.approx(bits)
    assert why is not None
    assert why == "cost: 46.4 of 46.4386 is spent"


@pytest.mark.parametrize("cost", [1.0, 40.0, 60.0, 75.5])
def test_by_cost_goes_over_by_one_item_at_most_or_by_what_calibration_changed(tmp_path: Path, cost: float) -> None:
    rounds, why = ending(tmp_path, rounds=None, stop=Stopping(cost=cost))
    assert why is not None
    assert why.startswith("cost")
    assert rounds[-1].cost < cost + 2 * np.log2(5) + 8


def test_a_first_set_is_trimmed_too(tmp_path: Path) -> None:
    rounds, _ = ending(tmp_path, rounds=None, stop=Stopping(cost=3 * np.log2(5)))
    assert [r.asked for r in rounds] == [3]


def test_what_is_left_is_not_spent_on_rounds_of_a_few_items(tmp_path: Path) -> None:
    one, stop = np.log2(5), Stopping(cost=50.0)
    assert stop.reason([replace(BLANK, cost=50 - 0.3 * one)], batch_cost=8 * one) == "cost: 49.3 of 50 is spent"
    assert stop.reason([replace(BLANK, cost=50 - 0.5 * one)], batch_cost=8 * one) is None


def test_a_share_is_not_taken_for_percent_nor_percent_for_a_share() -> None:
    with pytest.raises(ShortlistError, match=r"stop: an accuracy of 9000% is never reached; in Python it is a share"):
        Stopping(accuracy=90)
    with pytest.raises(ShortlistError, match=r"stop: tolerance is a share, 0\.001 for a tenth of a point; got 1"):
        Stopping(flat=3, tolerance=1)
    with pytest.raises(ShortlistError, match=r"stop: accuracy is in percent here; 0\.9 would be reached at once"):
        Stopping.written(accuracy=0.9)


def test_files_have_percent() -> None:
    """As they always had: folders of earlier versions go on with what they were asked for."""
    assert Stopping.written(rounds=4, tolerance=0.1) == Stopping(rounds=4)
    written = {"accuracy": 57.3, "flat": 2, "tolerance": 0.5}
    stop = Stopping.written(**written)
    assert [stop.accuracy, stop.flat, stop.tolerance] == pytest.approx([0.573, 2, 0.005])
    assert {name: value for name, value in stop.spec().items() if value is not None} == written


@pytest.mark.parametrize("n", [40, 300, 1000])
def test_what_is_reached_exactly_is_reached_however_it_is_rounded(n: int) -> None:
    """100 · k/n, k/n and what a person has typed are three numbers for a computer, and one for the person."""
    for k in range(n // 100 + 1, n):
        written = Stopping.written(accuracy=round(100 * k / n, 10))
        for found in (k / n, 100 * k / n / 100):
            assert written.reason([replace(BLANK, accuracy=found)]) is not None, k
            assert written.reason([replace(BLANK, accuracy=found - 1e-6)]) is None, k
        flat = Stopping(flat=1, tolerance=1 / n)
        risen = [replace(BLANK, accuracy=a) for a in ((k - 1) / n, k / n, (k + 1) / n + 1e-6)]
        assert flat.reason(risen[:2]) == "accuracy has been flat for 1 rounds", k
        assert flat.reason(risen) is None, k


def test_by_accuracy(tmp_path: Path) -> None:
    rounds, why = ending(tmp_path, rounds=None, model=improving(5, 12, 16, 20), stop=Stopping(accuracy=0.6))
    assert [r.accuracy for r in rounds] == [0.25, 0.6]
    assert why == "accuracy 60.00% has reached 60%"


def test_by_accuracy_gone_flat(tmp_path: Path) -> None:
    model = improving(5, 12, 16, 16, 15, 20, 20)
    rounds, why = ending(tmp_path, rounds=None, model=model, stop=Stopping(flat=2))
    assert [r.accuracy for r in rounds] == [0.25, 0.6, 0.8, 0.8, 0.75]
    assert why == "accuracy has been flat for 2 rounds"


def test_flat_allows_for_a_tolerance() -> None:
    finished = [replace(BLANK, accuracy=a) for a in (0.5, 0.505, 0.509)]
    assert Stopping(flat=2, tolerance=0.01).reason(finished) == "accuracy has been flat for 2 rounds"
    assert Stopping(flat=2, tolerance=0.005).reason(finished) is None
    assert Stopping(flat=3, tolerance=0.01).reason(finished) is None


def test_nothing_set_never_stops() -> None:
    assert Stopping().reason([BLANK]) is None


@pytest.mark.parametrize("stop", [{"accuracy": 0.9}, {"flat": 2}])
def test_on_an_accuracy_that_nobody_knows_is_refused_at_start(tmp_path: Path, stop: dict[str, Any]) -> None:
    with pytest.raises(ShortlistError, match=r"stop: accuracy is not known .*set holdout"):
        campaign(tmp_path / "run", data(test=0), stop=Stopping(**stop))
    assert not (tmp_path / "run").exists()
    with campaign(tmp_path / "run", data(test=0), stop=Stopping(**stop), holdout=5):
        pass


@pytest.mark.parametrize("stop", [{"rounds": 0}, {"cost": -1.0}, {"accuracy": float("nan")}, {"flat": 0}])
def test_senseless_ends_are_refused(stop: dict[str, Any]) -> None:
    with pytest.raises(ShortlistError, match=f"stop: {next(iter(stop))} must be above 0"):
        Stopping(**stop)


def test_more_rounds_later_go_on_as_if_asked_for_at_once(tmp_path: Path) -> None:
    run(tmp_path / "whole", DATA, rounds=5)
    run(tmp_path / "late", DATA, rounds=2)
    assert len(run(tmp_path / "late", DATA, rounds=5)) == 5
    whole, late = snapshot(tmp_path / "whole"), snapshot(tmp_path / "late")
    assert late == whole
    assert "rounds = 5" in (tmp_path / "late" / "campaign.toml").read_text()


def stops(stop: Stopping, *finished: Round, batch_cost: float = 0.0) -> bool:
    return stop.reason(finished, batch_cost) is not None


def test_the_bounds_themselves() -> None:
    """What was asked for is reached where it is just reached, and a twentieth of a batch is worth a round."""
    assert [stops(Stopping(rounds=2), replace(BLANK, number=n)) for n in (1, 2, 3)] == [False, True, True]
    assert [stops(Stopping(accuracy=0.6), replace(BLANK, accuracy=a)) for a in (0.599, 0.6, None)] == [
        False,
        True,
        False,
    ]
    paid = [replace(BLANK, cost=cost) for cost in (48.0, 49.0, 49.1, 50.0, 51.0)]
    assert [stops(Stopping(cost=50), last, batch_cost=20) for last in paid] == [False, False, True, True, True]
    assert [stops(Stopping(cost=50), last) for last in paid] == [False, False, False, True, True]
    assert stops(Stopping(cost=50), replace(BLANK, cost=50 - 1e-9))  # rounding is not money
    assert not stops(Stopping(cost=50), replace(BLANK, cost=50 - 1e-6))


def test_flat_is_no_more_than_the_tolerance_above_the_best_before() -> None:
    stop = Stopping(flat=2, tolerance=0.01)
    for accuracies, over in (
        ([50, 50], False),  # no round before them to compare with
        ([50, 50, 51], True),
        ([50, 51, 50], True),
        ([50, 52, 40], False),
        ([50, 51.5, 51.5], False),
        ([60, 50, 61, 60.5], True),
        ([60, 50, 61.5, 60.5], False),
        ([50, None, 50, 50], True),
        ([50, None, 50], False),
    ):
        finished = [replace(BLANK, accuracy=None if a is None else a / 100) for a in accuracies]
        assert stops(stop, *finished) is over, accuracies
    assert stops(Stopping(flat=1, tolerance=0.0), BLANK, BLANK)


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ({"rounds": 0}, "rounds must be above 0, got 0"),
        ({"rounds": 1.5}, "rounds must be a whole number, got 1.5"),
        ({"flat": 0.5}, "flat must be a whole number, got 0.5"),
        ({"cost": 0.0}, "cost must be above 0"),
        ({"cost": "5"}, "cost must be above 0, got '5'"),
        ({"accuracy": 1.01}, "an accuracy of 101% is never reached"),
    ],
)
def test_what_is_no_end(stop: dict[str, Any], words: str) -> None:
    with pytest.raises(ShortlistError, match=words):
        Stopping(**stop)
    Stopping(rounds=1, cost=0.5, accuracy=1.0, flat=1)


@pytest.mark.parametrize(("items", "asked"), [(8.5, [8, 1]), (16.0, [8, 8]), (11.3, [8, 3]), (8.3, [8])])
def test_as_many_as_the_money_is_for_and_one_where_it_is_for_less(
    tmp_path: Path, items: float, asked: list[int]
) -> None:
    rounds, _ = ending(tmp_path, rounds=None, query=Conventional(), stop=Stopping(cost=items * np.log2(5)))
    assert [r.asked for r in rounds] == asked
