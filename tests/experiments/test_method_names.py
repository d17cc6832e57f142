from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortlist.experiments.method_names import by_subject, explained, grouped, label
from shortlist.recipes.parts import names
from tests.experiments.examples import COST_ENT, CQ, CSQ, ENT, RAND, config, record


@pytest.mark.parametrize(
    ("query", "acquisition", "name"),
    [
        (CQ, RAND, "CQ+Rand"),
        (CSQ, ENT, "CSQ+Ent"),
        (CSQ, COST_ENT, "CSQ+Cost(Ent)"),
        ({**CSQ, "alpha": 0.1}, ENT, "CSQ(α=0.1)+Ent"),
        ({"name": "top_k", "k": 3}, {"name": "margin"}, "Top3+Margin"),
        ({"name": "one_bit"}, {"name": "least_confident"}, "OneBit+LC"),
        (CSQ, {"name": "cost_aware", "inner": {"name": "badge"}}, "CSQ+Cost(BADGE)"),
        ({"name": "mine"}, {"name": "my.module.Theirs"}, "mine+my.module.Theirs"),
    ],
)
def test_the_papers_names(query: dict[str, Any], acquisition: dict[str, Any], name: str) -> None:
    assert label(config(query, acquisition)) == name


def test_seeds_of_one_method_are_together_and_in_order() -> None:
    groups = grouped([record(config(seed=1)), record(config(CQ, RAND)), record(config(seed=0))])
    assert {name: [r.config["seed"] for r in group] for name, group in groups.items()} == {
        "CQ+Rand": [0],
        "CSQ+Ent": [0, 1],
    }


def test_conventional_first_and_cost_aware_after_its_inner_method() -> None:
    mixed = [
        record(config(CSQ, COST_ENT)),
        record(config(CSQ, RAND)),
        record(config(CSQ, ENT)),
        record(config(CQ, ENT)),
    ]
    assert list(grouped(mixed)) == ["CQ+Ent", "CSQ+Rand", "CSQ+Ent", "CSQ+Cost(Ent)"]


def test_the_first_setting_that_differs_tells_methods_apart() -> None:
    queries = [{**CSQ, "n_cal": n} for n in (50, 100)]
    assert list(grouped([record(config(q)) for q in queries])) == ["CSQ+Ent, n_cal=100", "CSQ+Ent, n_cal=50"]


def test_as_many_settings_as_it_takes() -> None:
    asked_for = [(50, 0.3), (50, 0.5), (100, 0.3)]
    configs = [config({**CSQ, "n_cal": n}, {**COST_ENT, "d": d}) for n, d in asked_for]
    assert sorted(grouped([record(c) for c in configs])) == [
        "CSQ+Cost(Ent), n_cal=100, d=0.3",
        "CSQ+Cost(Ent), n_cal=50, d=0.3",
        "CSQ+Cost(Ent), n_cal=50, d=0.5",
    ]


def test_a_seed_that_is_there_twice_is_told_by_its_folder() -> None:
    noisy = [record(config(seed=s), folder=Path(f"runs/{e}/seed{s}")) for e in ("clean", "noisy") for s in (0, 1)]
    assert {name: len(group) for name, group in grouped(noisy).items()} == {
        "CSQ+Ent, in clean": 2,
        "CSQ+Ent, in noisy": 2,
    }
    copies = [record(folder=Path("runs/a")), record(folder=Path("runs/b"))]
    assert list(grouped(copies)) == ["CSQ+Ent, in runs/a", "CSQ+Ent, in runs/b"]


def test_where_a_dataset_lies_makes_no_difference() -> None:
    here, there = ({"name": "r52", "folder": f"{place}/r52"} for place in ("/data", "../data"))
    records = [record(config(seed=0, dataset=here)), record(config(seed=1, dataset=there))]
    assert len(grouped(records)) == 1
    assert list(by_subject(records)) == ["r52"]


def test_datasets_models_and_units_are_kept_apart() -> None:
    glyphs = record(config(dataset={"name": "glyphs", "classes": 10}))
    svm = record(config(model={"name": "kernel_svm"}))
    seconds = record(config({**CSQ, "cost": {"name": "seconds"}}))
    subjects = by_subject([record(), record(config(seed=1)), glyphs, svm, seconds])
    assert [len(group) for group in subjects.values()] == [2, 1, 1, 1]
    first, second, *_ = subjects
    assert first.startswith("digits, model=scikit")
    assert second == "glyphs"


@pytest.mark.parametrize("kind", ["queries", "acquisition"])
def test_every_part_says_what_it_is_called_and_what_that_means(kind: str) -> None:
    for name in names(kind).keys() - {"oracle"}:  # no campaign can ask it
        ((called, sentence),) = explained(kind, {"name": name, "inner": {"name": "mine"}}).items()
        assert called, name
        assert sentence.endswith("."), name
