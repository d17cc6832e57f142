from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist.experiments import figures
from shortlist.experiments.method_names import grouped
from shortlist.measures import Record
from shortlist.types import ShortlistError
from tests.experiments.examples import COST_ENT, CQ, CSQ, ENT, RAND, config, finished, record

ALL = [
    figures.accuracy_against_cost,
    figures.set_size_by_round,
    figures.alpha_by_round,
    figures.coverage_by_round,
    figures.cost_by_round,
]


@pytest.fixture
def groups() -> dict[str, list[Record]]:
    parts = [(CQ, RAND), (CSQ, RAND), (CSQ, COST_ENT)]
    return grouped([record(config(q, a, s)) for q, a in parts for s in (0, 1)])


def drawn(chart: Any) -> list[dict[str, Any]]:
    """The rows of the layer that has the methods."""
    layers = [figures.specification(chart), *figures.specification(chart)["layer"]]
    rows = [layer["data"]["values"] for layer in layers if "values" in layer.get("data", {})]
    return next(r for r in rows if "low" in r[0])


def test_twins_share_a_colour_and_differ_in_dash(groups: dict[str, list[Record]]) -> None:
    look = figures.looks(groups)
    assert look["CQ+Rand"].colour == look["CSQ+Rand"].colour
    assert look["CQ+Rand"].dash != look["CSQ+Rand"].dash
    assert look["CSQ+Cost(Ent)"].colour != look["CSQ+Rand"].colour


def test_methods_alike_in_both_get_colours_of_their_own() -> None:
    look = figures.looks(grouped([record(config({**CSQ, "n_cal": n}, ENT)) for n in (50, 100)]))
    assert len({one.colour for one in look.values()}) == 2


def test_a_line_is_the_mean_and_its_band_stays_in_bounds() -> None:
    rounds = [[finished(1, accuracy=a)] for a in (0.999, 0.9)]
    groups = grouped([record(config(seed=s), done) for s, done in enumerate(rounds)])
    (row,) = drawn(figures.accuracy_against_cost(groups))
    assert row["accuracy"] == pytest.approx(94.95)
    assert row["low"] == pytest.approx(94.95 - 7.0004, abs=1e-3)
    assert row["high"] == 100


def test_one_seed_has_no_band() -> None:
    chart = figures.accuracy_against_cost(grouped([record()]))
    assert [layer["mark"]["type"] for layer in figures.specification(chart)["layer"]] == ["line", "point"]


def test_lists_are_drawn_only_where_there_were_some(groups: dict[str, list[Record]]) -> None:
    rows = drawn(figures.set_size_by_round(groups))
    assert {row["method"] for row in rows} == {"CSQ+Rand", "CSQ+Cost(Ent)"}
    assert min(row["round"] for row in rows) == 2


@pytest.mark.parametrize("draw", ALL)
def test_nothing_to_show_is_none(draw: Any) -> None:
    assert draw(grouped([record(rounds=0)])) is None


def test_no_accuracy_no_main_figure() -> None:
    groups = grouped([record(rounds=[finished(n, accuracy=None) for n in (1, 2)])])
    assert figures.accuracy_against_cost(groups) is None
    assert figures.cost_by_round(groups) is not None


@pytest.mark.parametrize("draw", ALL)
def test_figures_are_saved_and_the_same_each_time(draw: Any, groups: dict[str, list[Record]], tmp_path: Path) -> None:
    draw(groups).to_dict(validate=True)
    svg = figures.save(draw(groups), tmp_path / "figure.svg").read_text("utf-8")
    assert svg.startswith("<svg")
    assert "CSQ+Cost(Ent)" in svg  # the legend
    assert figures.save(draw(groups), tmp_path / "again.svg").read_text("utf-8") == svg


def test_png_and_nothing_else(groups: dict[str, list[Record]], tmp_path: Path) -> None:
    chart = figures.cost_by_round(groups)
    assert figures.save(chart, tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ShortlistError, match=r"figure\.gif: a figure is saved as \.svg or \.png"):
        figures.save(chart, tmp_path / "figure.gif")


def test_a_specification_holds_no_address(groups: dict[str, list[Record]]) -> None:
    assert "http" not in str(figures.specification(figures.accuracy_against_cost(groups)))


def test_query_designs_that_no_table_knows_look_different() -> None:
    queries = [CQ, CSQ, {"name": "mine"}, {"name": "yours"}]
    look = figures.looks(grouped([record(config(query)) for query in queries])).values()
    assert len({(one.dash, one.shape) for one in look}) == len(queries)
