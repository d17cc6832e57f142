"""Under label noise a shortlist that holds the answer may miss the truth, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shortlist.experiments.provenance import TRUTH, true_coverage
from shortlist.experiments.result_files import SCHEMA, read_results, rows_of
from shortlist.experiments.sweep import run_job
from shortlist.recipes.build import Builder
from shortlist.recipes.recipe import Job, jobs, parse_recipe


def ran(folder: Path, noise: float) -> Path:
    table = {
        "dataset": "digits",
        "model": "scikit",
        "query": {"name": "candidate_set", "n_cal": 20},
        "acquisition": "random",
        "annotator": {"noise": noise},
        "initial": 200,
        "budget": 100,
        "rounds": 3,
    }
    job: Job = jobs(parse_recipe(table, "here"), folder)[0]
    run_job(job, Builder(), lambda news: None)
    return job.folder


def test_both_coverages_are_told(tmp_path: Path) -> None:
    rows = rows_of(ran(tmp_path / "noisy", 0.3))
    assert [row["true_coverage"] is None for row in rows] == [True, False, False]  # the first is asked conventionally
    for row in rows[1:]:
        assert 0 < row["true_coverage"] <= 100
        assert row["true_coverage"] != row["coverage"]


def test_an_annotator_who_tells_the_truth_leaves_nothing_to_add(tmp_path: Path) -> None:
    folder = ran(tmp_path / "clean", 0.0)
    assert not (folder / TRUTH).exists()
    assert true_coverage(folder) == {}
    assert {row["true_coverage"] for row in rows_of(folder)} == {None}


def test_files_from_before_there_was_such_a_column_are_read(tmp_path: Path) -> None:
    row = rows_of(ran(tmp_path / "clean", 0.0))[0]
    earlier = pa.Table.from_pylist([row], schema=SCHEMA).drop_columns(["true_coverage"])
    pq.write_table(earlier, tmp_path / "earlier.parquet")
    [read] = read_results([tmp_path / "earlier.parquet"])
    assert read == row
    assert list(read) == SCHEMA.names


@pytest.mark.parametrize("column", ["accuracy", "settings"])
def test_other_files_are_refused(column: str, tmp_path: Path) -> None:
    row = rows_of(ran(tmp_path / "clean", 0.0))[0]
    pq.write_table(pa.Table.from_pylist([row], schema=SCHEMA).drop_columns([column]), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match=f"not a file of results of this version: {column} differ"):
        read_results([tmp_path / "other.parquet"])
