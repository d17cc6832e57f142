from __future__ import annotations

from typing import Any

import pytest

from shortlist import (
    APS,
    RAPS,
    Badge,
    Belief,
    CandidateSet,
    CoreSet,
    CostAware,
    Given,
    Glyphs,
    Linear,
    Means,
    Names,
    Neighbours,
    ProbCover,
    Saal,
    Scikit,
    ShortlistError,
    TopK,
    TypiClust,
)
from shortlist.campaign.config import describe
from shortlist.recipes.parts import build, estimator, names


@pytest.mark.parametrize(
    ("kind", "table", "part"),
    [
        ("queries", "candidate_set", CandidateSet()),
        ("queries", {"name": "top_k", "k": 3}, TopK(3)),
        (
            "queries",
            {"name": "candidate_set", "alpha": 0.1, "score": "aps", "cost": {"name": "linear", "slope": 2}},
            CandidateSet(alpha=0.1, score=APS(), cost=Linear(2.0)),
        ),
        ("acquisition", {"name": "cost_aware", "inner": "core_set", "d": 1.2}, CostAware(CoreSet(), d=1.2)),
        ("acquisition", "saal", Saal()),
        ("acquisition", {"name": "prob_cover", "delta": 0.5, "memory": 1000}, ProbCover(0.5, memory=1000)),
        ("acquisition", {"name": "typi_clust", "neighbours": 5}, TypiClust(5)),
        ("acquisition", {"name": "badge", "scale": "max", "top": 9}, Badge("max", 9)),
        ("acquisition", {"name": "cost_aware", "inner": {"name": "saal", "diversity": True}}, CostAware(Saal(True))),
        ("conformal", {"name": "raps", "penalty": 0.1, "free": 2}, RAPS(0.1, 2)),
    ],
)
def test_a_table_becomes_a_part(kind: str, table: str | dict[str, Any], part: object) -> None:
    assert build(kind, table, "here") == part


@pytest.mark.parametrize("part", [CandidateSet(alpha=0.2), TopK(2), CostAware(CoreSet(), d=0.5), RAPS(0.5, 1)])
def test_a_part_can_be_built_from_its_own_description(part: Any) -> None:
    kind = {"CandidateSet": "queries", "TopK": "queries", "CostAware": "acquisition", "RAPS": "conformal"}
    assert build(kind[type(part).__name__], describe(part), "here") == part


def test_a_dataset_can_be_built_from_its_own_description() -> None:
    glyphs = Glyphs(classes=12, items=20, test_items=5)
    again = build("datasets", describe(glyphs), "dataset")
    assert (again.inputs[:] == glyphs.inputs[:]).all()


def test_every_kind_has_parts() -> None:
    for kind in ("queries", "acquisition", "datasets", "models", "costs", "conformal"):
        assert names(kind), kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "must look like Name"),
        ("LogisticRegression(C=open('x'))", "scikit-learn has no open"),
        ("LogisticRegression(nonsense=1)", "unexpected keyword"),
        ("Nothing", "scikit-learn has no Nothing"),
        ("LogisticRegression(C=-3)", "C' parameter"),
        ("1 +", "cannot be read"),
        ("LogisticRegression(**{'C': 0.001})", r"\* and \*\* are not read; write each setting as name=value"),
        ("LogisticRegression(*[1])", r"\* and \*\* are not read"),
        ("LogisticRegression(C=" + "-" * 20_000 + "1)", "cannot be read"),
        ("Pipeline(" + "[" * 100_000 + ")", "cannot be read"),
        ("\0", "cannot be read"),
    ],
)
def test_an_estimator_is_parsed_never_executed(text: str, message: str) -> None:
    with pytest.raises(ShortlistError, match=message):
        estimator(text, "model.estimator")


def test_an_estimator_by_name() -> None:
    model = build("models", {"name": "scikit", "estimator": "RandomForestClassifier(n_estimators=5)"}, "model")
    assert isinstance(model, Scikit)
    assert "n_estimators=5" in str(describe(model))


def test_a_model_can_be_built_from_its_own_description() -> None:
    believed = Belief(Scikit(), Neighbours(k=7), Names("package:wordllama"), Given("clip.csv"), Means())
    for model in (Scikit(batch=7), Scikit(ascent="batch"), believed):
        assert describe(build("models", describe(model), "model")) == describe(model)
    with pytest.raises(ShortlistError, match=r"model\.ascent: 'up' does not fit: input should be 'item' or 'batch'"):
        build("models", {"name": "scikit", "ascent": "up"}, "model")


@pytest.mark.parametrize(
    ("kind", "table", "message"),
    [
        ("queries", {"name": "candidate_set", "score": [1]}, r"here\.score: \[1\] is neither the name of a part"),
        ("queries", {"name": "candidate_set", "cost": 7}, r"here\.cost: 7 is neither the name of a part nor a table"),
        ("queries", [1], r"here: \[1\] is neither"),
        ("datasets", {"name": "table", "path": 5, "text": "x"}, r"here\.path: 5 does not fit: input should be a valid"),
        (
            "datasets",
            {"name": "table", "path": "x.csv", "columns": 5},
            "here: table cannot be made with these settings",
        ),
        ("models", {"name": "belief", "model": "scikit", "experts": "names"}, r"here\.experts: 'names' is no list of"),
        ("models", {"name": "belief", "model": "scikit", "experts": ["no"]}, r"here\.experts\[0\]\.name: 'no' is none"),
        ("models", {"name": "belief", "experts": ["names"]}, r"here\.model: belief needs it"),
        ("models", {"name": "scikit", "estimator": 5}, r"here\.estimator: 5 is no text such as"),
    ],
)
def test_a_setting_of_another_type_is_named(kind: str, table: Any, message: str) -> None:
    with pytest.raises(ShortlistError, match=message):
        build(kind, table, "here")
