"""The paper's text experiment on the real R52: `recipes/text.toml`, one seed, the CQ and CSQ twins of Rand.

`make torture` runs it as it is written, `make test` CSQ alone in fewer and larger rounds.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.console import Console

from shortlist.experiments.sweep import sweep
from shortlist.measures import Record, labels, read, recharge
from shortlist.queries.conventional import Conventional
from shortlist.recipes.recipe import jobs, read_recipe
from tests.cases import torture

RECIPE = Path(__file__).parents[2] / "recipes" / "text.toml"


def ran(folder: Path, *queries: str, **changes: int) -> dict[str, Record]:
    data = os.environ.get("SHORTLIST_DATA")
    if not data or not (Path(data) / "r52").is_dir():
        pytest.skip("SHORTLIST_DATA names no folder with r52/train.csv and r52/test.csv")
    recipe = read_recipe(RECIPE).model_copy(update={"seeds": [0], **changes})
    listed = [job for job in jobs(recipe, folder) if job.acquisition == "Rand" and job.query in queries]
    sweep(listed, data=Path(data), workers=1, console=Console(quiet=True))
    return {job.query: read(job.folder) for job in listed}


@pytest.mark.data
def test_in_fewer_rounds_the_last_is_as_accurate_and_costs_a_third(tmp_path: Path) -> None:
    csq = ran(tmp_path, "CSQ", budget=3000, rounds=3)["CSQ"]
    last, conventional = csq.rounds[-1], recharge(csq.folder, Conventional())[-1]
    assert (last.number, last.labelled) == (3, 6300)
    assert last.accuracy is not None
    assert last.accuracy >= 0.93
    assert last.relative_cost <= 0.35
    assert conventional.relative_cost == pytest.approx(0.964, abs=0.0005)  # 6,300 of 6,532


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    return ran(tmp_path_factory.mktemp("text"), "CQ", "CSQ")


@torture
@pytest.mark.data
def test_the_twins_have_the_same_labels_and_the_same_accuracy_in_every_round(twins: dict[str, Record]) -> None:
    assert labels(twins["CQ"].folder) == labels(twins["CSQ"].folder)
    for cq, csq in zip(twins["CQ"].rounds, twins["CSQ"].rounds, strict=True):
        assert (cq.labelled, cq.accuracy, cq.macro_f1) == (csq.labelled, csq.accuracy, csq.macro_f1)


@torture
@pytest.mark.data
def test_accuracy_and_cost_stand_beside_the_papers(twins: dict[str, Record]) -> None:
    cq, csq = twins["CQ"].rounds[-1], twins["CSQ"].rounds[-1]
    assert (csq.number, csq.labelled) == (11, 6300)
    assert csq.accuracy is not None
    assert csq.accuracy >= 0.93
    assert csq.relative_cost <= 0.31
    assert cq.relative_cost == pytest.approx(0.964, abs=0.0005)  # 6,300 of 6,532
    assert cq.relative_cost - csq.relative_cost >= 0.654  # the paper: 65.6 points


@torture
@pytest.mark.data
def test_the_csq_run_charged_conventionally_costs_what_its_twin_paid(twins: dict[str, Record]) -> None:
    charged = recharge(twins["CSQ"].folder, Conventional())
    assert [r.cost for r in charged] == pytest.approx([r.cost for r in twins["CQ"].rounds])
