from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist.experiments.figures import specification
from shortlist.experiments.paper import (
    ACCURACY_PER_COST,
    FIGURES,
    ROUNDS,
    accuracy_against_cost,
    accuracy_per_cost,
    draw,
    seal,
)
from tests.experiments.rows import row

ROWS = [row(a, r, s) for a in ("Rand", "Ent", "Cost(Ent)", "BADGE") for r in (1, 2, 3) for s in (0, 1)]


def drawn(chart: Any) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = chart.to_dict()["data"]["values"]
    return values


def test_a_panel_for_each_way_to_pick_items_that_was_run() -> None:
    points = drawn(accuracy_against_cost(ROWS))
    assert {point["panel"] for point in points} == {"Ent", "BADGE"}
    assert {p["series"] for p in points if p["panel"] == "BADGE"} == {"CQ", "CSQ", "CSQ, items at random"}


def test_points_are_means_over_seeds_and_conventional_queries_lie_further_right() -> None:
    points = [p for p in drawn(accuracy_against_cost(ROWS)) if p["panel"] == "Ent"]
    cq, csq = ([p for p in points if p["series"] == series] for series in ("CQ", "CSQ"))
    assert [p["y"] for p in cq] == [p["y"] for p in csq] == pytest.approx([35.5, 40.5, 45.5])
    assert [p["x"] for p in cq] == pytest.approx([2 * p["x"] for p in csq])
    assert (csq[0]["low"], csq[0]["high"]) == pytest.approx((35.5 - 0.5**0.5, 35.5 + 0.5**0.5))


def test_the_papers_line_is_beside_ours_from_the_second_round_on() -> None:
    points = [p for p in drawn(accuracy_per_cost(ROWS)) if p["panel"] == "Ent"]
    assert {p["x"] for p in points if p["series"] == "CSQ"} == {2, 3}
    theirs = [(p["x"], p["y"]) for p in points if p["series"] == "CSQ, cost-aware, the paper"]
    assert theirs == list(zip(ROUNDS, ACCURACY_PER_COST["Cost(Ent)"], strict=True))


@pytest.mark.parametrize("make", FIGURES.values())
def test_nothing_is_drawn_of_nothing(make: Any) -> None:
    assert make([]) is None
    assert make([row("Rand")]) is None


def test_a_drawing_knows_its_numbers_and_stays_where_there_are_none(tmp_path: Path) -> None:
    one, two = draw(ROWS, tmp_path, "cifar100")
    assert (one.name, two.name) == ("cifar100-accuracy-against-cost.svg", "cifar100-accuracy-per-cost.svg")
    text = one.read_text("utf-8")
    assert text.startswith("<svg")
    assert "CSQ, cost-aware" in text
    assert seal(accuracy_against_cost(ROWS)) in text
    assert seal(accuracy_against_cost(ROWS[:-1])) not in text
    assert draw([], tmp_path, "cifar100") == []
    assert one.read_text("utf-8") == text
    assert two.exists()


def test_one_seed_has_no_band() -> None:
    alone, both = (accuracy_against_cost(rows) for rows in ([r for r in ROWS if r["seed"] == 0], ROWS))
    assert "'area'" not in str(specification(alone))
    assert "'area'" in str(specification(both))
