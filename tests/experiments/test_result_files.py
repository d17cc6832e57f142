from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortlist import ShortlistError, measures
from shortlist.campaign.storage.folder import find_campaigns
from shortlist.experiments.provenance import FILE
from shortlist.experiments.result_files import SCHEMA, read_results, rows_of, write_results
from shortlist.queries.conventional import Conventional
from shortlist.rates import percent
from tests.experiments.rows import row as made_row

ORIGIN: dict[str, Any] = {
    "recipe": "small",
    "variant": "",
    "query": "",
    "acquisition": "",
    "starts": [
        {"from_round": 1, "commit": "a", "hardware": "x", "python": "3.12.1", "torch": None, "date": "2026-01-01"},
        {"from_round": 3, "commit": "b", "hardware": "y", "python": "3.12.1", "torch": "2.13", "date": "2026-01-02"},
    ],
}


@pytest.fixture
def csq(runs: Path, tmp_path: Path) -> Path:
    """A finished campaign of three rounds whose last ran elsewhere."""
    folder = tmp_path / "csq"
    shutil.copytree(runs / "csq-rand" / "seed0", folder)
    (folder / FILE).write_text(json.dumps(ORIGIN))
    return folder


def test_a_row_says_what_the_campaign_says_and_where_it_ran(csq: Path) -> None:
    rows, rounds = rows_of(csq), measures.read(csq).rounds
    assert [row["round"] for row in rows] == [1, 2, 3]
    for row, done in zip(rows, rounds, strict=True):
        for measure in ("labelled", "cost", "alpha", "seconds", "floor"):
            assert row[measure] == getattr(done, measure)
        for rate in ("accuracy", "macro_f1", "relative_cost", "coverage"):
            assert row[rate] == percent(getattr(done, rate))
        assert row["accuracy_per_cost"] == measures.accuracy_per_cost(done)
    assert [(row["commit"], row["hardware"], row["torch"]) for row in rows] == [("a", "x", None)] * 2 + [
        ("b", "y", "2.13")
    ]
    assert (rows[0]["recipe"], rows[0]["query"], rows[0]["acquisition"], rows[0]["seed"]) == ("small", "CSQ", "Rand", 0)
    settings = json.loads(rows[0]["settings"])
    assert (settings["dataset"]["name"], settings["dataset"]["classes"]) == ("digits", 10)
    assert "seed" not in settings


def test_conventional_queries_are_charged_on_the_same_items(csq: Path) -> None:
    charged = measures.recharge(csq, Conventional())
    for row, other in zip(rows_of(csq), charged, strict=True):
        assert row["conventional_cost"] == pytest.approx(other.cost)
        assert row["conventional_relative_cost"] == pytest.approx(100 * other.relative_cost)


def test_a_campaign_that_no_recipe_has_started_has_the_names_of_its_parts(runs: Path) -> None:
    row = rows_of(runs / "csq-cost-ent" / "seed1")[-1]
    assert (row["recipe"], row["query"], row["acquisition"], row["seed"]) == ("digits", "CSQ", "Cost(Ent)", 1)
    assert (row["commit"], row["hardware"]) == (None, None)


def test_files_grow_and_writing_again_changes_nothing(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "digits.parquet"
    everything = find_campaigns([runs])
    assert write_results(everything[:2], out) == 6
    assert write_results(everything[2:], out) == 3 * len(everything)
    first = out.read_bytes()
    assert write_results(everything[1:3], out) == 3 * len(everything)
    assert out.read_bytes() == first
    whole = tmp_path / "whole.parquet"
    write_results(everything[::-1], whole)
    assert whole.read_bytes() == first
    assert [p.name for p in out.parent.iterdir()] == ["digits.parquet"]


def test_the_rows_of_a_campaign_are_replaced_and_all_others_stay(csq: Path, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.parquet"
    write_results([csq, runs / "cq-rand" / "seed0"], out)
    moved = {**ORIGIN, "starts": [{**ORIGIN["starts"][0], "hardware": "z"}]}
    (csq / FILE).write_text(json.dumps(moved))
    write_results([csq], out)
    rows = read_results([out])
    assert [(row["recipe"], row["hardware"]) for row in rows] == [("digits", None)] * 3 + [("small", "z")] * 3


def test_two_folders_with_the_same_campaign_are_refused(csq: Path, tmp_path: Path) -> None:
    shutil.copytree(csq, tmp_path / "copy")
    with pytest.raises(ShortlistError, match=r"copy: holds the same campaign as .*csq: recipe small, query CSQ"):
        write_results([csq, tmp_path / "copy"], tmp_path / "r.parquet")
    assert not (tmp_path / "r.parquet").exists()


def test_a_file_from_another_machine_is_added(csq: Path, runs: Path, tmp_path: Path) -> None:
    there, here, both = (tmp_path / f"{name}.parquet" for name in ("there", "here", "both"))
    others = find_campaigns([runs])
    write_results([csq], there)
    write_results(others, here)
    write_results([there], here)
    write_results([csq, *others], both)
    assert read_results([here]) == read_results([both])
    with pytest.raises(ShortlistError, match="holds the same campaign as"):
        write_results([csq, there], here)


def test_a_file_of_something_else_is_named_and_left_as_it_was(csq: Path, tmp_path: Path) -> None:
    with pytest.raises(ShortlistError, match=r"r\.csv: the name must end in \.parquet"):
        write_results([csq], tmp_path / "r.csv")
    broken = tmp_path / "broken.parquet"
    broken.write_text("nothing")
    with pytest.raises(ShortlistError, match=r"broken\.parquet: cannot be read as results"):
        write_results([csq], broken)
    assert broken.read_text() == "nothing"
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"recipe": ["x"]}), other)
    with pytest.raises(ShortlistError, match=r"other\.parquet: not a file of results of this version: accuracy"):
        read_results([other])
    with pytest.raises(ShortlistError, match=r"none\.parquet: there is no such file"):
        read_results([tmp_path / "none.parquet"])


def test_a_folder_stands_for_the_files_in_it(csq: Path, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    assert read_results([tmp_path / "results"]) == []
    write_results([csq], tmp_path / "results" / "small.parquet")
    rows = read_results([tmp_path / "results"])
    assert len(rows) == 3
    assert list(rows[0]) == SCHEMA.names


def test_files_of_earlier_versions_have_no_floor(csq: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.parquet"
    write_results([csq], path)
    whole = read_results([path])
    assert all(row["floor"] <= row["cost"] for row in whole)
    pq.write_table(pq.read_table(path).drop_columns(["floor"]), path)
    assert read_results([path]) == [row | {"floor": None} for row in whole]


def test_a_file_with_a_number_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.parquet"
    pq.write_table(pa.Table.from_pylist([made_row("Ent", 4, accuracy=float("nan"))], schema=SCHEMA), path)
    with pytest.raises(ShortlistError, match=r"broken.parquet: accuracy is nan in round 4 of CSQ\+Ent, seed 0"):
        read_results([path])
